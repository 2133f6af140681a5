"""MatchLoop with players that are scripted to the tenth of a second: no sandbox, a real socket each."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from evaluator import wire
from evaluator.host.duels.connection import PlayerConnection
from evaluator.host.duels.duel_referee import MatchLoop
from evaluator.host.duels.match_pool import LiveMatch, MatchPool
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.sandboxes.channel import SocketStream
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import ClockSettings, Task
from evaluator.model.records.duel_record import MatchEnd
from evaluator.model.records.verdict import Verdict
from tests.duels import TINY, specs

Script = Callable[[int, int], list[int]]


class Uneven(MatchPool):
    """Side 0 has less time left in match 0 than in the others."""

    def start_next(self, lane: int) -> LiveMatch | None:
        match = super().start_next(lane)
        if match is not None and match.spec.index == 0:
            match.banks[0] = 0.0
        return match


def serve(end: socket.socket, script: Script) -> None:
    """Answer frames as the script says: given the frame's number and its positions, the moves."""
    stream = end.makefile("rb")
    number = 0
    while head := stream.read(wire.HEADER.size):
        size, _ = wire.HEADER.unpack(head)
        count, _ = wire.COUNT.unpack_from(stream.read(size))
        moves = np.array(script(number, count), "<i8").tobytes()
        number += 1
        try:
            end.sendall(wire.frame(wire.Op.ACTIONS, moves))
        except OSError:
            return


def quick(number: int, count: int) -> list[int]:
    return [1] * count


@pytest.fixture
def sockets() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    pairs = [socket.socketpair() for _ in range(2)]
    yield pairs
    for pair in pairs:
        for end in pair:
            end.close()


def played(
    pairs: list[tuple[socket.socket, socket.socket]],
    scripts: tuple[Script, Script],
    task: Task,
    limits: Limits | None = None,
    lanes: int | None = None,
) -> tuple[MatchLoop, MatchPool]:
    game = open_game(task)
    lanes = lanes or task.matches
    table = Uneven(game, specs(game), lanes)
    for (_, end), script in zip(pairs, scripts, strict=True):
        threading.Thread(target=serve, args=(end, script), daemon=True).start()
    lines = [PlayerConnection(SocketStream(ours)) for ours, _ in pairs]
    loop = MatchLoop(table, lines, limits or Limits(), lambda done: None)
    loop.play(lanes)
    return loop, table


def test_one_match_is_late_while_the_others_of_its_frame_go_on(sockets: list[tuple[socket.socket, socket.socket]]) -> None:
    def slow_once(number: int, count: int) -> list[int]:
        time.sleep(0.9 if number == 0 else 0)
        return [2] * count

    task = Task(id="t", game=TINY, opening=0, matches=8, clock=ClockSettings(move_seconds=0.1, bank_seconds=1))

    loop, table = played(sockets, (slow_once, quick), task)

    # Four positions: match 0 is over at 0.4 s, before the answer; the others pay 0.125 s of their second.
    late = table.done[0]
    assert (late.end, late.winner, late.moves, len(table.done)) == (MatchEnd.LATE, 1, (), 8)
    assert late.message == "ply 0: no move within 0.1 s and what was left of a bank of 1 s"
    assert {table.done[i].end for i in range(1, 8)} == {MatchEnd.PLAYED}
    assert 200 <= table.done[2].milliseconds[0] < 800
    assert loop.failures == [None, None]
    assert loop.moves == [3 * 3 + 4 * 3, 8 * 3 - 3]


def test_who_is_slow_but_there_wins_when_the_other_one_goes(sockets: list[tuple[socket.socket, socket.socket]]) -> None:
    def slow(number: int, count: int) -> list[int]:
        time.sleep(60)
        return [1] * count

    def gone(number: int, count: int) -> list[int]:
        sockets[1][1].shutdown(socket.SHUT_RDWR)
        return []

    begun = time.monotonic()
    loop, _ = played(sockets, (slow, gone), Task(id="t", game=TINY, opening=0, matches=4))

    assert time.monotonic() - begun < 30
    assert loop.failures[0] is None
    assert loop.failures[1] is not None


def test_a_clock_of_the_whole_duel_counts_answers_that_came(sockets: list[tuple[socket.socket, socket.socket]]) -> None:
    class Hasty(Limits):
        @property
        def wall_seconds(self) -> float:
            return 1

    def slow(number: int, count: int) -> list[int]:
        time.sleep(0.4)
        return [1] * count

    loop, table = played(sockets, (quick, slow), Task(id="t", game=TINY, opening=0, matches=4), Hasty())

    assert loop.failures[0] is None
    assert getattr(loop.failures[1], "verdict", None) is Verdict.TIMEOUT
    assert loop.thinking[1] > 0.99
    assert len(table.done) < 4


def test_many_matches_in_a_frame_are_stepped_while_the_other_side_answers(
    sockets: list[tuple[socket.socket, socket.socket]],
) -> None:
    task = Task(id="t", game=TINY, opening=0, matches=120)

    loop, table = played(sockets, (quick, quick), task)

    assert {(match.end, len(match.moves), match.winner) for match in table.done.values()} == {(MatchEnd.PLAYED, 6, None)}
    assert loop.failures == [None, None]
    assert loop.moves == [360, 360]


def test_frames_follow_from_the_moves_whoever_is_faster() -> None:
    task = Task(id="t", game="pettingzoo.classic.tictactoe_v3", opening=4, matches=30)
    seen = []
    for slow in (None, 0, 1):
        asked: list[list[int]] = [[], []]
        scripts = [_noting(counts, 0.002 * (side == slow)) for side, counts in enumerate(asked)]
        pairs = [socket.socketpair() for _ in range(2)]
        _, table = played(pairs, (scripts[0], scripts[1]), task, lanes=7)
        seen.append((asked, [table.done[i].moves for i in range(30)]))
        for pair in pairs:
            for end in pair:
                end.close()

    assert seen[0] == seen[1] == seen[2]
    assert len(set(seen[0][0][0])) > 2


def _noting(counts: list[int], seconds: float) -> Script:
    """Says how many positions each frame has, and tries the fields in turn."""

    def answer(number: int, count: int) -> list[int]:
        counts.append(count)
        time.sleep(seconds)
        return [(number + row) % 9 for row in range(count)]

    return answer


class SlowToBegin(MatchPool):
    """A game that takes a tenth of a second to begin, but for the first matches, which are begun ahead."""

    def start_next(self, lane: int) -> LiveMatch | None:
        if len(self.done) > 0:
            time.sleep(0.1)
        return super().start_next(lane)


@pytest.mark.attack(
    "matches_given_up_all_at_once", family="games", outcome="the opponent pays for its own time only",
    tries="Ends all its matches in one answer, so that the next ones are begun while the opponent's clock runs.",
)  # fmt: skip
def test_matches_that_begin_cost_no_player_time(
    sockets: list[tuple[socket.socket, socket.socket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.Uneven", SlowToBegin)
    clock = ClockSettings(move_seconds=0.07, bank_seconds=0)

    _, table = played(
        sockets,
        (lambda _, count: [-1] * count, quick),
        Task(id="t", game=TINY, opening=0, matches=48, clock=clock),
        lanes=16,
    )

    assert {match.offenders for match in table.done.values()} == {(0,)}
    assert {match.end for match in table.done.values()} == {MatchEnd.ILLEGAL}
