"""The `pullrank` command: finds the verb, pins arithmetic where it matters, turns errors into one line and a code."""

import importlib
import os
import signal
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from scripts.console import OUR_FAULT, USAGE, CommandError, say

# Verb to whether its arithmetic must be pinned: what steps environments, and what rates players. `site` looks for itself.
VERBS = {
    "new": False,
    "check": False,
    "evaluate": True,
    "duel": True,
    "tournament": True,
    "rank": True,
    "verify": True,
    "plan": True,
    "site": False,
    "demo": True,
    "probe": False,
    "schemas": False,
    "bot": True,
    "image": False,
    "recorded": False,
    "doctor": False,
    "init": False,
    "import-evalai": False,
    "season": True,
}


def _root(debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False) -> None:
    """A leaderboard for reinforcement-learning agents that lives in one GitHub repository."""


def build(verb: str | None) -> typer.Typer:
    """The command; with a verb only that one is imported, since some need a second to import."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(_root)
    for name in [verb] if verb in VERBS else list(VERBS):
        module = importlib.import_module(f"scripts.commands.{name.replace('-', '_')}")
        if isinstance(module.run, typer.Typer):
            app.add_typer(module.run, name=name)
        else:
            app.command(name)(module.run)
    return app


def main() -> NoReturn:
    """Run the command and exit."""
    # Before anybody imports numpy. Two processes share the work, and threads that wait for each other on a busy machine
    # take ten times as long.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    verb = words[0] if words else None
    signal.signal(signal.SIGTERM, _interrupt)
    sys.exit(_guarded(verb, debug="--debug" in sys.argv))


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _guarded(verb: str | None, *, debug: bool) -> int:
    try:
        if verb is not None and verb not in VERBS:
            raise CommandError(USAGE, f"there is no verb {verb!r}; the verbs are {', '.join(VERBS)}")
        if verb is not None and VERBS[verb]:
            from evaluator.host.pins import run_pinned

            run_pinned(os.environ, ["-m", "scripts.cli", *sys.argv[1:]])
        code = build(verb)(standalone_mode=False, prog_name="pullrank")
        return code if isinstance(code, int) else 0
    except CommandError as error:
        say(str(error))
        return error.code
    except TyperException as error:
        said = error.format_message().strip().rstrip(".")
        if said:  # without a verb there is nothing to say: typer has printed the help
            say(f"{said}; 'pullrank {verb} --help' says more" if verb else said)
        return USAGE
    except (KeyboardInterrupt, typer.Abort):
        say("Stopped. What was finished is recorded; the same command goes on from there.")
        return 130
    except Exception as error:
        if debug:
            raise
        say(f"pullrank failed: {type(error).__name__}: {error}. This is our fault; run it again with --debug and tell us.")
        return OUR_FAULT


if __name__ == "__main__":
    main()
