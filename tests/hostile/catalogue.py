"""The catalogue: every attack by name, its family, what it tries, and what must come of it.

An attack is one of two things:

- A folder `tests/hostile/agents/FAMILY/NAME/` with an agent. What it tries is the first sentence of its `agent/agent.py`;
  what must come of it stands in `expect.yml`.
- A test marked `@pytest.mark.attack("NAME", family="FAMILY", tries="…", outcome="…")`, all four plain strings. A test may
  have several marks, and a mark may stand at a parameter: `pytest.param(…, marks=pytest.mark.attack(…))`.

Marks are read from the source, so that the catalogue is known without importing every test.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TESTS = Path(__file__).parents[1]
AGENTS = Path(__file__).parent / "agents"
FAMILIES = {
    "escape": "Escape and peek",
    "exhaustion": "Exhaustion",
    "games": "Between two players",
    "protocol": "Protocol",
    "endings": "Errors and exits",
    "cheating": "Cheating",
    "images": "Images of the agent's own",
    "models": "Saved models and archives",
    "supply": "Folders, names and files",
    "bot": "Pull requests and the bot",
    "pages": "Pages and documents",
    "people": "People and accounts",
}


@dataclass(frozen=True, kw_only=True)
class CatalogueEntry:
    """One attack."""

    name: str
    family: str
    tries: str
    """One sentence."""
    outcome: str
    """What must come of it: verdicts of an agent, or words."""
    place: str
    """The folder, or the file of the test, from the root of the repository."""


class CatalogueError(Exception):
    """An attack is registered wrongly; says where and how."""


def first_sentence(source: str) -> str:
    """The first sentence of a module's docstring."""
    words = " ".join((ast.get_docstring(ast.parse(source)) or "").split())
    sentence, end, _ = words.partition(". ")
    return sentence + "." if end else words


def _place(path: Path) -> str:
    return str(path.relative_to(TESTS.parent))


def _tries(folder: Path) -> str:
    """What an agent tries; one that is no Python file says so in expect.yml."""
    written = yaml.safe_load((folder / "expect.yml").read_text()).get("tries")
    return written or first_sentence((folder / "agent" / "agent.py").read_text())


def _words(value: Any) -> str:
    return ", ".join((value,) if isinstance(value, str) else value)


def agent_attacks() -> Iterator[CatalogueEntry]:
    """The attacks that are folders."""
    for path in sorted(AGENTS.glob("*/*/expect.yml")):
        fields = yaml.safe_load(path.read_text())
        outcome = _words(fields["ends"] if path.parts[-3] == "games" else fields["verdict"])
        yield CatalogueEntry(
            name=path.parent.name,
            family=path.parts[-3],
            tries=_tries(path.parent),
            outcome=outcome,
            place=_place(path.parent),
        )


def marked_attacks() -> Iterator[CatalogueEntry]:
    """The attacks that are tests."""
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text()
        if "mark.attack(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.attack":
                yield _marked(node, path)


def _marked(node: ast.Call, path: Path) -> CatalogueEntry:
    try:
        (name,) = (ast.literal_eval(value) for value in node.args)
        fields = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
        return CatalogueEntry(name=name, place=_place(path), **fields)
    except (TypeError, ValueError) as error:
        raise CatalogueError(f"{_place(path)}:{node.lineno}: write attack(NAME, family=…, tries=…, outcome=…)") from error


def catalogue() -> list[CatalogueEntry]:
    """Every attack, by family and name."""
    order = list(FAMILIES)
    every = [*agent_attacks(), *marked_attacks()]
    for entry in every:
        if entry.family not in FAMILIES:
            raise CatalogueError(f"{entry.place}: {entry.name} is in no family; one of {', '.join(FAMILIES)}")
    return sorted(every, key=lambda entry: (order.index(entry.family), entry.name))
