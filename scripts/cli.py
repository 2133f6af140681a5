"""Entry point of `pullrank`: runs a command and turns errors into one line and an exit code.

A pinned command starts a second interpreter with reproducible arithmetic, so this module imports as little as possible.
"""

import gc
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from scripts.command_list import COMMANDS, PINNED
from scripts.console import OUR_FAULT, STOPPED, USAGE, CommandError, keep_stdout_for_json, print_faults, say

# Python looks through everything in memory each time that it has grown by a quarter, and through what is new after every 700
# objects. A board's records are 100,000 objects and more without cycles. Looking less often saves a third of the processor
# time of ranking 10,000 agents, with the same memory (`python -m bench.rank_bench` compares).
COLLECTOR = (50_000, 10, 10)
"""The thresholds of the garbage collector, as `gc.set_threshold` takes them."""


def main() -> NoReturn:
    """Run the command and exit."""
    gc.set_threshold(*COLLECTOR)
    # Set before numpy is imported: work is shared by processes, and threads waiting for each other on a busy machine
    # make it ten times slower.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # We use no pydantic plugins, and searching for them reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    arguments = [word for word in sys.argv[1:] if not word.startswith("-")]
    command = arguments[0] if arguments else None
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(_exit_code(command, debug="--debug" in sys.argv))


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _exit_code(command: str | None, *, debug: bool) -> int:
    try:
        return _run(command)
    except CommandError as error:
        if "--json" in sys.argv:
            print_faults(str(error), error.code)
        say(str(error))
        return error.code
    except KeyboardInterrupt:
        say("Stopped. What was finished is recorded; the same command goes on from there.")
        return STOPPED
    except Exception as error:
        if debug:
            raise
        what = f"pullrank failed: {type(error).__name__}: {error}."
        fault = f"{what} This is our fault; run it again as 'pullrank --debug …' and tell us."
        if "--json" in sys.argv:
            print_faults(" ".join(fault.split()), OUR_FAULT)
        say(fault)
        return OUR_FAULT


def _run(command: str | None) -> int:
    if command is not None and command not in COMMANDS:
        from evaluator.model.validation_messages import did_you_mean

        hint = did_you_mean(command, COMMANDS, "the commands are")
        raise CommandError(USAGE, f"there is no command {command!r}; {hint}")
    if command in PINNED:
        from evaluator.host.deterministic import run_pinned

        run_pinned(os.environ, ["-m", "scripts.cli", *sys.argv[1:]])
    if "--json" in sys.argv:
        keep_stdout_for_json()
    # Typer and the command are imported late: only the interpreter that runs the command needs them.
    from scripts.typer_application import run

    return run(command)


if __name__ == "__main__":
    main()
