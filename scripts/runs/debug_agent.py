"""Episodes in this process, to look inside an agent: its output as it comes, and the debugger where it fails."""

import contextlib
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from evaluator import wire
from evaluator.host.envs.recorder import PlayedEpisode
from evaluator.host.envs.spaces import IllegalActionError, describe
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.solo.evaluate_agent import EvaluationRequest
from evaluator.host.solo.referee import EpisodeBatch, EpisodeSpec
from evaluator.model.visible_text import printable_line
from evaluator.sandbox.load_agent import AgentError, AgentFactory, load_agent
from evaluator.sandbox.main import AgentServer
from evaluator.sandbox.seeding import seed_globals
from evaluator.sandbox.values import BadActionError


@dataclass(frozen=True, kw_only=True)
class DebuggedEpisode:
    """An episode that was played to its end."""

    index: int
    seed: str
    played: PlayedEpisode


class DebuggedFault(Exception):
    """The agent failed; the message says where, and `trace` has its own frames."""

    def __init__(self, message: str, trace: str = "", frames: TracebackType | None = None) -> None:
        super().__init__(clean_text(message))
        self.trace = trace
        self.frames = frames
        """Where the debugger begins; None where no code of the agent was running."""


def play_here(request: EvaluationRequest, folder: Path, count: int) -> Iterator[DebuggedEpisode]:
    """Play the first episodes one after the other, by the code of both sides, without a sandbox and without limits.

    Raises:
        DebuggedFault: the agent failed.
    """
    specs = request.specs()[:count]
    server = _load(request, folder.resolve(), specs[0])
    for spec in specs:
        batch = EpisodeBatch(request.gym_task, iter([spec]), range(1))
        while batch.live:
            question = memoryview(batch.question())[wire.HEADER.size :]
            batch.asked()
            try:
                ended = batch.advance(memoryview(server.answer(question)))
            except (BadActionError, IllegalActionError) as error:
                raise DebuggedFault(f"{batch.where(0)}: {error}") from error
            except AgentError as error:
                raise _fault(error, f"{batch.where(0)}: ") from error
            for _, played in ended:
                yield DebuggedEpisode(index=spec.index, seed=spec.seed, played=played)


def _load(request: EvaluationRequest, folder: Path, first: EpisodeSpec) -> AgentServer:
    task, submission = request.gym_task, request.folder.submission
    hello: dict[str, Any] = {
        "mode": "act", "task_id": task.task.id, "observation_space": describe(task.observation_space),
        "action_space": describe(task.action_space), "seed": first.agent_seed,
    }  # fmt: skip
    seed_globals(hello["seed"], str(folder))
    try:
        return AgentServer(
            folder, AgentFactory(load_agent(folder, submission.source, submission.adapter), folder, hello), hello
        )
    except AgentError as error:
        raise _fault(error, "") from error


def _fault(error: AgentError, where: str) -> DebuggedFault:
    cause = error.__cause__
    if isinstance(cause, KeyboardInterrupt):
        raise cause
    return DebuggedFault(f"{where}{error}", error.trace, cause.__traceback__ if cause else None)


class _PrintedLines(io.TextIOBase):
    """Writes each line of the agent's output to standard error, with nothing hidden in it, or drops it."""

    def __init__(self, *, shown: bool) -> None:
        self._rest = ""
        self._shown = shown

    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines if self._shown else ():
            sys.__stderr__.write(f"  | {printable_line(line)}\n")  # type: ignore[union-attr]
        return len(text)

    def close(self) -> None:
        if self._rest:
            self.write("\n")
        super().close()


@contextlib.contextmanager
def agent_output(*, shown: bool) -> Iterator[None]:
    """Show what the agent prints, line by line, or drop it."""
    lines = _PrintedLines(shown=shown)
    with lines, contextlib.redirect_stdout(lines), contextlib.redirect_stderr(lines):
        yield
