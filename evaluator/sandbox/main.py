"""The agent's process: `python -m evaluator.sandbox.main FOLDER ENTRY SOCKET [ADAPTER]`.

SOCKET may be `-` for the standard streams.
"""

import functools
import json
import operator
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evaluator import wire
from evaluator.sandbox import load_agent as agents
from evaluator.sandbox.observations_and_actions import ActionWriter, BadActionError, ObservationReader, describe_value
from evaluator.sandbox.seeding import seed_globals

# Lines printed about bad moves; the log has a limit, and exceeding it would be the player's fault.
MAX_COMPLAINT_LINES = 20


class MoveEncoder:
    """Encodes moves as `ActionWriter` encodes actions; raises only what the agent's own objects raise."""

    def __init__(self) -> None:
        self._lines = MAX_COMPLAINT_LINES

    def singles(self, moves: list[Any]) -> bytes:
        """The ACTIONS body for one move per lane."""
        try:
            return np.fromiter(map(operator.index, moves), np.int64, len(moves)).tobytes()
        except (TypeError, OverflowError):
            return np.array([self._number(move) for move in moves], np.int64).tobytes()

    def stacked(self, moves: Any, count: int) -> bytes:
        """The ACTIONS body for an array of moves; all are bad if their number is not that of the lanes."""
        if isinstance(moves, np.ndarray) and moves.shape == (count,) and moves.dtype.kind in "iu":
            if moves.dtype != np.uint64 or (moves < 1 << 63).all():
                return moves.astype("<i8").tobytes()
        elif not hasattr(moves, "__len__") or len(moves) != count:
            self._complain(f"act_batch returned {describe_value(moves)}; {count} positions want {count} moves")
            return np.full(count, wire.MALFORMED, np.int64).tobytes()
        return self.singles(list(moves))

    def _number(self, move: Any) -> int:
        try:
            number = operator.index(move)
            if -(1 << 63) <= number < 1 << 63:
                return number
        except TypeError:
            pass
        self._complain(f"act returned {describe_value(move)}; a move is one integer")
        return wire.MALFORMED

    def _complain(self, words: str) -> None:
        if self._lines:
            self._lines -= 1
            print(words, flush=True)


class RefereeStream:
    """The connection to the referee, over a socket or two descriptors."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._rest = b""

    def receive(self) -> tuple[int, memoryview]:
        """The next frame; each body is a new buffer, so an agent may keep its observations."""
        while len(self._rest) < wire.HEADER.size:
            self._rest += self._more(1 << 16)
        size, op = wire.HEADER.unpack_from(self._rest)
        end = wire.HEADER.size + size
        if len(self._rest) >= end:
            body, self._rest = bytearray(self._rest[wire.HEADER.size : end]), self._rest[end:]
            return op, memoryview(body)
        body = bytearray(size)
        view = memoryview(body)
        have = len(self._rest) - wire.HEADER.size
        view[:have] = self._rest[wire.HEADER.size :]
        self._rest = b""
        while have < size:
            have += self._fill(view[have:])
        return op, view

    def send(self, data: bytes) -> None:
        """Write all of it."""
        sent = os.write(self._write, data)
        view = memoryview(data)
        while sent < len(data):
            sent += os.write(self._write, view[sent:])

    def _more(self, size: int) -> bytes:
        data = os.read(self._read, size)
        if not data:
            raise EOFError
        return data

    def _fill(self, view: memoryview) -> int:
        count = os.readv(self._read, [view])
        if not count:
            raise EOFError
        return count


def connect(address: str) -> RefereeStream:
    """Connect to the referee, before any of the agent's imports."""
    if address != "-":
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(address)
        descriptor = connection.detach()
        return RefereeStream(descriptor, descriptor)
    # The agent's output must not reach the protocol: the real streams get other descriptors, and 1 becomes 2.
    read, write = os.dup(0), os.dup(1)
    os.set_inheritable(read, False)
    os.set_inheritable(write, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    return RefereeStream(read, write)


class AgentServer:
    """Answers ACT frames with the participant's agents."""

    def __init__(self, folder: Path, factory: agents.AgentFactory, hello: dict[str, Any]) -> None:
        self._folder = folder
        self._factory = factory
        self._reader = ObservationReader(hello["observation_space"])
        self._writer = MoveEncoder() if hello["mode"] == "play" else ActionWriter(hello["action_space"])
        self._shared: Any = factory.make(hello["seed"]) if factory.shared else None
        self._live: dict[int, Any] = {}

    def answer(self, body: memoryview) -> bytes:
        """The ACTIONS body for an ACT body."""
        count, _ = wire.COUNT.unpack_from(body)
        start = wire.COUNT.size + count * wire.LANE.size
        observations = self._reader.stacked(body, count, start)
        if self._factory.batched:
            actions = self._run_agent("act_batch", lambda: self._shared.act_batch(observations))
            return self._encode(lambda: self._writer.stacked(actions, count))
        heads = body[wire.COUNT.size : start]
        actions = self._act_singly(heads, observations)
        try:
            return self._encode(lambda: self._writer.singles(actions))
        except BadActionError as error:
            error.lane = self._lane_of_bad(heads, actions)
            raise

    def over(self, body: memoryview) -> None:
        """Tell agents how their matches ended."""
        count, _ = wire.COUNT.unpack_from(body)
        start = wire.COUNT.size + count * wire.LANE.size
        observations = self._reader.stacked(body, count, start)
        rewards = np.frombuffer(body, "<f8", count, len(body) - 8 * count).tolist()
        for index, (lane, _, _) in enumerate(wire.LANE.iter_unpack(body[wire.COUNT.size : start])):
            agent = self._live.pop(lane) if self._shared is None else self._shared
            observation = self._reader.single(observations, index)
            self._run_agent("end", functools.partial(_end, agent, observation, rewards[index]))

    def _encode(self, write: Callable[[], bytes]) -> bytes:
        """Actions as bytes. They may be objects of the agent's classes, so writing them runs its code."""
        body: bytes = self._run_agent("the action", write)
        return body

    def _act_singly(self, heads: memoryview, observations: Any) -> list[Any]:
        """One action per lane, each from its own agent, or all from a shared one."""
        actions = []
        lane = 0
        single = self._reader.single
        try:
            for index, (lane, starts, seed) in enumerate(wire.LANE.iter_unpack(heads)):
                if starts and self._shared is None:
                    self._live[lane] = self._factory.make(seed)
                player = self._live[lane] if self._shared is None else self._shared
                actions.append(player.act(single(observations, index)))
        except BaseException as error:
            fault = agents.blame(error, self._folder, "act")
            fault.lane = lane
            raise fault from error
        return actions

    def _lane_of_bad(self, heads: memoryview, actions: list[Any]) -> int | None:
        for (lane, _, _), action in zip(wire.LANE.iter_unpack(heads), actions, strict=True):
            try:
                self._encode(functools.partial(self._writer.singles, [action]))
            except BadActionError:
                return int(lane)
        return None

    def _run_agent(self, doing: str, run: Callable[[], Any]) -> Any:
        """Run the agent's code; whatever it raises is the agent's fault."""
        try:
            return run()
        except BadActionError:
            raise
        except BaseException as error:
            raise agents.blame(error, self._folder, doing) from error


def _end(agent: Any, observation: Any, reward: float) -> None:
    agent.end(observation, reward)


def serve(stream: RefereeStream, folder: Path, entry: str, adapter: str | None) -> None:
    """Serve from the handshake to CLOSE."""
    _, body = stream.receive()
    hello = json.loads(bytes(body))
    seed_globals(hello["seed"], str(folder))
    if hello["mode"] == "serve":
        from evaluator.sandbox import run_script  # imported late, since it imports gymnasium, which takes long

        return run_script.serve(stream, folder, entry, hello)
    factory = agents.AgentFactory(agents.load_agent(folder, entry, adapter), folder, hello)
    factory.prepare()
    player = AgentServer(folder, factory, hello)
    ready = {"protocol": wire.PROTOCOL_VERSION, "shared": factory.shared, "ends": factory.ends}
    if factory.lanes:
        ready["lanes"] = factory.lanes
    stream.send(wire.frame(wire.Op.READY, json.dumps(ready).encode()))
    while True:
        op, body = stream.receive()
        if op == wire.Op.OVER:
            player.over(body)
            continue
        if op != wire.Op.ACT:
            return None
        answer = player.answer(body)
        stream.send(wire.HEADER.pack(len(answer), wire.Op.ACTIONS) + answer)


def main() -> None:
    """Serve, and send errors as an ERROR frame."""
    folder, entry, address = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    adapter = sys.argv[4] if len(sys.argv) > 4 else None
    stream = connect(address)
    try:
        serve(stream, folder, entry, adapter)
    except agents.AgentError as error:
        _complain(stream, error.trouble, str(error), error.lane, error.trace)
    except BadActionError as error:
        _complain(stream, wire.ErrorReason.PROTOCOL, str(error), error.lane)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _complain(
    stream: RefereeStream, trouble: wire.ErrorReason, message: str, lane: int | None = None, trace: str = ""
) -> None:
    # As UTF-8, 1000 characters take at most six bytes each, which fits; as ASCII an emoji would take twelve.
    report: dict[str, Any] = {"trouble": trouble, "message": message[:1000], "lane": lane}
    for kept in (wire.ERROR_BYTES, wire.ERROR_BYTES // 2, wire.ERROR_BYTES // 8, 0):
        shown = {**report, "traceback": trace[-kept:]} if trace and kept else report
        body = json.dumps(shown, ensure_ascii=False).encode("utf-8", "replace")
        if len(body) <= wire.ERROR_BYTES:
            break
    stream.send(wire.frame(wire.Op.ERROR, body))


if __name__ == "__main__":
    main()
