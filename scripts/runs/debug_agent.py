"""Episodes and matches in this process, to look inside an agent: its output, and the debugger where it fails."""

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.host.duels import match_pool
from evaluator.host.duels.evaluate_duel import DuelRequest
from evaluator.host.envs.episode_recorder import PlayedEpisode
from evaluator.host.envs.spaces import IllegalActionError
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.solo.evaluate_agent import EvaluationRequest
from evaluator.host.solo.referee import EpisodeBatch, EpisodeSpec
from evaluator.model.config.submission import Submission
from evaluator.model.visible_text import printable_line
from evaluator.sandbox.load_agent import AgentError, AgentFactory, load_agent
from evaluator.sandbox.main import AgentServer
from evaluator.sandbox.observations_and_actions import BadActionError
from evaluator.sandbox.seeding import seed_globals


class DebuggedFault(Exception):
    """The agent failed; the message says where, and `trace` has its own frames."""

    def __init__(self, message: str, trace: str = "", frames: TracebackType | None = None) -> None:
        super().__init__(clean_text(message))
        self.trace = trace
        self.frames = frames
        """Where the debugger begins; None where no code of the agent was running."""


def play_here(request: EvaluationRequest, folder: Path, count: int | None) -> Iterator[tuple[EpisodeSpec, PlayedEpisode]]:
    """Play the first `count` episodes, or all, one after the other, by the code of both sides: no sandbox, no limits.

    Raises:
        DebuggedFault: the agent failed.
    """
    specs = request.specs()[:count]
    task, submission = request.gym_task, request.folder.submission
    hello: dict[str, Any] = {"mode": "act", "seed": specs[0].agent_seed, **task.hello_fields()}
    server = _server(folder.resolve(), _factory(folder.resolve(), submission, hello), hello)
    for spec in specs:
        batch = EpisodeBatch(request.gym_task, iter([spec]), range(1))
        while batch.live:
            question = memoryview(batch.question())[wire.HEADER.size :]
            batch.note_asked()
            try:
                with _blamed(f"{batch.row_in_words(0)}: "):
                    ended = batch.advance(memoryview(server.answer(question)))
            except (BadActionError, IllegalActionError) as error:
                raise DebuggedFault(f"{batch.row_in_words(0)}: {error}") from error
            for _, played in ended:
                yield spec, played


def play_match_here(request: DuelRequest, folder: Path, count: int | None) -> Iterator[match_pool.PlayedMatch]:
    """Play the first matches of an agent against itself, one after the other, without a sandbox and without clocks.

    Raises:
        DebuggedFault: the agent failed, or its move was not legal.
    """
    folder, game, specs = folder.resolve(), request.game, request.specs()[:count]
    hello: dict[str, Any] = {
        "mode": "play",
        "seed": specs[0].agent_seeds[0],
        "clock": game.task.clock.model_dump(mode="json"),
        **game.hello_fields(),
    }
    factory = _factory(folder, request.contenders[0].folder.submission, hello)
    servers = [_server(folder, factory, {**hello, "seed": seed}) for seed in specs[0].agent_seeds]
    pool = match_pool.MatchPool(game, specs, 1)
    while (match := pool.start_next(0)) is not None:
        while not match.over:
            _play_move(pool, match, servers[match.side])
        for side, server in enumerate(servers):
            if factory.ends and match.was_asked(side):
                with _blamed(f"match {match.spec.index}, its end: "):
                    server.over(memoryview(b"".join(match_pool.over_body([match], side, pool.encoder))))
        match.position.close()
        yield pool.done[match.spec.index]


def _play_move(pool: match_pool.MatchPool, match: match_pool.LiveMatch, server: AgentServer) -> None:
    parts, leaves = match_pool.act_body([match], match.side, pool.encoder)
    with _blamed(f"match {match.spec.index}, ply {match.plies}: "):
        move = int(np.frombuffer(server.answer(memoryview(b"".join(parts))), "<i8")[0])
    if move == wire.MALFORMED:
        raise DebuggedFault(f"match {match.spec.index}, {match_pool.malformed_move_message(match)}")
    if move not in pool.game.legal(match.position.observe()):
        raise DebuggedFault(f"match {match.spec.index}, {match_pool.illegal_move_message(pool.game, match, move)}")
    if match.play(move, 0, leaves, 0):
        pool.settle(match)


def _factory(folder: Path, submission: Submission, hello: dict[str, Any]) -> AgentFactory:
    seed_globals(hello["seed"], str(folder))
    with _blamed(""):
        return AgentFactory(load_agent(folder, submission.source, submission.adapter), folder, hello)


def _server(folder: Path, factory: AgentFactory, hello: dict[str, Any]) -> AgentServer:
    with _blamed(""):
        return AgentServer(folder, factory, hello)


@contextlib.contextmanager
def _blamed(where: str) -> Iterator[None]:
    """Turn an error of the agent's code into a fault that says where it was."""
    try:
        yield
    except AgentError as error:
        raise _fault(error, where) from error


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
