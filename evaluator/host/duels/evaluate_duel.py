"""Evaluation of one duel: two sandboxes, the referee, and the record."""

import contextlib
import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from evaluator.host.attempts.attempt import (
    AttemptEnd,
    clean_log,
    convert_internal_errors,
    with_retry,
    with_traceback,
)
from evaluator.host.attempts.measurement_request import MeasurementRequest, sandbox_spec
from evaluator.host.digests.runtime_digest import with_extras
from evaluator.host.duels.duel_referee import ConnectedPlayer, DuelSetup, DuelTally, play_duel
from evaluator.host.duels.match_pool import MatchSpec, PlayedMatch
from evaluator.host.duels.openings import draw_openings
from evaluator.host.envs.pettingzoo_game import PettingZooGame
from evaluator.host.errors import AgentFault, MachineFault, RegistryFault, SandboxClosed
from evaluator.host.loading.submission_folder import SubmissionFolder, stage
from evaluator.host.process_owner import scratch_folder
from evaluator.host.progress import ReportProgress
from evaluator.host.sandboxes.channel import clean_text
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxFactory, exit_fault
from evaluator.host.seeds.derived_seeds import opening_seeds, player_seeds
from evaluator.host.usage import Usage
from evaluator.model.config.submission import extras_needed_by
from evaluator.model.records import duel_record as duels
from evaluator.model.records.duel_record import (
    Duel,
    MatchRecord,
    PlayerRecord,
    Side,
    WantedDuel,
    side_order,
)
from evaluator.model.records.stored_record import Cost, SandboxKind
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict

# A player's sandbox also waits while its opponent thinks, so its wall limit only stops what hangs.
WALL_FACTOR, WALL_SPARE = 2, 600
# Its time also runs while its opponent's image is fetched and loaded, or its weights are fetched.
FETCH_SPARE = 1200


@dataclass(frozen=True, kw_only=True)
class DuelPlayer:
    """A player of a duel."""

    login: str
    login_id: int | None
    agent: str
    folder: SubmissionFolder


Contenders = tuple[DuelPlayer, DuelPlayer]


def order_sides(one: DuelPlayer, other: DuelPlayer) -> Contenders:
    """Side 0 and side 1, whichever is given first."""
    in_order = side_order(one.login, one.agent) <= side_order(other.login, other.agent)
    return (one, other) if in_order else (other, one)


@dataclass(frozen=True, kw_only=True)
class DuelRequest(MeasurementRequest):
    """The duel to play."""

    contenders: Contenders
    """The players as `order_sides` puts them; the same one twice is its validation."""
    game: PettingZooGame
    liable_side: Side | None = None
    """The side whose registry or web host failed in all tries before: it forfeits if that fails again."""

    @property
    def digests(self) -> tuple[str, str]:
        """The submission digests of the players."""
        return self.contenders[0].folder.digest, self.contenders[1].folder.digest

    def wanted(self) -> WantedDuel:
        """What the duel depends on."""
        return WantedDuel(
            submission_digests=self.digests,
            task_digest=self.game.task.digest(),
            runtime_digest=with_extras(self.runtime_digest, extras_needed_by(c.folder.submission for c in self.contenders)),
            season=self.season,
            beacon=self.beacon,
        )

    def seeds(self) -> tuple[str, ...]:
        """One seed for each two matches."""
        task = self.game.task
        return opening_seeds(self.season, self.beacon, self.digests, task.id, task.matches)

    def specs(self) -> tuple[MatchSpec, ...]:
        """The matches to play; both sides begin each opening once."""
        task = self.game.task
        seeds = self.seeds()
        agent_seeds = player_seeds(self.season, self.beacon, self.digests, task.id, task.matches)
        positions = [(seed, tuple(opening)) for seed, opening in zip(seeds, draw_openings(self.game, seeds), strict=True)]
        return tuple(
            MatchSpec(index=i, seed=positions[i // 2][0], opening=positions[i // 2][1], agent_seeds=agent_seeds[i])
            for i in range(task.matches)
        )


@dataclass(frozen=True, kw_only=True)
class _PlayerRun:
    usage: Usage = field(default_factory=Usage)
    log_tail: str = ""
    image_digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class _DuelEnd(AttemptEnd):
    """How an attempt ended, from which the duel is made."""

    tally: DuelTally | None = None
    unfetched: Side | None = None
    """The only side whose registry or web host failed."""
    parts: tuple[_PlayerRun, _PlayerRun] = (_PlayerRun(), _PlayerRun())


def evaluate_duel(
    request: DuelRequest,
    kind: SandboxKind,
    opener: SandboxFactory,
    now: Callable[[], datetime],
    progress: ReportProgress,
) -> Duel:
    """Play the duel. After a failure of ours, it is tried once more if no player was sent a position."""

    def failed(message: str) -> _DuelEnd:
        return _DuelEnd(verdict=Verdict.INTERNAL_ERROR, message=message)

    end = with_retry(
        lambda observed: convert_internal_errors(partial(_attempt, request, opener, progress, observed), failed)
    )

    def unwritten(message: str) -> Duel:
        return _to_duel(request, replace(failed(message), first=end.first), kind, now())

    # A failure while recording, such as of a return that is no number, must not stop other duels.
    return convert_internal_errors(lambda: _to_duel(request, end, kind, now()), unwritten)


def _attempt(request: DuelRequest, opener: SandboxFactory, progress: ReportProgress, observed: Event) -> _DuelEnd:
    specs = request.specs()
    with contextlib.ExitStack() as stack:
        folders = [Path(stack.enter_context(scratch_folder("player"))) for _ in range(2)]
        pool = stack.enter_context(ThreadPoolExecutor(2))
        try:
            players = _open_sandboxes(request, opener, folders, pool, stack)
        except MachineFault as fault:
            return _DuelEnd(verdict=Verdict.INTERNAL_ERROR, message=clean_text(str(fault)), is_final=True)
        failed = [side for side in duels.SIDES if isinstance(players[side].fault, RegistryFault)]
        words = clean_text(str(players[failed[0]].fault)) if failed else ""
        if failed and request.contenders[0] == request.contenders[1]:
            failed = [0]  # Whichever side of a validation it is, the same owner is liable.
        if failed and failed != [request.liable_side]:
            unfetched = failed[0] if len(failed) == 1 else None
            return _DuelEnd(verdict=Verdict.INTERNAL_ERROR, message=words, unfetched=unfetched)
        setup = DuelSetup(
            game=request.game,
            specs=specs,
            limits=request.limits,
            players=players,
            progress=progress,
            before_first_observation=observed.set,
        )
        tally = play_duel(setup)
        parts = tuple(pool.map(_stop_sandbox, (open_player.sandbox for open_player in players)))
        return _DuelEnd(verdict=Verdict.OK, tally=tally, parts=(parts[0], parts[1]))


def _open_sandboxes(
    request: DuelRequest,
    opener: SandboxFactory,
    folders: Iterable[Path],
    pool: ThreadPoolExecutor,
    stack: contextlib.ExitStack,
) -> tuple[ConnectedPlayer, ConnectedPlayer]:
    """Open both sandboxes at once, to be closed at once; our own failures are raised."""
    opened: list[Sandbox] = []
    limits = request.limits
    wall_seconds = WALL_FACTOR * limits.wall_seconds + WALL_SPARE + FETCH_SPARE + 2 * limits.start_seconds

    def open_player(player: DuelPlayer, staged: Path) -> ConnectedPlayer:
        try:
            stage(player.folder, staged)
            sandbox = opener(sandbox_spec(player.folder, staged, limits, wall_seconds=wall_seconds))
        except AgentFault as fault:
            if fault.verdict is Verdict.INTERNAL_ERROR and not isinstance(fault, RegistryFault):
                raise
            return ConnectedPlayer(fault=fault)
        except SandboxClosed:
            return ConnectedPlayer(fault=exit_fault(None))
        opened.append(sandbox)
        return ConnectedPlayer(sandbox=sandbox)

    def close() -> None:
        wait(futures)  # after an interrupt, a sandbox that is still opening must be closed too
        list(pool.map(lambda sandbox: sandbox.close(), opened))

    futures = [pool.submit(open_player, *pair) for pair in zip(request.contenders, folders, strict=True)]
    stack.callback(close)
    return futures[0].result(), futures[1].result()


def _stop_sandbox(sandbox: Sandbox | None) -> _PlayerRun:
    if sandbox is None:
        return _PlayerRun()
    usage = sandbox.usage()
    sandbox.end()
    return _PlayerRun(usage=usage, log_tail=sandbox.log_tail(), image_digest=sandbox.image_digest)


def _to_duel(request: DuelRequest, end: _DuelEnd, kind: SandboxKind, now: datetime) -> Duel:
    wanted = request.wanted()
    matches = end.tally.matches if end.tally else ()
    fields: dict[str, Any] = {
        "schema": duels.DUEL_SCHEMA,
        "key": wanted.key(),
        **request.record_fields(now),
        "task": request.game.task.id,
        **wanted.model_dump(exclude={"submission_digests"}),
        "players": [_player(player, end, side) for side, player in enumerate(request.contenders)],
        "sandbox": kind,
        "verdict": end.verdict,
        "message": end.message,
        "seeds": request.seeds(),
        "matches": [_match(match) for match in matches],
        "moves": _pack(match.moves for match in matches) if matches else None,
        "milliseconds": _pack(match.milliseconds for match in matches) if matches else None,
        "limits": request.limits,
        "image_digest": _our_image(request, end),
        "first_attempt": end.first,
    }
    return Duel.with_self_hash(fields)


def _our_image(request: DuelRequest, end: _DuelEnd) -> str | None:
    """The evaluator image's id, if a player runs in it; a player's own image is named by its submission."""
    ours = (part.image_digest for who, part in zip(request.contenders, end.parts, strict=True) if who.folder.image is None)
    return next(filter(None, ours), None)


def _player(player: DuelPlayer, end: _DuelEnd, side: int) -> PlayerRecord:
    fault = end.tally.faults[side] if end.tally else None
    if isinstance(fault, RegistryFault):
        fault = AgentFault(Verdict.TIMEOUT, f"it could not be started in any try: {fault}")
    if side == end.unfetched:
        fault = AgentFault(Verdict.INTERNAL_ERROR, end.message)
    part = end.parts[side]
    return PlayerRecord(
        login=player.login,
        login_id=player.login_id,
        agent=player.agent,
        submission_digest=player.folder.digest,
        verdict=fault.verdict if fault else Verdict.OK,
        message=clean_text(str(fault)) if fault else "",
        log_tail=clean_log(with_traceback(part.log_tail, fault)),
        cost=Cost(
            cpu_seconds=part.usage.cpu_seconds,
            wall_seconds=round(end.tally.thinking[side], 3) if end.tally else 0,
            peak_memory_bytes=part.usage.peak_memory_bytes,
            steps=end.tally.moves[side] if end.tally else 0,
        ),
    )


def _match(match: PlayedMatch) -> MatchRecord:
    return MatchRecord.model_validate({
        "end": match.end, "winner": match.winner, "offenders": match.offenders, "scores": match.scores,
        "plies": len(match.moves), "refused": match.refused, "message": clean_text(match.message)[:300],
        "checksum": match.checksum,
    })  # fmt: skip


def _pack(rows: Iterable[tuple[int, ...]]) -> TraceLeaf:
    return TraceLeaf.of(np.fromiter(itertools.chain.from_iterable(rows), np.int64))
