"""CartPole asked for by a script: the remote environment in a container, a bare loop, and one gRPC call a step."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import gymnasium

from evaluator.host.deterministic import pinned_variables
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.seeds.derived_seeds import episode_seeds
from evaluator.host.training_scripts.evaluate_script import ScriptSession, serve_script
from evaluator.host.training_scripts.script_env_server import ScriptTask
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import ScriptRules

GRPC = "grpcio==1.76.0"
ONE_STEPS, MANY_STEPS, CALLS = 30_000, 300_000, 10_000
DIGEST = "0" * 64
LIMITS = Limits(cpus=1, cpu_seconds=3600)
RULES = ScriptRules(steps=10_000_000, worst=0)

# Both print the rate that the script itself sees, the start of its interpreter left out.
_ONE = """
import sys, time
import gymnasium as gym
env = gym.make(sys.argv[1])
observation, _ = env.reset()
begun = time.perf_counter()
for _ in range(%d):
    observation, _, terminated, truncated, _ = env.step(1 if observation[2] + observation[3] > 0 else 0)
    if terminated or truncated:
        observation, _ = env.reset()
print(%d / (time.perf_counter() - begun))
"""
_MANY = """
import sys, time
import gymnasium as gym
envs = gym.make_vec(sys.argv[1], num_envs=64)
observations, _ = envs.reset()
begun = time.perf_counter()
for _ in range(%d // 64):
    observations, _, _, _, _ = envs.step((observations[:, 2] + observations[:, 3] > 0).astype(int))
print(%d / (time.perf_counter() - begun))
"""
# As the platform does it: a call for each step, whose bytes are pickles, to a server in another process of this machine.
_GRPC = """
import multiprocessing, pickle, sys, time
from concurrent.futures import ThreadPoolExecutor
import grpc
import gymnasium

def serve(ready):
    env = gymnasium.make("CartPole-v1")
    env.reset()
    def act(request, context):
        observation, reward, terminated, truncated, _ = env.step(pickle.loads(request))
        if terminated or truncated:
            observation, _ = env.reset()
        return pickle.dumps((observation, reward, terminated or truncated))
    server = grpc.server(ThreadPoolExecutor(max_workers=10))
    handlers = {"act_on_environment": grpc.unary_unary_rpc_method_handler(act)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Environment", handlers),))
    ready.put(server.add_insecure_port("localhost:0"))
    server.start()
    server.wait_for_termination()

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    ready = context.Queue()
    process = context.Process(target=serve, args=(ready,), daemon=True)
    process.start()
    ask = grpc.insecure_channel(f"localhost:{ready.get()}").unary_unary("/Environment/act_on_environment")
    ask(pickle.dumps(0), wait_for_ready=True)
    calls = int(sys.argv[1])
    begun = time.perf_counter()
    for call in range(calls):
        pickle.loads(ask(pickle.dumps(call % 2)))
    print(calls / (time.perf_counter() - begun))
"""


def bare() -> float:
    """Steps per second of the loop that everybody writes."""
    environment = gymnasium.make("CartPole-v1")
    observation, _ = environment.reset(seed=1)
    begun = time.perf_counter()
    for _ in range(ONE_STEPS):
        observation, _, terminated, truncated, _ = environment.step(1 if observation[2] + observation[3] > 0 else 0)
        if terminated or truncated:
            observation, _ = environment.reset()
    return ONE_STEPS / (time.perf_counter() - begun)


def contained(source: str, chosen: SelectedSandbox, *, reusable: bool) -> float:
    """Steps per second as the script sees them."""
    task = Task(id="CartPole-v1", reusable=reusable, script=RULES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "submission.py").write_text(source)
        cell = SandboxSpec(folder=folder, entry="submission.py", limits=LIMITS, environment=pinned_variables())
        sandbox = chosen.opener(cell)
        try:
            offer = ScriptTask(
                gym_task=load_gym_task(task),
                rules=RULES,
                seed_of=lambda i, _: episode_seeds("bench", "preview", DIGEST, task.id, 1, i)[0],
            )
            service = ScriptSession(
                offer=offer, agent_seed=1, limits=LIMITS, progress=lambda done: None, pin_sandbox=sandbox.pin
            )
            outcome = serve_script(service, sandbox.stream())
            sandbox.end()
            assert outcome.exit_code == 0, sandbox.log_tail()
            return float(sandbox.log_tail().split()[-1])
        finally:
            sandbox.close()


def with_grpc(room: Path) -> Path | None:
    """The Python of an environment with gRPC, made now if it is not there; None if it cannot be had."""
    python, done = room / "bin" / "python", room / "done"
    if not done.exists():
        print(f"Making {room} with {GRPC} …", file=sys.stderr)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", GRPC]
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", room], check=True, capture_output=True)
            subprocess.run(install, check=True, capture_output=True, timeout=300)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"without gRPC: {str(error)[:200]}", file=sys.stderr)
            return None
        done.touch()
    return python


def over_grpc(python: Path, room: Path) -> float:
    """Steps per second of one unary call a step, without any container."""
    program = room / "loop.py"
    program.write_text(_GRPC)
    ours = str(Path(gymnasium.__file__).parents[1])
    command = [str(python), str(program), str(CALLS)]
    environment = {**os.environ, "PYTHONPATH": ours}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=600, env=environment).stdout)


def rounds(count: int, boxes: dict[str, SelectedSandbox], python: Path | None, room: Path) -> Iterator[dict[str, float]]:
    """Each round times every variant once, one after the other."""
    for _ in range(count):
        loop = bare()
        one = contained(_ONE % (ONE_STEPS, ONE_STEPS), boxes["docker"], reusable=False)
        many = contained(_MANY % (MANY_STEPS, MANY_STEPS), boxes["docker"], reusable=True)
        row = {
            "remote environment, steps/s": one,
            "remote environment, one / bare": one / loop,
            "remote make_vec, steps/s": many,
            "remote make_vec, 64 / bare": many / loop,
        }
        if python:
            theirs = over_grpc(python, room)
            row["gRPC call per step, steps/s"] = theirs
            row["remote environment, one / gRPC"] = one / theirs
            row["remote make_vec, 64 / gRPC"] = many / theirs
        yield row


def run(boxes: dict[str, SelectedSandbox], count: int = 3) -> dict[str, dict[str, float]]:
    """Median, least and greatest of each figure over the rounds."""
    room = Path("build/grpc")
    rows = list(rounds(count, boxes, with_grpc(room), room))
    return {
        name: {"median": statistics.median(values), "min": min(values), "max": max(values)}
        for name in rows[0]
        for values in [[row[name] for row in rows]]
    }
