"""`pullrank init`: turns a fresh copy of this repository into one's own board."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.identifiers import LOGIN
from scripts.console import OK, USAGE, CommandError, say
from scripts.github.doctor.settings import PLACEHOLDER
from scripts.github.workflow.event import REPOSITORY
from scripts.repository.checkout import Checkout, open_checkout


def run(
    title: Annotated[str, typer.Option(help="The board's name.")],
    owner: Annotated[str, typer.Option(help="Login, or organisation/team, whose approval changes need.")],
    repository: Annotated[str, typer.Option(help="owner/name on GitHub.")],
    task: Annotated[list[str] | None, typer.Option(help="Keep this task only; may be given again.")] = None,
    season: Annotated[str | None, typer.Option(help="The first season's name.")] = None,
) -> int:
    """Make this copy one's own board: title, owner, tasks; submissions and recorded results of the origin go."""
    board = open_checkout(Path.cwd())
    owner = owner.removeprefix("@")
    _check(board, owner, repository, task or [])
    values = {"title": title, "repository": f"https://github.com/{repository}", **({"season": season} if season else {})}
    path = board.root / "challenge.yml"
    text = keep_tasks(with_fields(path.read_text(encoding="utf-8"), values), set(task or []))
    try:
        parse_challenge(text.encode())
    except LoadError as error:
        raise CommandError(USAGE, "this would not be a challenge; nothing was written", *error.lines) from error
    path.write_text(text, encoding="utf-8")
    done = ["challenge.yml", *_owned(board.root, owner), *_emptied(board.root)]
    say(f"Changed: {', '.join(done)}.")
    say("Next: read challenge.yml, run 'pullrank check' and 'make demo', commit, push, then 'pullrank doctor'.")
    return OK


def _check(board: Checkout, owner: str, repository: str, tasks: list[str]) -> None:
    if not all(LOGIN.fullmatch(part) for part in owner.split("/")) or owner.count("/") > 1:
        raise CommandError(USAGE, f"--owner {owner!r} is neither a login nor organisation/team")
    if not REPOSITORY.fullmatch(repository):
        raise CommandError(USAGE, f"--repository {repository!r} is not owner/name")
    board.tasks(tasks)


def with_fields(text: str, values: dict[str, str]) -> str:
    """challenge.yml with other values of its first level; every comment stays."""
    lines = text.splitlines()
    for name, value in values.items():
        line = f"{name}: {json.dumps(value, ensure_ascii=False)}"
        place = next((i for i, old in enumerate(lines) if re.match(rf"{name}\s*:", old)), None)
        if place is None:
            lines.insert(1 + max(i for i, old in enumerate(lines) if re.match(r"(title|season)\s*:", old)), line)
        else:
            lines[place] = line
    return "\n".join(lines) + "\n"


def keep_tasks(text: str, wanted: set[str]) -> str:
    """challenge.yml with the wanted tasks only, as they were written; all of them when none is named."""
    if not wanted:
        return text
    head, mark, tail = text.partition("\ntasks:\n")
    kept = [block for block in _blocks(tail) if (found := _TASK.match(block)) is None or found[1].strip("\"'") in wanted]
    return head + mark + "".join(kept)


_TASK = re.compile(r" *- id: *(\S+)")


def _blocks(text: str) -> Iterator[str]:
    """Each task's lines, and whatever stands at the first level after them."""
    block = ""
    for line in text.splitlines(keepends=True):
        if (_TASK.match(line) or re.match(r"[^\s#-]", line)) and block:
            yield block
            block = ""
        block += line
    yield block


def _owned(root: Path, owner: str) -> list[str]:
    path = root / ".github" / "CODEOWNERS"
    if not path.exists() or PLACEHOLDER not in (text := path.read_text(encoding="utf-8")):
        return []
    path.write_text(text.replace(PLACEHOLDER, f"@{owner}"), encoding="utf-8")
    return [".github/CODEOWNERS"]


def _emptied(root: Path) -> list[str]:
    """Entries and what was measured of them are the origin's; the example agents stay, they are what tests run."""
    gone = []
    for name in ("submissions", "results", "traces"):
        if (root / name).is_dir():
            shutil.rmtree(root / name)
            gone.append(f"{name}/")
    moderation = root / "moderation.yml"
    if moderation.exists():
        comments = [line for line in moderation.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
        moderation.write_text("\n".join([*comments, "exclusions: []"]) + "\n", encoding="utf-8")
        gone.append("moderation.yml")
    return gone
