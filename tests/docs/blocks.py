"""The fenced blocks of the hand-written pages, and what the pages say of those that are not run.

A comment before a block is for that block: `<!-- not run: reason -->`, `<!-- run by tests/….py -->` where a test of its own
does more with it, or `<!-- plays: task, adapter: name -->` (or `kind: script`) for an agent of another
task, system or kind than usual.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from evaluator.host.loading.yaml_loader import parse_challenge
from evaluator.model.config.challenge import Challenge

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "site/pages").rglob("*.md"))]
LANGUAGES = ("yaml", "sh", "python", "json", "text", "mermaid", "")
_FENCE = re.compile(r'^( *)```(\w*)(?: title="[^"]*")?$')
_NOTE = re.compile(r"^ *<!-- (not run|run by|plays)(?::| ) ?(.*?) -->$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """One fenced block."""

    page: str
    """Its page, from the repository's root."""
    line: int
    """Where it begins."""
    language: str
    """What stands behind the fence."""
    text: str
    """What it shows."""
    note: tuple[str, str] | None
    """What the page says of running it."""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_commands(self) -> bool:
        """Whether it shows what one types."""
        first = self.text.split(maxsplit=1)[:1]
        return self.language == "sh" or (self.language == "" and first in (["pullrank"], ["make"], ["git"], ["docker"]))


def blocks_of(path: Path) -> list[Block]:
    """The blocks of a page."""
    blocks: list[Block] = []
    note, begun, lines = None, None, path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        fence = _FENCE.match(line)
        if begun is None and fence:
            begun = number, len(fence[1]), fence[2]
        elif begun is not None and line.strip() == "```":
            start, indent, language = begun
            text = "".join(one[indent:] + "\n" for one in lines[start : number - 1])
            name = str(path.relative_to(ROOT))
            blocks.append(Block(page=name, line=start, language=language, text=text, note=note))
            begun = note = None
        elif begun is None and (match := _NOTE.match(line)):
            note = match[1], match[2]
    return blocks


def every_block() -> list[Block]:
    """The blocks of all pages."""
    return [block for path in PAGES for block in blocks_of(path)]


def as_challenge(text: str) -> Challenge:
    """The challenge that a page shows: the whole file, or some of its keys, to which the least is added."""
    shown: dict[str, Any] = yaml.safe_load(text)
    whole = {"title": "Test", "season": "test", **shown}
    if "tasks" not in shown:
        named = [task for phase in shown.get("phases", []) for task in phase["tasks"]]
        whole["tasks"] = [{"id": task} for task in named or ["CartPole-v1"]]
    return parse_challenge(text.encode() if whole == shown else yaml.safe_dump(whole).encode())
