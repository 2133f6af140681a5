"""Adapter for agents of kaggle-environments' connectx: the file's last function, of an observation and a configuration.

As on Kaggle, the file is run again for each match, so that its globals belong to one match.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.sandbox.load_agent import AgentError

# The clock where the referee does not name one.
DEFAULT_CLOCK = {"move_seconds": 2, "bank_seconds": 20}


class Struct(dict[str, Any]):
    """A dictionary whose items are also attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def _board(observation: Any) -> tuple[list[list[int]], int]:
    """The rows from the top, with 1 for the player who began and 2 for the other, and the player's own number.

    Raises:
        AgentError: the game is not Connect Four.
    """
    seen: Any = observation["observation"] if isinstance(observation, dict) else 0
    if np.ndim(seen) != 3 or np.shape(seen)[1:] != (*np.shape(observation["action_mask"]), 2):
        message = "the adapter kaggle-connectx plays Connect Four only; name no other game under 'tasks'"
        raise AgentError(wire.ErrorReason.INVALID, message)
    mine, theirs = seen[..., 0].astype(int), seen[..., 1].astype(int)
    mark = 1 if mine.sum() == theirs.sum() else 2
    return (mark * mine + (3 - mark) * theirs).tolist(), mark


def _configuration(rows: int, columns: int, path: str, seconds: float) -> Struct:
    return Struct(
        rows=rows, columns=columns, inarow=4, actTimeout=seconds, timeout=seconds, agentTimeout=60,
        episodeSteps=1000, runTimeout=1200, __raw_path__=path,
    )  # fmt: skip


def _run(code: Any, path: str) -> Callable[..., Any]:
    names: dict[str, Any] = {"__name__": "agent", "__file__": path}
    exec(code, names)
    functions: list[Callable[..., Any]] = [
        value for value in names.values() if callable(value) and not isinstance(value, type)
    ]
    if not functions:
        message = "the file defines no function; an agent of connectx is the last one, of observation and configuration"
        raise AgentError(wire.ErrorReason.INVALID, message)
    return functions[-1]


def agent(module: ModuleType) -> type:
    """An Agent class around the file's last function."""
    path = str(module.__file__)
    code = compile(Path(path).read_bytes(), path, "exec")

    class Agent:
        """Calls its own copy of the function."""

        def __init__(self, clock: Mapping[str, float] | None = None) -> None:
            self._function = _run(code, path)
            # Some agents take only the observation.
            code_object = getattr(self._function, "__code__", None)
            self._takes = 2 if code_object is None or code_object.co_flags & 0x04 else code_object.co_argcount
            rules = clock or DEFAULT_CLOCK
            # As on Kaggle, whose bank has 60 seconds, overdrawing the bank loses the match.
            self._move, self._bank = rules["move_seconds"], rules["bank_seconds"]

        def act(self, observation: Any) -> Any:
            """The column that the function chooses."""
            rows, mark = _board(observation)
            cells = [cell for row in rows for cell in row]
            shown = Struct(
                board=cells, mark=mark, step=sum(map(bool, cells)), remainingOverageTime=self._bank,
            )  # fmt: skip
            arguments = shown, _configuration(len(rows), len(rows[0]), path, self._move)
            begun = time.monotonic()
            move = self._function(*arguments[: self._takes])
            self._bank -= max(0.0, time.monotonic() - begun - self._move)
            return int(move) if isinstance(move, float) and move.is_integer() else move

    return Agent
