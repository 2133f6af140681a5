"""Adapter for agents of EvalAI code-upload challenges: processes that connect to localhost:8085 and call act_on_environment.

The process runs the participant's unmodified file. The platform's environment service is imitated here, in the same sandbox.
Pickles are loaded only here; the referee gets our own frames. One process plays at a time; if it ends with its episode, as
the platform's template does, it is started again for the next.
"""

import importlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from concurrent import futures
from pathlib import Path
from typing import IO, Any

import numpy as np

from evaluator import wire
from evaluator.sandbox.adapters import evaluation_pb2
from evaluator.sandbox.adapters.find_agent import missing
from evaluator.sandbox.load_agent import AgentError

SERVICE_ADDRESS = "localhost:8085"
# Practically endless: the referee ends the agent's loop over episodes.
ENDLESS_EPISODES = 1 << 30
POLL_SECONDS = 0.05
# Of the output of all processes of an evaluation together.
BEGINNING_BYTES = 32 * 1024
END_BYTES = 4 * 1024


class Call:
    """A call of the agent that waits for its answer."""

    def __init__(self, method: str, payload: bytes) -> None:
        self.method = method
        self.payload = payload
        self._answer: futures.Future[bytes] = futures.Future()

    def answer(self, value: Any) -> None:
        """Answer the call."""
        self._answer.set_result(pickle.dumps(value, protocol=4))

    def give_up(self) -> None:
        """End the wait for an answer."""
        self._answer.cancel()

    def wait(self) -> bytes:
        """Wait for the answer."""
        return self._answer.result()


class ProcessOutput:
    """Writes the processes' output to the log up to a limit, and remembers the end of the rest.

    Such agents print every step, as their platforms keep all output; here a log has a limit.
    """

    def __init__(self) -> None:
        self._left = BEGINNING_BYTES
        self._end = b""
        self._thread = threading.Thread()

    def follow(self, stream: IO[bytes]) -> None:
        """Read a process's output in a thread until it ends."""
        self._end = b""
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while data := stream.read1(1 << 16):  # type: ignore[attr-defined]
                self._show(data)

    def _show(self, data: bytes) -> None:
        shown, rest = data[: self._left], data[self._left :]
        if shown:
            _write(shown)
        if rest and self._left:
            _write(b"\npullrank: from here on only the end of what fails is shown\n")
        self._left -= len(shown)
        self._end = (self._end + rest)[-END_BYTES:]

    def show_end(self) -> None:
        """After a failure, show the end of the output that was not shown yet."""
        self._thread.join(timeout=1)
        _write(self._end)


def _write(data: bytes) -> None:
    sys.stderr.buffer.write(data)
    sys.stderr.buffer.flush()


class EnvironmentService:
    """The service, and the agent's process that calls it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._calls: queue.Queue[Call] = queue.Queue()
        self._process: subprocess.Popen[bytes] | None = None
        self._started_with = 0
        self._played = False
        self._acting: Call | None = None
        self._over = False
        self._spaces: dict[str, Any] = {}
        self._seed = 0
        self._output = ProcessOutput()
        self._server = self._serve()

    def _serve(self) -> Any:
        try:
            grpc = importlib.import_module("grpc")
        except ImportError as error:
            raise missing("evalai-grpc", "grpcio", "grpc") from error
        server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=[("grpc.so_reuseport", 0)])
        server.add_generic_rpc_handlers((_handler(grpc, self._called),))
        if not server.add_insecure_port(SERVICE_ADDRESS):
            raise AgentError(wire.ErrorReason.INVALID, f"nothing can listen on {SERVICE_ADDRESS} in this sandbox")
        server.start()
        return server

    def prepare(self, spaces: dict[str, Any], seed: int) -> None:
        """Start the process and wait until it asks for something or ends, so that its imports are no part of an answer."""
        self._spaces, self._seed = spaces, seed
        process = self._start()
        while self._calls.empty() and process.poll() is None:
            time.sleep(POLL_SECONDS)

    def begin_episode(self, seed: int) -> None:
        """Set the seed of the beginning episode: only a process started in this episode uses it.

        The process that was prepared is started anew if it did not play yet and got another seed, as it does where an
        interrupted evaluation goes on.
        """
        self._seed = seed
        if not self._played and self._started_with != seed:
            self._stop()
            self._start()
        self._played = True

    def _start(self) -> "subprocess.Popen[bytes]":
        runner = Path(__file__).with_name("evalai_runner.py")
        here = self._path.parent
        search = os.pathsep.join(map(str, [here, here / "utils", *filter(None, sys.path)]))
        command = [sys.executable, "-u", str(runner), str(self._seed), str(self._path)]
        self._process = subprocess.Popen(
            command, cwd=here, env={**os.environ, "PYTHONPATH": search}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert self._process.stdout is not None
        self._output.follow(self._process.stdout)
        self._started_with = self._seed
        return self._process

    def _stop(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        while not self._calls.empty():
            self._calls.get().give_up()

    def _called(self, method: str, payload: bytes) -> bytes:
        if (answer := self._immediate_answer(method)) is not None:
            return pickle.dumps(answer, protocol=4)
        call = Call(method, payload)
        self._calls.put(call)
        return call.wait()

    def _immediate_answer(self, method: str) -> Any:
        """The answer to a call that need not wait; None for others."""
        match method:
            case "reset" | "act_on_environment":
                return None
            case "num_episodes":
                return {"num_episodes": ENDLESS_EPISODES}
            case "episode_over":
                return {"episode_over": self._over}
            case "get_metrics":
                return {"metrics": {}}
            case "get_action_space" | "get_observation_space":
                return self._spaces[method.removeprefix("get_")]
            case _:
                return {}

    def action(self, observation: Any, *, starts: bool) -> Any:
        """The process's next action."""
        if starts and self._acting is not None:
            self._over = True
            self._acting.answer(_feedback(observation, done=True))
        elif self._acting is not None:
            self._acting.answer(_feedback(observation, done=False))
        self._acting = None
        while True:
            call = self._next(starts=starts)
            if call.method == "act_on_environment":
                self._acting, self._over = call, False
                return pickle.loads(call.payload)
            # Without a payload the caller expects a dictionary, as habitat's agents do; else the observation itself.
            self._over = False
            call.answer(observation if call.payload else {"observations": observation})

    def _next(self, *, starts: bool) -> Call:
        while True:
            try:
                return self._calls.get(timeout=POLL_SECONDS)
            except queue.Empty:
                assert self._process is not None
                code = self._process.poll()
            if code is None:
                continue
            if code or not starts:
                self._output.show_end()
                message = f"the agent's process ended with exit code {code} in an episode; its output is in the log"
                raise AgentError(wire.ErrorReason.CRASHED, message)
            self._start()


def _handler(grpc: Any, called: Any) -> Any:
    """A handler for every method of a service of any name: the platform's templates differ in the package's name."""

    class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
        """See above."""

        def service(self, details: Any) -> Any:
            """The handler of one method."""
            method = details.method.rpartition("/")[2]

            def behave(request: evaluation_pb2.Package, context: Any) -> evaluation_pb2.Package:
                return evaluation_pb2.Package(SerializedEntity=called(method, request.SerializedEntity))

            return grpc.unary_unary_rpc_method_handler(
                behave, evaluation_pb2.Package.FromString, evaluation_pb2.Package.SerializeToString
            )

    return Handler()


def _feedback(observation: Any, *, done: bool) -> dict[str, Any]:
    """The platform's answer to an action; the reward is 0, since only the referee knows it."""
    return {
        "feedback": (observation, 0.0, done, {}),
        "observations": observation,
        "current_score": 0,
        "eval_completed": False,
    }


def _space_summary(space: Any) -> Any:
    """A space in the templates' form: the list of actions of a discrete one, else the number of values."""
    if type(space).__name__ == "Discrete":
        return list(range(int(space.start), int(space.start + space.n)))
    return int(np.prod(space.shape)) if space.shape is not None else space


def of_file(path: Path) -> type:
    """An Agent class around the process; raises AgentError where the service cannot be started."""
    service = EnvironmentService(path)

    class Agent:
        """One episode of the agent's process."""

        lanes = 1

        def __init__(self, seed: int) -> None:
            self._starts = True
            service.begin_episode(seed)

        @staticmethod
        def prepare(observation_space: Any, action_space: Any, seed: int) -> None:
            """Start the process."""
            spaces = {"observation_space": observation_space, "action_space": action_space}
            service.prepare({name: _space_summary(space) for name, space in spaces.items()}, seed)

        def act(self, observation: Any) -> Any:
            """The process's action."""
            starts, self._starts = self._starts, False
            return service.action(observation, starts=starts)

    return Agent
