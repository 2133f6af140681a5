"""What the other side may say in its handshake and in its complaints, without a container: nothing of it is an exception."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator import wire
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.sandboxes.channel import ByteStream, SocketStream, listen, parse_error_frame, read_body
from evaluator.host.sandboxes.container_stream import STDOUT, ContainerStream
from evaluator.host.sandboxes.watchdog import BoundedLog
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
    yield ContainerStream(ours, BoundedLog(1000, lambda: None)) if stdio else SocketStream(ours), theirs, stdio
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


def test_end_of_the_stream_is_a_hangup(ends: tuple[ByteStream, socket.socket, bool]) -> None:
    stream, theirs, stdio = ends
    theirs.sendall(wrapped(b"\x10", stdio))
    theirs.close()

    with pytest.raises(SandboxClosed):
        read_body(stream, wire.Op.ACTIONS, 64, time.monotonic() + 5)


def test_promised_length_is_never_allocated(ends: tuple[ByteStream, socket.socket, bool]) -> None:
    stream, theirs, stdio = ends
    theirs.sendall(wrapped(wire.HEADER.pack(0xFFFFFFFF, wire.Op.ERROR) + bytes(100), stdio))

    with pytest.raises(AgentFault) as caught:
        read_body(stream, wire.Op.ACTIONS, 8, time.monotonic() + 5)

    assert caught.value.verdict is Verdict.PROTOCOL_ERROR


def test_socket_can_lie_deeper_than_an_address_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()

    with listen(deep / "agent.sock") as listener, socket.socket(socket.AF_UNIX) as caller:
        monkeypatch.chdir(deep)
        caller.connect("agent.sock")
        accepted, _ = listener.accept()
        accepted.close()
