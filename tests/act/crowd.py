"""Hundreds of merges, made at once: git by one import, GitHub's word on each by the stand-in's own records."""

import subprocess

from tests.act.board import entry
from tests.act.forge import ActForge
from tests.github.world import PullRequest

TASK = "CartPole-v1"
CHALLENGE = f"""\
title: Crowd
season: "2026"
baselines: []
repository: https://github.com/host/board
tasks:
  - id: {TASK}
    title: CartPole
    episodes: 2
    bounds: [1, 500]
    random: {{score: 22, source: measured}}
    reference: {{score: 475, source: measured}}
"""


def merge_many(forge: ActForge, count: int) -> dict[str, str]:
    """As many people's agents are merged one after another and seen by one push; returns `login/agent` to merge commit."""
    before = forge.remote.tip()
    stream, numbers = [f"reset refs/heads/main\nfrom {before}\n\n"], {}
    for index in range(count):
        number = forge.world.fresh()
        login, name = f"person{index}", f"agent{index}"
        forge.world.person(login, 100_000 + index)
        numbers[number] = (login, name)
        stream += _pull(number, entry(login, name, f"int(observation[2] > {index / 10_000})", (TASK,)), login, before)
    subprocess.run(
        ["git", "-C", forge.remote.bare, "fast-import", "--quiet", "--force"], input="".join(stream).encode(), check=True
    )
    merged = forge.remote.first_parents(f"{before}..refs/heads/main")
    assert len(merged) == count
    for (number, (login, _)), sha in zip(numbers.items(), merged, strict=True):
        forge.world.pulls[number] = PullRequest(
            number=number, author=login, head_sha=forge.remote.tip(f"refs/pull/{number}/head"), branch=f"agent-{number}",
            fork_owner=login, state="closed", merged=True, merge_commit_sha=sha,
        )  # fmt: skip
        forge.world.commits[sha] = [number]
    forge.pushed(before, merged[-1])
    return {f"{login}/{name}": sha for (login, name), sha in zip(numbers.values(), merged, strict=True)}


def _pull(number: int, files: dict[str, str | None], login: str, base: str) -> list[str]:
    """A head on `base` with an agent's files, and its merge into main, for git fast-import."""
    changes = [f"M 100644 inline {path}\n{_data(text or '')}" for path, text in files.items()]
    who = f"{login} <{login}@example.org> 1767323045 +0000"
    head = f"refs/pull/{number}/head"
    return [
        f"commit {head}\nauthor {who}\ncommitter {who}\n{_data(f'An agent of {login}')}from {base}\n", *changes, "\n",
        f"commit refs/heads/main\nauthor {who}\ncommitter {who}\n{_data(f'Merge pull request #{number}')}",
        f"merge {head}\n", *changes, "\n",
    ]  # fmt: skip


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"
