"""A run that is killed at a named point: run again, it completes; nothing is lost, doubled or left."""

import shutil
from pathlib import Path

import pytest

from tests.faults import report
from tests.faults.disturb import disturb
from tests.faults.points import POINTS, FaultPoint
from tests.needs import is_every_night

ALL = is_every_night("faults")
CHOSEN = [point for point in POINTS if point.usual or ALL]


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For what is made once."""
    return tmp_path_factory.mktemp("faults")


@pytest.mark.docker
@pytest.mark.parametrize("point", CHOSEN, ids=[point.name for point in CHOSEN])
def test_plain_run_after_it_completes(point: FaultPoint, engine: object, tmp_path: Path, session: Path) -> None:
    code = 0
    try:
        done = disturb(point, tmp_path / "place", session)
        code = done.code
        assert done.code in point.ends, done.output
        assert "Traceback" not in done.output + done.said
        assert done.again == 0, done.said
        assert done.records == done.expected
        assert done.left == []
    except AssertionError:
        report.note(point, code, held=False)
        raise
    report.note(point, code, held=True)
    shutil.rmtree(tmp_path / "place")


def test_points_are_named_once() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS)


def test_page_has_every_point() -> None:
    lines = report.PAGE.read_text().splitlines()

    assert sorted(line.split("`")[1] for line in lines if line.startswith("| `")) == sorted(point.name for point in POINTS)
