"""The `pullrank` command: pins arithmetic where it matters, starts the verb, turns errors into one line and a code.

A verb that is pinned starts a second interpreter, so this module imports nothing that the first one does not need.
"""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from scripts.console import OUR_FAULT, USAGE, CommandError, say
from scripts.verbs import VERBS


def main() -> NoReturn:
    """Run the command and exit."""
    # Before anybody imports numpy. Two processes share the work, and threads that wait for each other on a busy machine
    # take ten times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # No plugin of pydantic takes part in reading documents; looking for some reads the metadata of every package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    verb = words[0] if words else None
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(_guarded(verb, debug="--debug" in sys.argv))


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _guarded(verb: str | None, *, debug: bool) -> int:
    try:
        return _run(verb)
    except CommandError as error:
        say(str(error))
        return error.code
    except KeyboardInterrupt:
        say("Stopped. What was finished is recorded; the same command goes on from there.")
        return 130
    except Exception as error:
        if debug:
            raise
        say(f"pullrank failed: {type(error).__name__}: {error}. This is our fault; run it again with --debug and tell us.")
        return OUR_FAULT


def _run(verb: str | None) -> int:
    if verb is not None and verb not in VERBS:
        raise CommandError(USAGE, f"there is no verb {verb!r}; the verbs are {', '.join(VERBS)}")
    if verb is not None and VERBS[verb].is_pinned:
        from evaluator.host.deterministic import run_pinned

        run_pinned(os.environ, ["-m", "scripts.cli", *sys.argv[1:]])
    # Typer and the verb: only in the process that goes on.
    from scripts.application import run

    return run(verb)


if __name__ == "__main__":
    main()
