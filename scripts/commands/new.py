"""`pullrank new DIR`: a folder that passes `check` and `evaluate` at once."""

import os
from pathlib import Path
from typing import Annotated

import typer

from evaluator.model.names import AGENT
from scripts.board import open_board
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, say

_MANIFEST = """\
# yaml-language-server: $schema={schema}
name: {name}
algorithm: random
kind: policy
entry: agent.py
tasks: all
# description: A few sentences for the agent's page.
# authors: [Your Name]
# license: MIT
"""

_AGENT = '''\
"""An agent that acts at random. Replace `act` with something better."""


class Agent:
    """A fresh one is made for every episode. Ask for what you need, by name: any of
    observation_space, action_space, task_id, seed."""

    def __init__(self, action_space, seed):
        self.action_space = action_space
        self.action_space.seed(seed)

    def act(self, observation):
        """The action for one observation."""
        return self.action_space.sample()
'''


def run(
    folder: Annotated[Path, typer.Argument(help="The new folder: submissions/<your login>/<agent>.", metavar="DIR")],
    name: Annotated[str | None, typer.Option(help="The name the board shows.")] = None,
) -> int:
    """Write a small agent to begin with."""
    board = open_board(Path.cwd())
    if not AGENT.fullmatch(folder.name):
        rule = "1 to 40 lower-case letters, digits, '.', '_' or '-'"
        raise CommandError(USAGE, f"{folder.name!r} cannot be an agent's folder; name it with {rule}")
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise CommandError(SUBMISSION_AT_FAULT, f"{folder}: is not empty; nothing was written")
    folder.mkdir(parents=True, exist_ok=True)
    schema = os.path.relpath(board.root / "site/pages/schemas/submission.json", folder.resolve())
    shown = name or folder.name.replace("-", " ").capitalize()
    (folder / "submission.yml").write_text(_MANIFEST.format(schema=schema, name=_quoted(shown)), encoding="utf-8")
    (folder / "agent.py").write_text(_AGENT, encoding="utf-8")
    say(f"Wrote {folder}/submission.yml and {folder}/agent.py. Next: pullrank evaluate {folder}")
    return OK


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
