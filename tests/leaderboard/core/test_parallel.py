"""The second process: its value, its faults and its end, and the same without a second processor."""

import multiprocessing
import os
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.core.parallel import SINGLE_PARTITION, BackgroundProcessError, Partition, run_in_background


@given(st.integers(0, 40), st.integers(1, 7))
def test_the_parts_are_the_whole_in_its_order(size, count):
    parts = [Partition(index, count).of(range(size)) for index in range(count)]

    assert [one for part in parts for one in part] == list(SINGLE_PARTITION.of(range(size))) == list(range(size))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


FOR_EVER = 3600


def _fault():
    raise ValueError("told")


def test_the_value_comes_from_another_process():
    with run_in_background(os.getpid) as value:
        assert value() not in (0, os.getpid())


def test_the_two_work_at_once(tmp_path):
    def wait_for_the_block():
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        return "done"

    with run_in_background(wait_for_the_block) as value:
        (tmp_path / "begun").touch()
        assert value() == "done"


def test_what_it_raises_is_raised_where_its_value_is_asked_for():
    with run_in_background(_fault) as value, pytest.raises(ValueError, match="told"):
        value()


def test_one_that_is_killed_says_what_to_do():
    with (
        run_in_background(lambda: os._exit(9)) as value,
        pytest.raises(BackgroundProcessError, match="give this machine more memory"),
    ):
        value()


def test_a_fault_of_the_block_ends_it():
    with pytest.raises(KeyError), run_in_background(lambda: time.sleep(FOR_EVER)):
        raise KeyError

    assert multiprocessing.active_children() == []


def test_a_handler_of_signals_does_not_speak_in_it(capfd):
    def speak(number, frame):
        print("stopped")
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        before = signal.signal(number, speak)
        try:
            with (
                run_in_background(lambda number=number: os.kill(os.getpid(), number)) as value,
                pytest.raises(BackgroundProcessError),
            ):
                value()
        finally:
            signal.signal(number, before)

    assert capfd.readouterr() == ("", "")


def test_without_a_second_processor_it_is_done_when_asked_for(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    done = []
    with run_in_background(lambda: done.append(os.getpid())) as value:
        assert done == []
        value()

    assert done == [os.getpid()]
