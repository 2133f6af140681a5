"""Loading the participant's `class Agent` and making instances of it."""

import copy
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from evaluator import wire
from evaluator.sandbox.observations_and_actions import gymnasium_space


class AgentError(Exception):
    """Something that the participant must correct; the message says what."""

    def __init__(self, trouble: wire.ErrorReason, message: str) -> None:
        super().__init__(message)
        self.trouble = trouble
        self.lane: int | None = None
        self.trace = ""
        """The traceback of the agent's own frames, for the end of its log."""


def blame(error: BaseException, folder: Path, doing: str) -> AgentError:
    """An error of the agent's code as an AgentError, in one line with file and line number."""
    if isinstance(error, AgentError):
        return error
    trouble = wire.ErrorReason.MEMORY if isinstance(error, MemoryError) else wire.ErrorReason.CRASHED
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(folder)]
    where = f" at {Path(frames[-1].filename).relative_to(folder)}:{frames[-1].lineno}" if frames else ""
    words = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SystemExit):
        blamed = AgentError(trouble, f"{doing} called exit({error.code!r}){where}; an agent must go on until it is stopped")
    else:
        blamed = AgentError(trouble, f"{doing} raised {words}{where}")
    blamed.trace = _own_traceback(frames, folder, words)
    return blamed


def _own_traceback(frames: list[traceback.FrameSummary], folder: Path, words: str) -> str:
    """The agent's frames as Python prints them, with paths inside its folder; of a recursion the first and the last."""
    if len(frames) > 2 * SHOWN_FRAMES:
        left_out = [f"  … {len(frames) - 2 * SHOWN_FRAMES} more\n"]
        lines = traceback.format_list(frames[:SHOWN_FRAMES]) + left_out + traceback.format_list(frames[-SHOWN_FRAMES:])
    else:
        lines = traceback.format_list(frames)
    return "".join(["Where it happened, the most recent call last:\n", *lines, words]).replace(
        f'File "{folder}{os.sep}', 'File "'
    )


# So many of the first and of the last frames are shown.
SHOWN_FRAMES = 10


def _import(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("agent", path)
    if spec is None or spec.loader is None:
        raise AgentError(wire.ErrorReason.INVALID, f"{path.name} is not a Python file; the entry must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["agent"] = module
    spec.loader.exec_module(module)
    return module


def load_agent(folder: Path, entry: str, adapter: str | None = None) -> type:
    """Import the entry file and return its `Agent`, or the adapter's class for it.

    Raises:
        AgentError: it has no `Agent`, or the import failed.
    """
    path = folder / entry
    if not path.is_file():
        raise AgentError(wire.ErrorReason.INVALID, f"the entry file {entry} does not exist; write it or correct 'entry'")
    sys.path.insert(0, str(folder))
    os.chdir(folder)  # so that the files beside it are opened by their names, as by a script that is run at home
    if adapter is not None:
        ours = importlib.import_module(f"evaluator.sandbox.adapters.{adapter.replace('-', '_')}")
        adapted: type = (
            _loaded(path, folder, ours.of_file) if hasattr(ours, "of_file") else ours.agent(_loaded(path, folder, _import))
        )
        return adapted
    module = _loaded(path, folder, _import)
    agent = getattr(module, "Agent", None)
    if not isinstance(agent, type) or not (hasattr(agent, "act") or hasattr(agent, "act_batch")):
        missing = f"{entry} defines no class Agent with a method act(self, observation){_meant(module)}"
        raise AgentError(wire.ErrorReason.INVALID, missing)
    return agent


def _meant(module: ModuleType) -> str:
    """What to rename, where the file has one class that could be the agent."""
    own = [name for name, value in vars(module).items() if isinstance(value, type) and value.__module__ == module.__name__]
    acting = [name for name in own if hasattr(vars(module)[name], "act") or hasattr(vars(module)[name], "act_batch")]
    return f"; rename {acting[0]} to Agent" if len(acting) == 1 else ""


def _loaded(path: Path, folder: Path, load_file: Callable[[Path], Any]) -> Any:
    """Load a file as a module, or by an adapter; every error is the agent's."""
    try:
        return load_file(path)
    except SyntaxError as error:
        name = Path(str(error.filename or path)).name  # an agent can raise one without a file name
        raise AgentError(wire.ErrorReason.INVALID, f"syntax error at {name}:{error.lineno}: {error.msg}") from error
    except BaseException as error:
        raise blame(error, folder, f"importing {path.relative_to(folder)}") from error


# The package of our adapters.
ADAPTER_PACKAGE = "evaluator.sandbox.adapters."


class AgentFactory:
    """Makes agents; a constructor gets only the arguments that it names."""

    def __init__(self, agent: type, folder: Path, hello: dict[str, Any]) -> None:
        self._agent = agent
        self._folder = folder
        self._hello = hello
        self.shared = hasattr(agent, "act_batch") or bool(getattr(agent, "memoryless", False))
        self.batched = hasattr(agent, "act_batch")
        self._adapted = agent.__module__.startswith(ADAPTER_PACKAGE)
        # Only adapters may say how many episodes they can play at once.
        self.lanes = vars(agent).get("lanes", 0) if self._adapted else 0
        # Only adapters get a game's clock, which other systems show their agents.
        self._given: dict[str, Any] = {"clock": hello["clock"]} if self._adapted and "clock" in hello else {}
        self.ends = callable(getattr(agent, "end", None))
        self._wanted = self._parameters()
        self._spaces: dict[str, Any] = {
            name: gymnasium_space(hello[name]) for name in ("observation_space", "action_space") if name in self._wanted
        }

    def _parameters(self) -> frozenset[str]:
        known = {"observation_space", "action_space", "task_id", "seed"}
        try:
            parameters = inspect.signature(self._agent).parameters.values()
        except (TypeError, ValueError):
            return frozenset()
        wanted = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        needed = {p.name for p in parameters if p.default is p.empty and p.name in wanted} - known
        if needed:
            message = f"Agent.__init__ asks for {', '.join(sorted(needed))}; it may ask for {', '.join(sorted(known))}"
            raise AgentError(wire.ErrorReason.INVALID, message)
        return frozenset(known if takes_all else wanted & (known | set(self._given)))

    def prepare(self) -> None:
        """Let an adapter start the process of its agents, which counts towards the start and not towards an answer."""
        if self._adapted and (prepare := getattr(self._agent, "prepare", None)):
            spaces = (gymnasium_space(self._hello[name]) for name in ("observation_space", "action_space"))
            prepare(*spaces, self._hello["seed"])

    def make(self, seed: int) -> Any:
        """Make an agent; raises AgentError where its constructor failed."""
        # Copied spaces: they hold a generator, and `action_space.seed(seed)` must not reach another episode's agent.
        values = {**copy.deepcopy(self._spaces), **self._given, "task_id": self._hello["task_id"], "seed": seed}
        try:
            return self._agent(**{name: values[name] for name in self._wanted})
        except BaseException as error:
            raise blame(error, self._folder, "Agent.__init__") from error
