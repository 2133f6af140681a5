"""What the other side may say in its handshake and in its complaints, without a container: nothing of it is an exception."""

import contextlib
import json
import os
import socket
import struct
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator import wire
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes import channel
from evaluator.host.sandboxes.agent_log import AgentLog
from evaluator.host.sandboxes.channel import ByteStream, SocketStream, listen, parse_error_frame, read_body
from evaluator.host.sandboxes.docker_sandbox import STDOUT, ContainerStream
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import INVISIBLE

NO_REASON = "the agent's side reported a fault without a reason; see the end of its log"


def said(body: bytes) -> tuple[Verdict, str]:
    """Verdict and message of an ERROR frame."""
    try:
        fault: AgentFault = parse_error_frame(body)
    except AgentFault as error:
        fault = error
    return fault.verdict, str(fault)


@pytest.mark.parametrize("depth", [1, 10, 100, *range(900, 1000), 2000, 4000])
def test_message_of_any_depth_is_a_verdict(depth: int) -> None:
    verdict, message = said(b'{"trouble": "crashed", "message": ' + b"[" * depth + b"]" * depth + b"}")

    assert verdict in (Verdict.CRASHED, Verdict.PROTOCOL_ERROR)
    assert message


@pytest.mark.parametrize("value", [None, 7, True, ["x"], {"a": 1}, "", "  \n", 1e300])
def test_message_that_is_no_text_is_replaced(value: object) -> None:
    assert said(json.dumps({"trouble": "crashed", "message": value}).encode()) == (Verdict.CRASHED, NO_REASON)


@pytest.mark.parametrize("value", [None, 7, True, ["crashed"], {"a": 1}, "", "ok", "internal_error", "Crashed", "\ud800"])
def test_trouble_that_there_is_not_is_a_protocol_error(value: object) -> None:
    assert said(json.dumps({"trouble": value, "message": "x"}).encode()) == (Verdict.PROTOCOL_ERROR, "x")


@pytest.mark.parametrize("value", [None, "0", 0.5, [0], {"a": 1}])
def test_lane_that_is_no_number_is_dropped(value: object) -> None:
    assert parse_error_frame(json.dumps({"trouble": "crashed", "message": "x", "lane": value}).encode()).lane is None


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"7", b'"x"', b"{", b"\xff\xfe", b"NaN", b"[" * 8000, b"1" * 8000, b'{"a":' * 1300, b"\x80\x04"],
)
def test_body_that_is_no_object_is_a_protocol_error(body: bytes) -> None:
    verdict, message = said(body)

    assert (verdict, message) == (Verdict.PROTOCOL_ERROR, "a handshake frame does not hold a JSON object")


def test_message_is_cleaned_and_cut() -> None:
    words = "\x1b[2J\u202e\u2066\x00\x7f\r" + "m" * 5000

    _, message = said(json.dumps({"trouble": "crashed", "message": words}).encode())

    assert not INVISIBLE.search(message)
    assert len(message) == 1000


@pytest.fixture(params=["socket", "stdio"])
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[ByteStream, socket.socket, bool]]:
    """The referee's stream, the other end of it, and whether the engine's frames are around what is written there."""
    ours, theirs = socket.socketpair()
    stdio = request.param == "stdio"
    yield ContainerStream(ours, AgentLog(1000, lambda: None)) if stdio else SocketStream(ours), theirs, stdio
    ours.close()
    theirs.close()


def wrapped(data: bytes, stdio: bool) -> bytes:
    return bytes([STDOUT, 0, 0, 0]) + len(data).to_bytes(4, "big") + data if stdio else data


def test_answer_that_drips_is_late_at_its_deadline(ends: tuple[ByteStream, socket.socket, bool]) -> None:
    stream, theirs, stdio = ends
    over = threading.Event()

    def drip() -> None:
        for byte in wire.frame(wire.Op.ACTIONS, bytes(64)):
            theirs.sendall(wrapped(bytes([byte]), stdio))
            if over.wait(0.5):
                return

    dripping = threading.Thread(target=drip)
    dripping.start()
    begun = time.monotonic()
    with pytest.raises(AgentFault) as caught:
        read_body(stream, wire.Op.ACTIONS, 64, begun + 0.4)
    over.set()
    dripping.join()

    assert caught.value.verdict is Verdict.TIMEOUT
    assert time.monotonic() - begun < 20


def test_question_that_nobody_reads_is_late(ends: tuple[ByteStream, socket.socket, bool]) -> None:
    stream, _, _ = ends

    with pytest.raises(AgentFault) as caught:
        stream.send(bytes(1 << 24), time.monotonic() + 0.3)

    assert caught.value.verdict is Verdict.TIMEOUT


@pytest.mark.attack(
    "reads_its_question_slowly", family="exhaustion", outcome="timeout",
    tries="Takes a large question bit by bit, each just before the referee would look at the clock, and thinks meanwhile.",
)  # fmt: skip
def test_question_that_is_read_slowly_is_late(ends: tuple[ByteStream, socket.socket, bool]) -> None:
    """A send that the kernel went on with for many seconds even counted as a standstill of the machine."""
    stream, theirs, _ = ends
    over = threading.Event()

    def drain() -> None:
        while theirs.recv(1 << 15) and not over.wait(0.1):
            pass

    reader = threading.Thread(target=drain)
    reader.start()
    begun = time.monotonic()
    with pytest.raises(AgentFault) as caught:
        stream.send(bytes(1 << 21), begun + 0.4)
    over.set()
    reader.join()

    assert caught.value.verdict is Verdict.TIMEOUT
    assert time.monotonic() - begun < 2


def test_end_of_the_stream_is_a_hangup(ends: tuple[ByteStream, socket.socket, bool]) -> None:
    stream, theirs, stdio = ends
    theirs.sendall(wrapped(b"\x10", stdio))
    theirs.close()

    with pytest.raises(SandboxClosed):
        read_body(stream, wire.Op.ACTIONS, 64, time.monotonic() + 5)


def test_promised_length_is_never_allocated(ends: tuple[ByteStream, socket.socket, bool]) -> None:
    stream, theirs, stdio = ends
    theirs.sendall(wrapped(wire.HEADER.pack(0xFFFFFFFF, wire.Op.ERROR) + bytes(100), stdio))

    tracemalloc.start()
    with pytest.raises(AgentFault) as caught:
        read_body(stream, wire.Op.ACTIONS, 8, time.monotonic() + 5)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert caught.value.verdict is Verdict.PROTOCOL_ERROR
    assert most < 1 << 20


def test_socket_can_lie_deeper_than_an_address_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()

    with listen(deep / "agent.sock") as listener, socket.socket(socket.AF_UNIX) as caller:
        monkeypatch.chdir(deep)
        caller.connect("agent.sock")
        accepted, _ = listener.accept()
        accepted.close()


NEW_ENOUGH = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 16)


@pytest.mark.attack(
    "image_that_passes_descriptors_before_it_is_accepted",
    family="images",
    tries="Passes the referee a descriptor in the moment between its connection and the referee's answer to it.",
    outcome="refused by the kernel, or protocol_error",
)
def test_no_descriptor_is_taken_before_the_connection_is(tmp_path: Path) -> None:
    with contextlib.closing(listen(tmp_path / "agent.sock")) as listener, socket.socket(socket.AF_UNIX) as early:
        early.connect(str(tmp_path / "agent.sock"))
        with contextlib.suppress(PermissionError):
            socket.send_fds(early, [b"x"], [0])
            assert not NEW_ENOUGH
            with pytest.raises(AgentFault, match="with open files"):
                SocketStream(listener.accept()[0]).fill(memoryview(bytearray(1)), 1, time.monotonic() + 5)


def lingering(seconds: int) -> tuple[socket.socket, socket.socket]:
    """A full connection whose last owner waits that long when it is closed, and its other end."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far = server.accept()[0]
    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, seconds))
    near.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while near.send(bytes(1 << 16)):
            pass
    return near, far


@pytest.mark.attack(
    "descriptors_where_no_kernel_refuses_them",
    family="protocol",
    tries="Passes a descriptor that takes long to close, such as a set of a million watched files, on a kernel before 6.16.",
    outcome="protocol_error, and closed by nobody who has a clock to watch",
)
def test_whoever_passes_a_descriptor_to_an_old_kernel_has_broken_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "_SO_PASSRIGHTS", 9999)  # an option that no kernel knows
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    stream = SocketStream(ours)
    near, far = lingering(4)
    with ours, theirs, far:
        theirs.send(b"an honest byte")
        assert stream.fill(memoryview(bytearray(64)), 1, time.monotonic() + 5) == len(b"an honest byte")
        socket.send_fds(theirs, [wire.frame(wire.Op.ACTIONS, b"12345678")], [near.fileno()])
        near.close()
        begun = time.monotonic()
        with pytest.raises(AgentFault, match="with open files") as caught:
            read_body(stream, wire.Op.ACTIONS, 8, time.monotonic() + 5)

    assert caught.value.verdict is Verdict.PROTOCOL_ERROR
    assert time.monotonic() - begun < 2
