"""What agents of another system print: the beginning, and the end of what fails."""

import io

import pytest

from evaluator.sandbox.adapters.evalai_grpc import BEGINNING_BYTES, END_BYTES, ProcessOutput


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
