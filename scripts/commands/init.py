"""`pullrank init`: turns a fresh copy of this repository into a new leaderboard."""

import enum
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import evaluator
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.challenge import Challenge
from evaluator.model.identifiers import LOGIN
from leaderboard.core.store import write_atomically
from scripts.console import OK, USAGE, CommandError, say
from scripts.repository.checkout import open_board
from scripts.repository.layout import OWNERS_PLACEHOLDER, REPOSITORY_NAME

SUITES_FOLDER = Path(evaluator.__file__).parent / "environments"
_TASK_LINE = re.compile(r" *- id: *(\S+)")


@enum.unique
class Suite(enum.StrEnum):
    """A set of tasks for a new leaderboard."""

    CLASSICS = "classics"
    MUJOCO = "mujoco"
    ATARI = "atari"
    MINIGRID = "minigrid"
    GAMES = "games"


def run(
    title: Annotated[str, typer.Option(help="The leaderboard's name.")],
    owner: Annotated[str, typer.Option(help="Login, or organisation/team, that must approve changes.")],
    repository: Annotated[str, typer.Option(help="owner/name on GitHub.")],
    task: Annotated[list[str] | None, typer.Option(help="Keep this task only; may be given again.")] = None,
    season: Annotated[str | None, typer.Option(help="The first season's name.")] = None,
    suite: Annotated[Suite | None, typer.Option(help="A set of tasks with their random and published scores.")] = None,
) -> int:
    """Make this copy your own leaderboard: set title, owner, tasks; remove the origin's submissions and results."""
    checkout = open_board(Path.cwd())
    owner = owner.removeprefix("@")
    path = checkout.root / "challenge.yml"
    text = _with_suite(path.read_text(encoding="utf-8"), suite)
    try:
        offered = parse_challenge(text.encode())
        _check(offered, owner, repository, task or [])
        text = keep_tasks(text, set(task or []))
        values = {"title": title, "repository": f"https://github.com/{repository}", **({"season": season} if season else {})}
        if task or (offered.games and suite) or suite is Suite.CLASSICS:
            values["description"] = f"{_listed([each.title or each.id for each in parse_challenge(text.encode()).tasks])}."
        text = with_fields(text, values)
        challenge = parse_challenge(text.encode())
    except LoadError as error:
        raise CommandError(
            USAGE, "the changed challenge.yml would not be valid; nothing was written", *error.lines
        ) from error
    path.write_text(text, encoding="utf-8")
    changed = ["challenge.yml", *_set_owner(checkout.root, owner), *_remove_submissions(checkout.root)]
    say(f"Changed: {', '.join(changed)}.")
    if extras := sorted({each.extra for each in challenge.tasks if each.extra}):
        say(f"These environments need more packages, which the workflows install; for this machine: make {' '.join(extras)}")
    say("Next: read challenge.yml, run 'pullrank check' and 'make demo', commit, push, then 'pullrank doctor'.")
    return OK


def _with_suite(text: str, suite: Suite | None) -> str:
    """challenge.yml with a suite's tasks instead of its own; classics and games are among those of the origin.

    Raises:
        LoadError: the file is not valid.
    """
    if suite is None:
        return text
    if suite in (Suite.CLASSICS, Suite.GAMES):
        tasks = parse_challenge(text.encode()).tasks
        return keep_tasks(
            text, {each.id for each in tasks if (each.game is not None) == (suite is Suite.GAMES) and not each.script}
        )
    offered = (SUITES_FOLDER / f"{suite}.yml").read_text(encoding="utf-8")
    head, mark, tail = text.partition("\ntasks:\n")
    after = [block for block in _blocks(tail) if not _TASK_LINE.match(block)]
    description = parse_challenge(offered.encode()).description
    return with_fields(head + mark + offered.partition("\ntasks:\n")[2] + "".join(after), {"description": description})


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _check(challenge: Challenge, owner: str, repository: str, tasks: list[str]) -> None:
    if not all(LOGIN.fullmatch(part) for part in owner.split("/")) or owner.count("/") > 1:
        raise CommandError(USAGE, f"--owner {owner!r} is neither a login nor organisation/team")
    if not REPOSITORY_NAME.fullmatch(repository):
        raise CommandError(USAGE, f"--repository {repository!r} is not owner/name")
    ids = [each.id for each in challenge.tasks]
    if unknown := next((task_id for task_id in tasks if task_id not in ids), None):
        raise CommandError(USAGE, f"there is no task {unknown!r}; the tasks are {', '.join(ids)}")


def with_fields(text: str, values: dict[str, str]) -> str:
    """challenge.yml with changed values at its top level; comments stay."""
    lines = text.splitlines()
    for name, value in values.items():
        line = f"{name}: {json.dumps(value, ensure_ascii=False)}"
        place = next((i for i, old in enumerate(lines) if re.match(rf"{name}\s*:", old)), None)
        if place is None:
            lines.insert(1 + max(i for i, old in enumerate(lines) if re.match(r"(title|season)\s*:", old)), line)
        else:
            after = next((i for i in range(place + 1, len(lines)) if not lines[i].startswith(" ")), len(lines))
            lines[place:after] = [line]
    return "\n".join(lines) + "\n"


def keep_tasks(text: str, wanted: set[str]) -> str:
    """challenge.yml with the wanted tasks only, their text unchanged; all tasks if `wanted` is empty."""
    if not wanted:
        return text
    head, mark, tail = text.partition("\ntasks:\n")
    kept = [block for block in _blocks(tail) if (task := _TASK_LINE.match(block)) is None or task[1].strip("\"'") in wanted]
    return head + mark + "".join(kept)


def _blocks(text: str) -> Iterator[str]:
    """The lines of each task, and the block after the last one."""
    block = ""
    for line in text.splitlines(keepends=True):
        if (_TASK_LINE.match(line) or re.match(r"[^\s#-]", line)) and block:
            yield block
            block = ""
        block += line
    yield block


def _set_owner(root: Path, owner: str) -> list[str]:
    path = root / ".github" / "CODEOWNERS"
    if not path.exists() or OWNERS_PLACEHOLDER not in (text := path.read_text(encoding="utf-8")):
        return []
    write_atomically(path, text.replace(OWNERS_PLACEHOLDER, f"@{owner}").encode())
    return [".github/CODEOWNERS"]


def _remove_submissions(root: Path) -> list[str]:
    """Remove the origin's submissions and results; the example agents stay, since tests run them."""
    removed = []
    for name in ("submissions", "results", "traces"):
        if (root / name).is_dir():
            shutil.rmtree(root / name)
            removed.append(f"{name}/")
    moderation = root / "moderation.yml"
    if moderation.exists():
        comments = [line for line in moderation.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        write_atomically(moderation, ("\n".join([*comments, "exclusions: []"]) + "\n").encode())
        removed.append("moderation.yml")
    return removed
