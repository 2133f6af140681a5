"""Every fenced block of the pages is loaded or run, or its page says in a comment why not."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluator.host.loading.yaml_loader import parse_moderation, parse_submission
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.submission import Submission
from tests.docs.blocks import LANGUAGES, ROOT, Block, as_challenge, every_block
from tests.scripts.checkouts import run

BLOCKS = every_block()
SHOWN = [block for block in BLOCKS if block.note is None or block.note[0] == "plays"]
COMMANDS = [block for block in SHOWN if block.is_commands]
PLACEHOLDERS = {
    "<your login>": "alice", "<login>": "alice", "<agent>": "first", "<one>": "example_agents/random",
    "<other>": "example_agents/random", ".venv/bin/pullrank": "pullrank",
}  # fmt: skip
# What would not end, or speaks to GitHub: only its words are checked.
ONLY_HELP = ("site serve", "doctor", "rehearse", "recorded", "image ensure")
PLAYS = ("evaluate", "duel", "tournament", "demo")


def of(language: str) -> list[Block]:
    return [block for block in SHOWN if block.language == language]


def test_the_pages_have_blocks_of_known_languages_only() -> None:
    assert len(BLOCKS) > 30
    assert [str(block) for block in BLOCKS if block.language not in LANGUAGES] == []


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.note], ids=str)
def test_an_exception_has_a_reason_and_a_test_that_is_named_reads_the_page(block: Block) -> None:
    assert block.note
    kind, reason = block.note
    if kind == "run by":
        assert Path(block.page).name in (ROOT / reason).read_text()
    else:
        assert reason


@pytest.mark.parametrize("block", of("yaml"), ids=str)
def test_yaml_is_what_it_shows(block: Block) -> None:
    shown = yaml.safe_load(block.text)
    keys = set(shown)
    if keys <= set(Submission.model_fields) and not keys <= set(Challenge.model_fields):
        whole = {"name": "Test", "algorithm": "none", **shown}
        assert parse_submission(yaml.safe_dump(whole).encode()).model_fields_set == set(whole)
    elif keys <= set(Moderation.model_fields):
        assert parse_moderation(block.text.encode()).model_fields_set == keys
    else:
        assert keys <= set(Challenge.model_fields), f"{block}: mark it with <!-- not run: reason --> if it is none of ours"
        assert as_challenge(block.text).tasks


@pytest.mark.parametrize("block", of("json"), ids=str)
def test_json_is_json(block: Block) -> None:
    assert json.loads(block.text)


@pytest.mark.parametrize("block", of("python"), ids=str)
def test_python_is_an_agent_that_plays(block: Block, fresh: Path, tmp_path: Path) -> None:
    task, _, how = (block.note[1] if block.note else "CartPole-v1").partition(", ")
    if not how:
        assert "class Agent" in block.text, f"{block}: mark it with <!-- not run: reason --> or <!-- run by tests/….py -->"
    board = tmp_path / "board"
    shutil.copytree(fresh, board)
    folder = board / "submissions" / "alice" / "shown"
    folder.mkdir(parents=True)
    (folder / "agent.py").write_text(block.text)
    if "# /// pullrank" not in block.text:
        (folder / "submission.yml").write_text(f"name: A\nalgorithm: b\ntasks: [{task}]\n{how}\n")

    code, out, err = run(board, "evaluate", "submissions/alice/shown", "--sandbox", "process", "--json")

    assert (code, [(one["task"], one["verdict"]) for one in json.loads(out)]) == (0, [(task, "ok")]), out + err


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board like ours, with as little to play as can be."""
    root = tmp_path_factory.mktemp("board")
    document: dict[str, Any] = yaml.safe_load((ROOT / "challenge.yml").read_bytes())
    for task in document["tasks"]:
        small = {"matches": 2} if "game" in task else {"episodes": 2, "max_episode_steps": 20}
        task.update({"script": {"steps": 1500, "last": 2, "worst": -1}} if "script" in task else small)
        task.pop("bounds", None)
    (root / "challenge.yml").write_text(yaml.safe_dump(document, sort_keys=False))
    shutil.copytree(ROOT / "site", root / "site")
    shutil.copytree(ROOT / ".github", root / ".github")
    for name in ("mkdocs.yml", "moderation.yml"):
        shutil.copy(ROOT / name, root / name)
    for name in ("random", "cartpole-angle-rule"):
        shutil.copytree(ROOT / "example_agents" / name, root / "example_agents" / name)
    return root


def commands(block: Block) -> list[str]:
    """What is typed, line by line, placeholders filled in and comments gone."""
    text = block.text.replace("\\\n", " ")
    for old, new in PLACEHOLDERS.items():
        text = text.replace(old, new)
    lines = [re.split(r"\s{2,}|\s+#", line.strip())[0] for line in text.splitlines()]
    return [command.strip() for line in lines for command in line.split("&&") if command.strip()]


@pytest.mark.parametrize("block", COMMANDS, ids=str)
def test_commands_do_what_they_say(block: Block, fresh: Path, tmp_path: Path) -> None:
    board = tmp_path / "board"
    shutil.copytree(fresh, board)
    typed = commands(block)
    named = {word for line in typed for word in line.split() if word.startswith("submissions/")}
    for folder in named - {line.split()[2] for line in typed if line.startswith("pullrank new ")}:
        assert run(board, "new", folder)[0] == 0
    for line in typed:
        follow(board, line, block)


def follow(board: Path, line: str, block: Block) -> None:
    """One line: ours is run, a target of make must be there, and anything else needs a reason."""
    line = re.sub(r"^[A-Z_]+=(\$\([^)]*\)|\S+) ", "", line)
    program, *words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]
    if program == "make":
        assert [word for word in words if "=" not in word and f"\n{word}" not in (ROOT / "Makefile").read_text()] == [], line
        return
    assert program == "pullrank", f"{block}: {line!r} cannot be run here; mark the block with <!-- not run: reason -->"
    if line.partition(" ")[2].startswith(ONLY_HELP):
        verb = [word for word in words if not word.startswith("-")]
        code, out, _ = run(board, *verb, "--help")
        assert (code, [word for word in words if word.startswith("-") and word not in out]) == (0, []), line
        return
    code, out, err = run(board, *words, *(["--sandbox", "process"] if words[0] in PLAYS else []))
    assert code == 0, f"{line}\n{out}{err}"
