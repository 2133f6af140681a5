"""Containers side by side: each on processors of its own, on a machine whose processors are all busy."""

import contextlib
import json
import os
import threading
import time
from pathlib import Path

import pytest
from docker.errors import NotFound

from evaluator.host.docker.engine import OWNER_LABEL, Engine
from evaluator.host.progress import ReportProgress
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.solo.evaluate_agent import EvaluationRequest
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from scripts.runs.parallel_jobs import ParallelJob, run_jobs
from tests.hostile.arena import order_of, play, write_agent

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor has nothing to hand out"),
]
RULE = """
class Agent:
    memoryless = True

    def act(self, observation):
        return int(observation[2] + observation[3] > 0)
"""
# Uses all that it is given, also while the referee works, in threads and processes that try every processor.
GREEDY = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        os.sched_setaffinity(0, range(1024))
        while True:
            pass
time.sleep(0.5)
class Agent:
    def act(self, observation):
        return 0
"""


def test_neighbours_share_no_processor_and_change_no_result(docker: SelectedSandbox, engine: Engine, tmp_path: Path) -> None:
    order = order_of(write_agent(tmp_path / "rule", RULE), episodes=40)
    greedy = order_of(write_agent(tmp_path / "greedy", GREEDY), episodes=2)
    alone = play(order, docker).result
    sets: list[list[str]] = []

    def watch() -> None:
        """The processors of containers that run at the same time."""
        while not is_over.is_set():
            found = {}
            for container in engine._api.containers(filters={"label": OWNER_LABEL}):
                with contextlib.suppress(NotFound):
                    settings = engine._api.inspect_container(container["Id"])
                    if json.loads(container["Labels"][OWNER_LABEL])["pid"] in children():
                        found[container["Id"]] = settings["HostConfig"]["CpusetCpus"]
            if len(found) > 1:
                sets.append(list(found.values()))
            time.sleep(0.02)

    def job(request: EvaluationRequest) -> ParallelJob[Result]:
        def run(report: ReportProgress) -> Result:
            return play(request, docker).result

        return ParallelJob(title="", play=run, processors=1, memory_mib=128)

    is_over = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        played = dict(run_jobs([job(order), job(greedy), job(order), job(greedy)], 2, quiet=True))
    finally:
        is_over.set()
        watcher.join()

    assert [played[index].verdict for index in range(4)] == [Verdict.OK] * 4
    for index in (0, 2):
        assert played[index].returns == alone.returns
        assert played[index].trace_sha256 == alone.trace_sha256
    assert sets
    assert all(len(set(pair)) == len(pair) and all(pair) for pair in sets)


def children() -> set[int]:
    """Processes that this one has forked."""
    path = Path(f"/proc/{os.getpid()}/task")
    return {int(pid) for task in path.iterdir() for pid in (task / "children").read_text().split()}
