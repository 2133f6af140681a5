"""Ctrl-C and SIGTERM while a process is made: late, but never lost."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from evaluator import signals

# A hook of a fork is where an exception is printed and forgotten.
STOPPED_IN_A_HOOK = """
import os, signal, subprocess, sys
from evaluator import signals

os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    with signals.signals_deferred():
        subprocess.run([sys.executable, "-c", ""], preexec_fn=int)
except KeyboardInterrupt:
    print("stopped")
else:
    print("lost")
"""


def test_a_stop_inside_a_hook_of_a_fork_is_not_lost():
    done = subprocess.run([sys.executable, "-c", STOPPED_IN_A_HOOK], capture_output=True, text=True, timeout=300)

    assert (done.stdout, done.stderr) == ("stopped\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_comes_in_the_block_happens_after_it(number: signal.Signals):
    received = []
    before = signal.signal(number, lambda signum, frame: received.append(signum))
    try:
        with signals.signals_deferred():
            os.kill(os.getpid(), number)
            assert received == []
        assert received == [number]
        os.kill(os.getpid(), number)
        assert received == [number] * 2
    finally:
        signal.signal(number, before)


def test_another_thread_changes_no_handler():
    handlers = []

    def ask() -> None:
        with signals.signals_deferred():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

    assert handlers == [signal.default_int_handler]
