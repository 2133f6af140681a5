"""What the soak samples, and what it calls a growth."""

import tempfile
import threading
from pathlib import Path

import pytest

from bench.soak import COLUMNS, Sampler, growths
from evaluator.host.docker.engine import Engine
from evaluator.host.sandboxes.docker_sandbox import REMOVAL

FLAT = dict.fromkeys(COLUMNS, 100.0)


@pytest.mark.parametrize("name", COLUMNS)
def test_what_grows_is_named(name: str) -> None:
    samples = [{**FLAT, name: 100.0 * number} for number in range(1, 13)]

    assert growths([FLAT] * 12) == []
    assert [line.split(" grows")[0] for line in growths(samples)] == [name]


def test_warming_up_is_no_growth() -> None:
    samples = [{**FLAT, "evaluator MiB": 50.0 + 10 * number} for number in range(5)] + [FLAT] * 10

    assert growths(samples) == []


def test_too_few_rounds_show_nothing() -> None:
    assert growths([FLAT, FLAT]) == ["too few rounds to see a growth"]


@pytest.mark.docker
def test_what_is_still_being_removed_is_not_left_behind(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (folder := tmp_path / "pullrank-sandbox-1").mkdir()
    (tmp_path / "pullrank-sandbox-2").mkdir()
    removal = threading.Timer(0.3, folder.rmdir)
    removal.name = REMOVAL
    removal.start()

    assert Sampler(engine).sample()["temporary folder"] == 1
    assert not removal.is_alive()
