"""Boards on disk for whole sites: one with a bit of everything, one on which everybody is hostile, one without anybody."""

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.visible_text import INVISIBLE
from leaderboard.core.entry import Entry
from scripts.repository.checkout import Checkout
from tests.evaluations import evaluated
from tests.leaderboard.pages import game_samples, samples
from tests.leaderboard.text.test_escape_markdown import HOSTILE

ROOT = Path(__file__).parents[2]
EPISODES = 20
ANGLE = """\
class Agent:
    memoryless = True

    def act(self, observation):
        return int(observation[2] + observation[3] > 0)
"""
POLE = {
    "id": "CartPole-v1", "title": "CartPole", "description": "Keep a pole upright.", "episodes": EPISODES,
    "bounds": [1, 500], "random": {"score": 22, "source": "our random agent"},
    "reference": {"score": 475, "source": "Gymnasium's threshold"},
}  # fmt: skip
CAR = {
    "id": "MountainCar-v0", "episodes": EPISODES, "random": {"score": -200, "source": "our random agent"},
    "reference": {"score": -110, "source": "Gymnasium's threshold"}, "weight": 2,
    "metrics": [
        {"name": "Return", "kind": "mean_return", "direction": "higher", "decimals": 1},
        {"name": "Length", "kind": "mean_length", "direction": "lower", "decimals": 2, "description": "how long"},
    ],
}  # fmt: skip
SHORT = {
    "id": "Acrobot-v1", "title": "Shortest way", "episodes": EPISODES,
    "metrics": [{"name": "Length", "kind": "mean_length", "direction": "lower", "decimals": 1}],
}  # fmt: skip
LAKE = {"id": "FrozenLake-v1", "title": "Frozen Lake", "episodes": EPISODES, "decimals": 3, "bounds": [0, 1]}
PONG = {"id": "ALE/Pong-v5", "env": "CartPole-v1", "episodes": EPISODES}
SCRIPT = {
    "id": "CartPole-v1-from-scratch", "env": "CartPole-v1", "title": "CartPole from scratch", "bounds": [1, 500],
    "script": {"steps": 60000, "last": EPISODES, "worst": 1, "self_reported": True, "window": 4},
}  # fmt: skip
HIDDEN = {"id": "Hidden-v0", "title": "Later", "env": "CartPole-v1", "episodes": EPISODES}
FOUR = {"id": "connect_four", "title": "Connect Four", "game": "pettingzoo.classic.connect_four_v3", "matches": 8}
QUARTO = {"id": "quarto", "title": "Quarto", "game": "evaluator.environments.quarto", "matches": 4}
CHALLENGE = {
    "title": "Proof board", "description": "Everything that a board may hold.", "season": "2026", "badges": True,
    "repository": samples.REPOSITORY, "tasks": [POLE, CAR, SHORT, LAKE, PONG, SCRIPT, HIDDEN, FOUR, QUARTO],
    "baselines": ["random"], "quota": {"per_day": 3, "total": 90},
    "phases": [
        {"id": "lake", "name": "On the lake", "description": "Only the lake.", "tasks": ["FrozenLake-v1"],
         "start": "2026-01-01T00:00:00Z", "end": "2099-01-01T00:00:00Z"},
        {"id": "final", "name": "The final", "tasks": ["Hidden-v0"], "public_from": "2099-01-01T00:00:00Z"},
    ],
    "people": {
        "hosts": ["hostess"], "prizes": [{"place": "1st", "what": "a laptop"}],
        "sponsors": [{"name": "A sponsor", "url": "https://example.org/sponsor"}],
        "ban": [{"login": "banned", "why": "took part twice"}],
        "fields": [
            {"name": "team", "description": "Who you are"}, {"name": "track", "kind": "choice", "options": ["a", "b"]},
        ],
    },
}  # fmt: skip
VERDICTS = ("crashed", "timeout", "out_of_memory", "protocol_error", "output_limit", "invalid", "internal_error")
OWN = [
    '"><script>window.pwned=1</script>', "<img src=x onerror=window.pwned=1>", "<svg onload=window.pwned=1>",
    '" autofocus onfocus=window.pwned=1 x="', "' onmouseover='window.pwned=1", "</script><script>window.pwned=1</script>",
    "</title><script>window.pwned=1</script>", "]]><script>window.pwned=1</script>",
    "<iframe srcdoc='<script>parent.pwned=1'>",
    "javascript:window.pwned=1", "${window.pwned=1} `${window.pwned=1}`", "=cmd|'/c calc'!A1", "+1+1", "-1+1", "@SUM(1)",
    "{{constructor.constructor('window.pwned=1')()}}", "\\u003cimg src=x onerror=window.pwned=1\\u003e",
    "%3Cscript%3E %00 %0d%0a",
]  # fmt: skip
EVIL = [*OWN, *HOSTILE]


def empty(root: Path) -> Checkout:
    """Nobody has entered."""
    return _begun(root)


def full(root: Path) -> Checkout:
    """With a bit of everything."""
    board = _begun(root)
    alice = enter(board, "alice", "angle-rule", name="First", source=ANGLE, authors=["An Author"], license="MIT",
                  url="https://example.org/a?b=c", paper="https://example.org/paper", description="One.\n\nTwo paragraphs.",
                  meta={"team": "The team", "track": "a"})  # fmt: skip
    arabic = enter(board, "bob", "greeting", name="مرحبا بالعالم", algorithm="شبكة")
    rocket = enter(board, "carol", "rocket", name="🚀🚀 to the moon 🌕", algorithm="PPO")
    long = enter(board, "b" * 39, "a" * 40, name="W" * 60, algorithm="m" * 60, authors=["L" * 60])
    host = enter(board, "hostess", "own", name="The host's own")
    baseline = enter(board, "local", "random", name="Random", algorithm="random")
    everybody = [alice, arabic, rocket, long, host, baseline]
    _record_real(board, alice)
    pole, car, short, lake, _, script, _, four, _ = board.challenge.tasks
    for index, who in enumerate([arabic, rocket, long, host, baseline]):
        # Two share a place: every episode is as good as it can be.
        played = [500.0] * EPISODES if index < 2 else returns(450 - 90 * index, 20, index)
        record(board, who, pole, played)
    record(board, arabic, pole, returns(300, 20, 77), version="earlier", at="2025-12-01T10:00:00Z")
    for index, who in enumerate(everybody):
        record(board, who, car, returns(-105 - 15 * index, 4, index), at=f"2026-02-{1 + index:02}T08:00:00Z")
        record(board, who, short, returns(-80, 9, index), lengths=[60 + 15 * index + i for i in range(EPISODES)])
    for index, verdict in enumerate(VERDICTS):
        failed = enter(board, "dora", f"failed-{index}", tasks=["FrozenLake-v1"])
        record(board, failed, lake, (), verdict=verdict, message=f"It was {verdict}.", log_tail="one\ntwo  spaced\n\nthree")
    enter(board, "erin", "late", name="Late", tasks=["CartPole-v1", "connect_four"])
    out = enter(board, "mallory", "copycat", name="Copycat", tasks=["CartPole-v1"])
    record(board, out, pole, returns(490, 3, 5))
    record(board, samples.entry("gone", "frank"), pole, returns(333, 9, 3))
    _scripts(board, script)
    players = [alice, arabic, long, baseline]
    _play(board, four, players)
    cheat = enter(board, "cheat", "crooked", tasks=["connect_four"])
    board.store.write(game_samples.duel(cheat, cheat, four, broken={0: game_samples.BROKEN[1]}))
    _moderate(board, "copies weights")
    return Checkout(root)


def hostile(root: Path, reword: Callable[[str, int], str] = lambda text, index: text) -> Checkout:
    """Everybody writes something hostile wherever they may; `reword` makes other text of it, for a twin of this board."""
    board = _begun(root)
    pole, _, _, lake, _, script, _, four, _ = board.challenge.tasks
    players = []
    for index, evil in enumerate(EVIL):
        text = reword(evil, index)
        short, line = one_line(text, 60), one_line(text, 300)
        paragraphs = INVISIBLE.sub(" ", text).strip() or "-"
        words = {
            "name": short, "algorithm": short, "description": paragraphs, "authors": [short, short], "license": short,
            "url": "https://example.org/?<a>".replace("<a>", "a=1&b=@javascript*"), "paper": "https://example.org/;x=1#!y",
            "meta": {"team": line, "track": line},
        }  # fmt: skip
        who = enter(board, f"user-{index}", "agent", source=f"# {index}\n", tasks=["CartPole-v1", "FrozenLake-v1"], **words)
        record(board, who, pole, returns(400 - index, 20, index), message=text[:1000], log_tail=text[:2000])
        record(board, who, lake, (), message=text[:1000], log_tail=text[:2000], verdict=VERDICTS[index % 6])
        runs = enter(board, f"user-{index}", "script", source=f"# script {index}\n", kind="script", tasks=[script.id],
                     **{**words, "name": f"{short[:50]} two"})  # fmt: skip
        _run(board, runs, script, 50 + index, notices=[text[:300], line])
        if index < 4:
            names = {"name": f"{short[:54]} three"}
            players.append(
                enter(board, f"user-{index}", "player", source=f"# p {index}\n", tasks=[four.id], **{**words, **names})
            )
    broken = {i: {"end": "malformed", "winner": 1, "offenders": [0], "message": reword(evil, i)[:300]} for i, evil in
              enumerate(OWN[:4])}  # fmt: skip
    _play(board, four, players, broken=broken)
    cheat = enter(board, "cheat", "crooked", tasks=["connect_four"])
    board.store.write(game_samples.duel(cheat, cheat, four, broken={0: broken[1]}))
    # Whoever left is named by the result alone.
    gone = samples.entry("gone", "frank")
    record(board, gone, pole, returns(333, 9, 3), message=reword(OWN[0], 0), log_tail=reword(OWN[1], 1))
    _moderate(board, one_line(reword(OWN[0], 0), 300))
    return Checkout(root)


def tame(text: str, index: int) -> str:
    """Harmless text of the same lines."""
    return re.sub(r"[^\n]*\S[^\n]*", f"plain {index}", text)


def one_line(text: str, length: int) -> str:
    """What the rules for a line leave of a text."""
    return " ".join(INVISIBLE.sub(" ", text).split())[:length].strip() or "-"


def enter(board: Checkout, login: str, agent: str, *, source: str = "# nothing\n", **words: Any) -> Entry:
    """Put a submission on main; returns what ranks."""
    folder = board.root / ("example_agents" if login == "local" else f"submissions/{login}") / agent
    folder.mkdir(parents=True)
    given = {"name": agent, "algorithm": "hand-written rule", **words}
    file = "main.py" if given.get("kind") == "script" else "agent.py"
    (folder / "submission.yml").write_text(yaml.safe_dump({"entry": file, **given}, allow_unicode=True), "utf-8")
    (folder / file).write_text(f"# {login} {agent}\n{source}", "utf-8")
    return board.find(folder).entry()


def record(
    board: Checkout, who: Entry, task: Task, played: Any, *, version: str = "", at: str = samples.NOON, **fields: Any
) -> Result:
    """Store an official result, such as samples are."""
    digest = samples.digest(version) if version else who.digest
    made = samples.result(
        who, task, tuple(played), submission_digest=digest, key=samples.digest(f"{digest} {task.id} {at}"),
        provenance={"commit": "c" * 40, "run_url": f"{samples.REPOSITORY}/actions/runs/1", "evaluated_at": at}, **fields,
    )  # fmt: skip
    board.store.write(made, None)
    return made


def returns(score: float, spread: float, seed: int) -> tuple[float, ...]:
    """One for each episode."""
    return samples.returns_around(score, spread, seed, EPISODES)


def _begun(root: Path) -> Checkout:
    """A board's files without any entry, and what a site is built from."""
    root.mkdir(parents=True, exist_ok=True)
    Challenge.model_validate(CHALLENGE)
    (root / "challenge.yml").write_text(json.dumps(CHALLENGE), "utf-8")
    shutil.copytree(ROOT / "site", root / "site")
    shutil.copy(ROOT / "mkdocs.yml", root)
    return Checkout(root)


def _record_real(board: Checkout, who: Entry) -> None:
    """An evaluation that was really played, so that there is a trace to draw episodes from."""
    pole = board.challenge.tasks[0]
    done = evaluated(ANGLE, pole)
    fields = {
        "class": "official", "sandbox": "docker", "login": who.login, "agent": who.agent, "season": "2026",
        "submission_digest": who.digest, "beacon": "b" * 40, "beacon_verified": True,
        "provenance": {"commit": "c" * 40, "run_url": None, "evaluated_at": "2026-03-01T12:00:00Z"},
    }  # fmt: skip
    named = {name: value for name, value in done.result.document().items() if name != "self_sha256"}
    board.store.write(Result.with_self_hash({**named, **fields}), done.trace)


def _scripts(board: Checkout, script: Task) -> None:
    """Two that learnt, one that only claims, one that waits."""
    for index, login in enumerate(["gina", "hugo"]):
        who = enter(board, login, "learner", kind="script", name=f"Learner {index}", tasks=[script.id])
        _run(board, who, script, 100 + 150 * index, notices=["asked for an environment that is not this task's"])
    claims = enter(board, "ivan", "claims", kind="script", name="Claims", tasks=[script.id])
    record(board, claims, script, (), message="said 500 and went", script={"claimed": 500.0, "exit_code": 1})
    enter(board, "judy", "waits", kind="script", name="Waits", tasks=[script.id])


def _run(board: Checkout, who: Entry, script: Task, score: float, **fields: Any) -> None:
    """A script that learnt, as its learning curve shows."""
    chance = random.Random(score)
    learnt = [round(20 + (score - 20) * min(1, i / 60) + chance.gauss(0, 5), 1) for i in range(80)]
    done = {"claimed": score + 9, "exit_code": 0, "returns": learnt, "lengths": [30] * 80, "unfinished": [3], **fields}
    record(board, who, script, learnt[-EPISODES:], lengths=[30] * EPISODES, script=done)


def _play(board: Checkout, game: Task, players: list[Entry], broken: Any = None) -> None:
    """Everybody is validated and meets everybody."""
    for index, one in enumerate(players):
        for other in players[: index + 1]:
            seed = 100 * index + players.index(other)
            board.store.write(game_samples.duel(one, other, game, seed, broken if other is not one else None))


def _moderate(board: Checkout, why: str) -> None:
    link = "https://example.org/issues/1"
    excluded = {"login": "mallory", "since": "2026-05-01", "who": "host", "why": why, "link": link}
    verified = {"login": "alice", "agent": "angle-rule", "since": "2026-05-02", "who": "host", "why": why}
    (board.root / "moderation.yml").write_text(yaml.safe_dump({"exclusions": [excluded], "verified": [verified]}), "utf-8")
