"""What the entry point of the command sets for all commands."""

import gc
import signal

import pytest

from scripts import cli


def test_a_command_looks_for_garbage_less_often_than_python_does_and_still_finds_it(monkeypatch):
    before, handler = gc.get_threshold(), signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("sys.argv", ["pullrank", "--version"])
    try:
        with pytest.raises(SystemExit):
            cli.main()
        youngest, middle, oldest = gc.get_threshold()
    finally:
        gc.set_threshold(*before)
        signal.signal(signal.SIGTERM, handler)

    assert gc.isenabled()
    assert youngest > 10_000
    assert 0 < middle <= 10
    assert 0 < oldest <= 10
