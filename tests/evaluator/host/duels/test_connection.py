"""A line never blocks: what cannot be sent waits, what is half there waits, and a last word is read even after a hangup."""

import json
import socket
from collections.abc import Iterator

import pytest

from evaluator import wire
from evaluator.host.duels.connection import PlayerConnection
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import AgentReportedFault, SocketStream
from evaluator.model.records.verdict import Verdict

Pair = tuple[PlayerConnection, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A line, and the player's end of it."""
    ours, theirs = socket.socketpair()
    stream = SocketStream(ours)
    yield PlayerConnection(stream), theirs
    stream.close()
    theirs.close()


def error(trouble: str) -> bytes:
    return wire.frame(wire.Op.ERROR, json.dumps({"trouble": trouble, "message": "no", "lane": 3}).encode())


def test_an_answer_may_come_in_pieces(pair: Pair) -> None:
    line, theirs = pair
    line.ask(b"question", 16)
    answer = wire.frame(wire.Op.ACTIONS, bytes(range(16)))
    bodies = [line.read_answer()]
    for piece in (answer[:3], answer[3:9], answer[9:]):
        theirs.send(piece)
        bodies.append(line.read_answer())

    assert bodies[:3] == [None, None, None]
    assert bytes(bodies[3] or b"") == bytes(range(16))
    assert (theirs.recv(99), line.waiting, line.read_answer()) == (b"question", False, None)


def test_a_player_that_does_not_read_blocks_nobody(pair: Pair) -> None:
    line, theirs = pair
    large = bytes(range(256)) * 40_000
    line.send(large)
    line.ask(b"end", 8)
    was_blocked = line.send_blocked
    got = bytearray()
    while len(got) < len(large) + 3:
        got += theirs.recv(1 << 20)
        line.read_answer()

    assert was_blocked
    assert not line.send_blocked
    assert bytes(got) == large + b"end"


@pytest.mark.parametrize("size", [0, 8, 4000], ids=["longer than the answer", "about as long", "shorter"])
def test_a_complaint_is_read_whatever_the_answers_size(pair: Pair, size: int) -> None:
    line, theirs = pair
    line.ask(b"question", size)
    theirs.send(error("crashed")[:7])
    assert line.read_answer() is None
    theirs.send(error("crashed")[7:])

    with pytest.raises(AgentReportedFault, match="no") as caught:
        line.read_answer()

    assert (caught.value.verdict, caught.value.lane) == (Verdict.CRASHED, 3)


def test_last_words_are_read_after_a_hangup(pair: Pair) -> None:
    line, theirs = pair
    theirs.send(error("memory"))
    theirs.close()
    line.ask(b"question", 8)

    with pytest.raises(AgentReportedFault) as caught:
        line.read_answer()

    assert caught.value.verdict is Verdict.OUT_OF_MEMORY
    assert not line.send_blocked


def test_a_hangup_is_one(pair: Pair) -> None:
    line, theirs = pair
    line.ask(b"question", 8)
    theirs.close()

    with pytest.raises(SandboxClosed):
        line.read_answer()


@pytest.mark.parametrize(
    "frame",
    [wire.frame(wire.Op.ACTIONS, bytes(16)), wire.frame(wire.Op.READY, bytes(8)), wire.HEADER.pack(1 << 31, wire.Op.ERROR)],
    ids=["two moves for one position", "another opcode", "a complaint without end"],
)
def test_what_is_not_of_the_protocol_is_a_fault(pair: Pair, frame: bytes) -> None:
    line, theirs = pair
    line.ask(b"question", 8)
    theirs.send(frame)

    with pytest.raises(AgentFault, match="not a frame of this protocol") as caught:
        line.read_answer()

    assert caught.value.verdict is Verdict.PROTOCOL_ERROR
