"""Agents of another system: what of their output is shown, and which seed their process starts with."""

import io
from pathlib import Path

import pytest

from evaluator.sandbox.adapters.evalai_grpc import BEGINNING_BYTES, END_BYTES, EnvironmentService, ProcessOutput


def followed(output: ProcessOutput, data: bytes) -> None:
    output.follow(io.BufferedReader(io.BytesIO(data)))  # type: ignore[arg-type]


def test_little_is_shown_as_it_is(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output = ProcessOutput()
    followed(output, b"hello")
    output.show_end()

    assert capfdbinary.readouterr().err == b"hello"


def test_much_is_cut_and_its_end_is_shown_when_it_fails(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output = ProcessOutput()
    followed(output, b"a" * 10 * BEGINNING_BYTES)
    output.show_end()
    capfdbinary.readouterr()
    followed(output, b"b" * BEGINNING_BYTES + b"why")
    output.show_end()

    assert capfdbinary.readouterr().err == b"b" * (END_BYTES - 3) + b"why"


def test_a_process_that_was_prepared_starts_anew_where_the_evaluation_goes_on_with_a_later_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No gRPC in the tests' own process: its threads would write into what later tests capture.
    monkeypatch.setattr(EnvironmentService, "_serve", lambda self: None)
    agent = tmp_path / "agent.py"
    agent.write_text("import random\nwith open('draws', 'a') as file:\n    print(random.random(), file=file)\n")
    service = EnvironmentService(agent)

    def draws() -> list[str]:
        return (tmp_path / "draws").read_text().splitlines()

    for _ in range(2):
        service.prepare({}, seed=1)
    service.begin_episode(seed=2)
    assert service._process
    assert service._process.wait() == 0
    service.begin_episode(seed=3)
    first, again, other = draws()

    assert first == again != other
