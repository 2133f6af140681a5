"""Forty pull requests of every kind on a simulated clock: all end told, nothing is lost, few requests are sent."""

from pathlib import Path

import pytest

from tests.load.__main__ import replay
from tests.load.actions_clock import JobFailedError, RunnerPool, SimulatedClock, SimulatedJob, SimulatedRun
from tests.load.population import HONEST, SHARES, make_population
from tests.workflows.engine import Expressions

PULLS, COMMANDS = 40, 8


def test_forty_pull_requests_of_every_kind_end_told(tmp_path: Path, expressions: Expressions) -> None:
    report = replay(tmp_path, expressions, pulls=PULLS, commands=COMMANDS, arriving=0.3, hours=3, seed=1, checked=5)

    assert report.states.keys() == {*SHARES, HONEST}
    assert report.unsettled_line == []
    assert report.unexplained == []
    assert report.lost == []
    assert report.twice == []
    assert report.failures == []
    assert report.violations == []
    assert (report.commands, report.unanswered) == (COMMANDS, 0)
    assert report.results == 2 * (
        report.entries + report.states["update"]["official"] + report.states["withdraws"]["withdrawn"]
    )
    # A commit for each round, and not for each result.
    assert report.commits < report.results / 4
    assert sum(report.requests) < 9 * PULLS
    assert report.pushed_kilobytes < 100 * report.entries


def test_a_population_is_the_same_for_the_same_seed() -> None:
    first, second = (make_population(50, seconds=3600, commands=5, seed=3) for _ in range(2))

    assert first == second
    assert first != make_population(50, seconds=3600, commands=5, seed=4)


def make_run(number: int, group: str, log: list[str], *, cancel: bool = False, fails: bool = False) -> SimulatedRun:
    def work() -> float:
        log.append(f"{number} works")
        if fails:
            raise JobFailedError(1)
        return 1

    job = SimulatedJob(name="job", setup=1, work=work)
    return SimulatedRun(
        number=number, workflow="w", group=group, cancel_in_progress=cancel, stages=iter([[job]]),
        began=lambda: None, ended=lambda how: log.append(f"{number} {how}"),
    )  # fmt: skip


def test_of_a_group_one_run_works_and_the_newest_waits() -> None:
    clock, log = SimulatedClock(), list[str]()
    pool = RunnerPool(clock=clock, machines=5)
    for number in (1, 2, 3):
        pool.submit(make_run(number, "g", log))
    clock.run(100)

    assert log == ["2 cancelled", "1 works", "1 success", "3 works", "3 success"]


def test_a_newer_run_ends_the_one_that_works_where_the_group_says_so() -> None:
    clock, log = SimulatedClock(), list[str]()
    pool = RunnerPool(clock=clock, machines=5)
    pool.submit(make_run(1, "g", log, cancel=True))
    pool.submit(make_run(2, "g", log, cancel=True, fails=True))
    clock.run(100)

    assert log == ["1 cancelled", "2 works", "2 failure"]
    assert pool.used == 0


@pytest.mark.parametrize(("machines", "seconds"), [(1, 8), (2, 4), (4, 2)])
def test_machines_are_as_many_as_there_are(machines: int, seconds: int) -> None:
    clock, log = SimulatedClock(), list[str]()
    pool = RunnerPool(clock=clock, machines=machines)
    for number in range(4):
        pool.submit(make_run(number, f"g{number}", log))
    clock.run(100)

    assert (clock.now, pool.busiest) == (seconds, machines)
