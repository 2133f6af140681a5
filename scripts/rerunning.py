"""Plays recorded agents again and compares what they choose: replaying cannot show who chose the actions."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

from evaluator.host.rematch import parse_duel
from evaluator.host.replay import Finding, Standing, parse_result, parse_trace
from evaluator.host.sealed import open_result, open_trace
from evaluator.model.challenge import Lanes, Task
from evaluator.model.duel import Duel, End, Player
from evaluator.model.result import Result
from evaluator.model.verdict import Verdict
from leaderboard.versions import homes
from scripts.board import Found
from scripts.console import say
from scripts.dueling import Hall, title
from scripts.evaluating import Bench
from scripts.progress import bar

Who = Callable[[Result | Player], Found | None]
"""The agent here that is the version which was recorded, in whichever folder of its login."""
Course = tuple[End, int | None, list[int]]
"""One match."""


def rerun(bench: Bench, findings: list[Finding], *, quiet: bool) -> list[Finding]:
    """Play whoever made each verified record again, where the folders still hold those versions."""
    found, _ = bench.board.read_all()
    agents = {(*agent.name, agent.folder.digest): agent for agent in found}
    at = homes(agent.entry() for agent in found)

    def who(side: Result | Player) -> Found | None:
        return agents.get((*at.of(side), side.submission_digest))

    hall = Hall(bench=bench)
    duels = {str(path) for path in bench.board.store.duel_files()}
    renewed = []
    for finding in findings:
        faults: list[str] | None = []
        if finding.standing is Standing.VERIFIED:
            path = Path(finding.path)
            is_duel = finding.path in duels
            again = _duel(hall, path, who, quiet=quiet) if is_duel else _result(bench, path, who, quiet=quiet)
            faults = None if again is None else list(again)
        if faults is None:
            say(f"{finding.path}: who made it is not here in that version; only the record was replayed")
        elif faults:
            finding = dataclasses.replace(finding, standing=Standing.REFUTED, faults=(*finding.faults, *faults))
        renewed.append(finding)
    return renewed


def _result(bench: Bench, path: Path, who: Who, *, quiet: bool) -> Iterator[str] | None:
    """What differs when an agent is evaluated again; None where it cannot be."""
    recorded = parse_result(path.read_bytes())
    agent = who(recorded)
    task = bench.board.challenge.task(recorded.task)
    if agent is None or task is None:
        return None
    # Of a sealed season only what was revealed comes this far: the rest is not verified, and nothing else is played again.
    secret = bench.board.seasons.secret_of(recorded.season, recorded.beacon)
    order = dataclasses.replace(bench.order(agent, task, recorded.beacon), secret=secret)
    result, trace = bench.run(order, quiet=quiet)
    plain = open_result(recorded, secret) if secret else recorded

    def before() -> bytes:
        content = bench.board.store.trace_of(path).read_bytes()
        return open_trace(content, recorded, secret) if secret else content

    return _differences(plain, result, trace, before)


def _differences(recorded: Result, result: Result, trace: bytes | None, before: Callable[[], bytes]) -> Iterator[str]:
    if result.verdict != recorded.verdict:
        yield f"played again it ends with {result.verdict}, not {recorded.verdict}"
    elif result.returns != recorded.returns:
        first = next(i for i, pair in enumerate(zip(result.returns, recorded.returns, strict=True)) if pair[0] != pair[1])
        yield f"played again, episode {first} returns {result.returns[first]!r}, not {recorded.returns[first]!r}"
    elif trace is not None and parse_trace(trace).actions != parse_trace(before()).actions:
        yield "played again, it chooses other actions with the same returns"


def _duel(hall: Hall, path: Path, who: Who, *, quiet: bool) -> Iterator[str] | None:
    """What differs when a duel is held again; None where it cannot be."""
    recorded = parse_duel(path.read_bytes())
    one, other = map(who, recorded.players)
    task = hall.bench.board.challenge.task(recorded.task)
    if one is None or other is None or task is None:
        return None
    if recorded.verdict is not Verdict.OK:
        return iter(())

    def hold(task: Task) -> Duel:
        order = hall.order(one, other, task, recorded.beacon)
        with bar(title(order), task.matches, quiet=quiet) as done:
            return hall.hold(order, done)

    return _other_matches(recorded, task, hold)


def _other_matches(recorded: Duel, task: Task, hold: Callable[[Task], Duel]) -> Iterator[str]:
    """The matches that take another course than the recorded one, in whichever order the players are asked.

    One instance that plays all matches of a duel and draws from one generator chooses by the order in which it is asked,
    and that is the machine's. So where something differs, a third duel is held match by match: what differs between the
    two new ones says nothing of who made the recorded one.
    """
    again = hold(task)
    if again.verdict is Verdict.OK and (parted := _parted(recorded, again)):
        again = hold(task.model_copy(update={"lanes": Lanes(shared=1, separate=1)}))
        if again.verdict is Verdict.OK:
            now = _courses(again)
            yield from (
                f"held again, match {i + 1} takes another course" for i, course in parted.items() if now[i] == course
            )
    if again.verdict is not Verdict.OK:
        yield f"held again, the duel fails on our side: {again.message}"


def _parted(recorded: Duel, again: Duel) -> dict[int, Course]:
    """The new courses of matches that differ. A move that came late says something of the machine only."""
    pairs = enumerate(zip(_courses(recorded), _courses(again), strict=True))
    return {index: now for index, (before, now) in pairs if before != now and End.LATE not in (before[0], now[0])}


def _courses(duel: Duel) -> list[Course]:
    """How each match ended, who won it, and by which moves."""
    return [(match.end, match.winner, moves) for match, moves in zip(duel.matches, duel.match_moves(), strict=True)]
