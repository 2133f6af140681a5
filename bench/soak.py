"""`python -m bench.soak`: many short evaluations of good and hostile agents in one process; does anything grow?

Between rounds nothing runs, so what is there then was left behind. Prints a line for each round and a table at the end, and
writes build/soak.json after each round. A growth is a line below the table; no time is judged.
"""

import argparse
import gc
import json
import os
import signal
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from evaluator.host.deterministic import run_pinned
from evaluator.host.docker.engine import OWNER_LABEL, Engine, is_orphan
from evaluator.host.duels.evaluate_duel import evaluate_duel
from evaluator.host.process_owner import this_process
from evaluator.host.sandboxes.docker_sandbox import REMOVAL
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from evaluator.host.solo.evaluate_agent import EvaluationRequest
from evaluator.host.usage import MIB
from evaluator.model.config.task import Task
from evaluator.model.records.verdict import Verdict
from tests.evaluations import RANDOM_PLAYER, duel_order
from tests.hostile.arena import attacks, base, order_of, play

EXAMPLES = Path("example_agents")
GOOD = {
    "cartpole-angle-rule": "CartPole-v1",
    "cartpole-blind-memory": "CartPole-v1",
    "cartpole-mlp": "CartPole-v1",
    "frozen-lake-careful": "FrozenLake-v1",
    "taxi-q-table": "Taxi-v4",
    "mountain-car-energy": "MountainCar-v0",
    "random": "CartPole-v1",
}
# They wait for a limit of many seconds, or use up the processor meanwhile: a few of them would take the time of hundreds.
LENGTHY = {
    "answers_without_looking",
    "fork_bomb_that_breeds",
    "many_small_allocations",
    "sleeps_at_import",
    "stack_overflow",
}
COLUMNS = {
    "evaluator MiB": (4.0, 0.04), "evaluator descriptors": (2, 0), "evaluator threads": (1, 0), "evaluator children": (0, 0),
    "engine MiB": (16.0, 0.1), "engine descriptors": (4, 0), "engine threads": (6, 0), "engine processes": (1, 0),
    "containers": (0, 0), "temporary folder": (0, 0), "cgroups": (4, 0), "mounts": (4, 0), "engine disk MiB": (4.0, 0.01),
}  # fmt: skip
"""What is sampled, and the growth (absolute, and as a share) that is not worth a line: what happens beside it."""
# A removal that takes longer is something left behind.
REMOVAL_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Play:
    """A short evaluation."""

    name: str
    verdicts: frozenset[str]
    run: Callable[[], tuple[str, tuple[float, ...]]]
    """Plays; returns the verdict and the returns."""
    is_good: bool = False


def plays(sandbox: SelectedSandbox) -> list[Play]:
    """Good and hostile agents in turns: each good one between several hostile ones."""
    good = [_good(name, task, sandbox) for name, task in GOOD.items()] + [_duel(sandbox)]
    hostile = [
        Play(name=attack.name, verdicts=frozenset(attack.verdicts), run=_player(attack.order, sandbox))
        for attack in attacks()
        if attack.name not in LENGTHY
    ]
    mixed = []
    for number, attack in enumerate(hostile):
        mixed += [good[number // 2 % len(good)], attack] if number % 2 == 0 else [attack]
    return mixed


def _good(name: str, task: str, sandbox: SelectedSandbox) -> Play:
    run = _player(lambda: order_of(EXAMPLES / name, task), sandbox)
    return Play(name=name, verdicts=frozenset({"ok"}), run=run, is_good=True)


def _player(order: Callable[[], EvaluationRequest], sandbox: SelectedSandbox) -> Callable[[], tuple[str, tuple[float, ...]]]:
    def run() -> tuple[str, tuple[float, ...]]:
        result = play(order(), sandbox).result
        return result.verdict.value, tuple(result.returns)

    return run


def _duel(sandbox: SelectedSandbox) -> Play:
    """Two players of a game, which are two containers at once."""
    task = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", opening=0, matches=2)

    def run() -> tuple[str, tuple[float, ...]]:
        request = duel_order(RANDOM_PLAYER, RANDOM_PLAYER, task)
        duel = evaluate_duel(request, sandbox.kind, sandbox.opener, lambda: datetime.now(UTC), lambda done: None)
        return duel.verdict.value, tuple(match.scores[0] for match in duel.matches)

    return Play(name="tictactoe duel", verdicts=frozenset({Verdict.OK.value}), run=run, is_good=True)


class Sampler:
    """Reads what the evaluator, the engine and the machine hold."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pid = engine_pid(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))
        self._root = Path(engine._api.info()["DockerRootDir"])

    def sample(self) -> dict[str, float]:
        """One value for each column, once the containers that are being removed are gone."""
        for thread in threading.enumerate():
            if thread.name == REMOVAL:
                thread.join(REMOVAL_SECONDS)
        gc.collect()
        memory, threads = _status("self")
        engine = [self._pid, *descendants(self._pid)]
        readings = [_status(str(pid)) for pid in engine]
        values: list[float] = [
            memory, _descriptors(os.getpid()), threads, len(descendants(os.getpid())),
            sum(reading[0] for reading in readings), _descriptors(self._pid), readings[0][1], len(engine),
            self._containers(), len(list(Path(tempfile.gettempdir()).glob("pullrank-*"))), _cgroups(),
            Path("/proc/mounts").read_text().count("\n"), _disk(self._root),
        ]  # fmt: skip
        return dict(zip(COLUMNS, values, strict=True))

    def _containers(self) -> int:
        """Ours, and those of evaluators that have ended; another evaluator may be at work on the same engine."""
        every = self._engine._api.containers(all=True, filters={"label": OWNER_LABEL})
        mine = json.dumps(asdict(this_process()), sort_keys=True)
        labels = [(c["Labels"][OWNER_LABEL], c["State"] == "running") for c in every]
        return sum(label == mine or is_orphan(label, running=running) for label, running in labels)


def engine_pid(address: str) -> int:
    """The process that listens on the engine's socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address.removeprefix("unix://"))
        return int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)


def descendants(pid: int) -> list[int]:
    """The processes below a process."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            children.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(int(path.parent.name))
        except OSError:
            continue
    every, left = [], [pid]
    while left:
        below = children.get(left.pop(), [])
        every += below
        left += below
    return every


def _status(pid: str) -> tuple[float, int]:
    """Resident MiB and threads of a process; zeros where it has ended."""
    try:
        fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    except OSError:
        return 0.0, 0
    return int(fields.get("VmRSS", "0 kB").split()[0]) / 1024, int(fields["Threads"])


def _descriptors(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def _cgroups() -> int:
    """Control groups of the memory controller, or of the one hierarchy."""
    root = Path("/sys/fs/cgroup")
    return sum(1 for _ in os.walk(root / "memory" if (root / "memory").is_dir() else root))


def _disk(root: Path) -> float:
    """MiB below a folder; what vanishes meanwhile is not counted."""

    def sizes() -> Iterator[int]:
        for folder, _, names in os.walk(root):
            for name in names:
                try:
                    yield Path(folder, name).lstat().st_blocks * 512
                except OSError:
                    continue

    return sum(sizes()) / MIB


def growths(samples: list[dict[str, float]]) -> list[str]:
    """A line for each column whose last third lies above its middle third; the first third is warming up."""
    third = len(samples) // 3
    if third == 0:
        return ["too few rounds to see a growth"]
    lines = []
    for name, (most, share) in COLUMNS.items():
        middle, last = (
            statistics.median(sample[name] for sample in part) for part in (samples[-2 * third : -third], samples[-third:])
        )
        if last - middle > most + share * middle:
            lines.append(f"{name} grows: {middle:,.0f} in the middle third, {last:,.0f} in the last")
    return lines


def soak(count: int, each: int, at_once: int) -> int:
    """Play that many evaluations; returns how many lines of growth or of wrong outcomes there are."""
    engine = Engine()
    sandbox = select_sandbox("docker", base(), lambda line: print(line, file=sys.stderr))
    sampler, mixture = Sampler(engine), plays(sandbox)
    samples, wrong, begun = [], [], time.monotonic()
    first: dict[str, tuple[float, ...]] = {}
    done = 0

    def played(number: int) -> tuple[Play, str, tuple[float, ...]]:
        chosen = mixture[number % len(mixture)]
        return chosen, *chosen.run()

    try:
        with ThreadPoolExecutor(at_once) as pool:
            while done < count:
                size = min(each, count - done)
                for chosen, verdict, returns in pool.map(played, range(done, done + size)):
                    if verdict not in chosen.verdicts:
                        wrong.append(f"{chosen.name}: {verdict}")
                    elif chosen.is_good and first.setdefault(chosen.name, returns) != returns:
                        wrong.append(f"{chosen.name}: other returns than the first time")
                done += size
                seconds = round(time.monotonic() - begun)
                samples.append({"evaluations": done, "seconds": seconds, "wrong": len(wrong), **sampler.sample()})
                print({name: round(value, 1) for name, value in samples[-1].items()}, flush=True)
                _write(samples, wrong)
    except KeyboardInterrupt:
        print("stopped: the table shows what was done")
    return _show(samples, wrong)


def _write(samples: list[dict[str, float]], wrong: list[str]) -> None:
    target = Path("build/soak.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"samples": samples, "wrong": wrong}, indent=1) + "\n")


def _show(samples: list[dict[str, float]], wrong: list[str]) -> int:
    table = Table("evaluations", *COLUMNS, title="What is there between rounds, when nothing runs")
    for sample in samples:
        table.add_row(f"{sample['evaluations']:,}", *(f"{sample[name]:,.0f}" for name in COLUMNS))
    Console(width=220).print(table)
    lines = growths(samples) + wrong
    for line in lines or ["nothing grows, and every outcome is the one that it should be"]:
        print(line)
    return len(lines)


def main() -> None:
    """Read the options and play."""
    run_pinned(os.environ, ["-m", "bench.soak", *sys.argv[1:]])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--count", type=int, default=2000, help="evaluations")
    parser.add_argument("--each", type=int, default=100, help="evaluations between two samples")
    parser.add_argument("--at-once", type=int, default=4, help="evaluations that run beside each other")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as room:
        tempfile.tempdir = room
        sys.exit(1 if soak(options.count, options.each, options.at_once) else 0)


if __name__ == "__main__":
    main()
