"""The referee's end of the wire against every way of not answering; no container needed, only a socket pair."""

import json
import multiprocessing
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from evaluator import wire
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.agent_log import AgentLog
from evaluator.host.sandboxes.channel import (
    ByteStream,
    SocketStream,
    accept,
    clean_text,
    listen,
    parse_error_frame,
    read_body,
    read_json,
)
from evaluator.host.sandboxes.docker_sandbox import STDOUT, ContainerStream, Demultiplexer
from evaluator.model.records.verdict import Verdict


@pytest.fixture
def pair() -> Iterator[tuple[SocketStream, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    yield SocketStream(ours), theirs
    ours.close()
    theirs.close()


def soon() -> float:
    return time.monotonic() + 0.6


def test_an_answer_may_come_in_pieces(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, theirs = pair
    frame = wire.frame(wire.Op.ACTIONS, b"12345678")

    def drip() -> None:
        for byte in frame:
            theirs.send(bytes([byte]))
            time.sleep(0.005)

    thread = threading.Thread(target=drip)
    thread.start()
    assert bytes(read_body(stream, wire.Op.ACTIONS, 8, time.monotonic() + 5)) == b"12345678"
    thread.join()


@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 16), reason="the kernel has no SO_PASSRIGHTS")
def test_no_descriptor_can_be_passed_to_the_referee(pair: tuple[SocketStream, socket.socket]) -> None:
    """Whoever reads closes what nobody took, and closing a connection may last for years (SO_LINGER)."""
    _, theirs = pair

    with pytest.raises(PermissionError):
        socket.send_fds(theirs, [b"x"], [0])


def test_dripping_does_not_stretch_the_deadline(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, theirs = pair
    over = threading.Event()

    def drip() -> None:
        theirs.send(wire.HEADER.pack(1000, wire.Op.ACTIONS))
        while not over.wait(0.05):
            theirs.send(b"x")

    thread = threading.Thread(target=drip)
    thread.start()
    begun = time.monotonic()
    with pytest.raises(AgentFault) as caught:
        read_body(stream, wire.Op.ACTIONS, 1000, soon())
    over.set()
    thread.join()

    assert caught.value.verdict is Verdict.TIMEOUT
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize(
    ("sent", "verdict"),
    [
        (wire.HEADER.pack(7, wire.Op.ACTIONS), Verdict.PROTOCOL_ERROR),
        (wire.HEADER.pack(9, wire.Op.ACTIONS), Verdict.PROTOCOL_ERROR),
        (wire.HEADER.pack(0xFFFFFFFF, wire.Op.ACTIONS), Verdict.PROTOCOL_ERROR),
        (wire.HEADER.pack(8, 77), Verdict.PROTOCOL_ERROR),
        (wire.HEADER.pack(wire.ERROR_BYTES + 1, wire.Op.ERROR), Verdict.PROTOCOL_ERROR),
        (wire.frame(wire.Op.ERROR, b"{}"), Verdict.PROTOCOL_ERROR),
        (wire.frame(wire.Op.ERROR, b"\xff" * 50), Verdict.PROTOCOL_ERROR),
        (wire.frame(wire.Op.ERROR, json.dumps({"trouble": "crashed", "message": "x"}).encode()), Verdict.CRASHED),
        (b"12", Verdict.TIMEOUT),
        (wire.HEADER.pack(8, wire.Op.ACTIONS) + b"1234", Verdict.TIMEOUT),
        (b"", Verdict.TIMEOUT),
    ],
)
def test_every_wrong_answer_is_a_verdict(pair: tuple[SocketStream, socket.socket], sent: bytes, verdict: Verdict) -> None:
    stream, theirs = pair
    theirs.send(sent)

    with pytest.raises(AgentFault) as caught:
        read_body(stream, wire.Op.ACTIONS, 8, soon())

    assert caught.value.verdict is verdict


STREAMS: list[tuple[Callable[[socket.socket], ByteStream], bytes]] = [
    (SocketStream, b"1"),
    (lambda ours: ContainerStream(ours, AgentLog(100, lambda: None)), struct.pack(">BxxxI", STDOUT, 1) + b"1"),
]


def held_process(wait: Callable[..., None], arguments: tuple[Any, ...], still: float, later: float) -> BaseProcess:
    """A process that waits: held for `still` seconds after half a second, and left alone for `later` seconds since."""
    waiting = multiprocessing.get_context("fork").Process(target=wait, args=arguments)
    waiting.start()
    assert waiting.pid is not None
    time.sleep(0.5)
    if still:
        os.kill(waiting.pid, signal.SIGSTOP)
        time.sleep(still)
        os.kill(waiting.pid, signal.SIGCONT)
    time.sleep(later)
    return waiting


def wait_for_it(open_it: Callable[[socket.socket], ByteStream], ours: socket.socket) -> None:
    """In a process of its own: exits with 0 if the answer counts."""
    open_it(ours).fill(memoryview(bytearray(1)), 1, time.monotonic() + 2)


@pytest.mark.parametrize(("open_it", "answer"), STREAMS, ids=["socket", "standard streams"])
@pytest.mark.parametrize(("still", "later", "in_time"), [(4.0, 0.7, True), (0.0, 4.0, False)], ids=["machine", "agent"])
def test_time_in_which_the_machine_stood_still_is_not_counted(
    open_it: Callable[[socket.socket], ByteStream], answer: bytes, still: float, later: float, in_time: bool
) -> None:
    """Both sides stand still, as they do where a virtual machine is held; an agent can hold only itself."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    waiting = held_process(wait_for_it, (open_it, ours), still, later)
    theirs.send(answer)
    waiting.join(60)

    assert (waiting.exitcode == 0) is in_time


def wait_for_a_connection(listener: socket.socket) -> None:
    """In a process of its own: exits with 0 if the connection came in time."""
    accept(listener, 2, lambda: False, "nobody came")


@pytest.mark.parametrize(("still", "later", "in_time"), [(4.0, 0.7, True), (0.0, 4.0, False)], ids=["machine", "agent"])
def test_time_in_which_the_machine_stood_still_does_not_make_a_start_late(
    tmp_path: Path, still: float, later: float, in_time: bool
) -> None:
    listener = listen(tmp_path / "agent.sock")
    waiting = held_process(wait_for_a_connection, (listener,), still, later)
    with socket.socket(socket.AF_UNIX) as agent:
        agent.connect(str(tmp_path / "agent.sock"))
        waiting.join(60)

    assert (waiting.exitcode == 0) is in_time


def test_a_closed_end_is_a_hangup(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, theirs = pair
    theirs.close()

    with pytest.raises(SandboxClosed):
        read_body(stream, wire.Op.ACTIONS, 8, soon())
    with pytest.raises(SandboxClosed):
        stream.send(b"x", soon())


def test_a_sandbox_that_does_not_read_runs_into_the_deadline(pair: tuple[SocketStream, socket.socket]) -> None:
    stream, _ = pair

    with pytest.raises(AgentFault, match="deadline"):
        stream.send(bytes(1 << 24), soon())


@pytest.mark.parametrize("body", [b"[]", b"{", b"[" * 5000, b"\xff", b"1"])
def test_a_handshake_that_is_no_object_is_refused(pair: tuple[SocketStream, socket.socket], body: bytes) -> None:
    stream, theirs = pair
    theirs.send(wire.frame(wire.Op.READY, body))

    with pytest.raises(AgentFault) as caught:
        read_json(stream, wire.Op.READY, soon())

    assert caught.value.verdict is Verdict.PROTOCOL_ERROR


def test_text_of_the_other_side_is_cleaned_and_cut() -> None:
    assert clean_text("a\x1b[31m\u202eb" + "x" * 5000) == ("a�[31m�b" + "x" * 5000)[:1000]
    fault = parse_error_frame(json.dumps({"trouble": "ok", "message": ["\x07"], "lane": "7"}).encode())
    assert (fault.verdict, fault.lane) == (Verdict.PROTOCOL_ERROR, None)


def test_the_engines_stream_is_cut_wherever_it_breaks() -> None:
    data = b"".join(
        bytes([stream, 0, 0, 0]) + len(text).to_bytes(4, "big") + text for stream, text in [(1, b"hello"), (2, b"oh")]
    )
    for size in range(1, len(data) + 1):
        streams = Demultiplexer()
        got = {1: b"", 2: b""}
        for start in range(0, len(data), size):
            for stream, piece in streams.feed(data[start : start + size]):
                got[stream] += piece

        assert got == {1: b"hello", 2: b"oh"}


def test_a_log_calls_once_when_it_is_too_long_and_keeps_its_end() -> None:
    calls: list[int] = []
    log = AgentLog(10, lambda: calls.append(1))

    for _ in range(5):
        log.write(b"12345")

    assert (calls, log.overflown, log.tail()[-5:]) == ([1], True, "12345")
