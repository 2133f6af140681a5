"""The typer application: the options of `pullrank` itself, and the command that was called."""

import importlib
from typing import Annotated

import typer
from typer.exceptions import TyperException

from scripts.command_list import COMMANDS
from scripts.console import STOPPED, USAGE, CommandError


def _print_version(is_requested: bool) -> None:
    if is_requested:
        # Imported late: it takes a tenth of a second, and no other option needs it.
        import importlib.metadata

        print(f"pullrank {importlib.metadata.version('pullrank')}")
        raise typer.Exit


def _root(
    debug: Annotated[bool, typer.Option(help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A leaderboard for reinforcement-learning agents that lives in one GitHub repository."""


def build(command: str | None) -> typer.Typer:
    """The application. Imports the module of `command` only; without a command it imports none and only lists them."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(_root)
    if command not in COMMANDS:
        for name, listed in COMMANDS.items():
            app.command(name, help=listed.help)(_list_only)
        return app
    module = importlib.import_module(f"scripts.commands.{command.replace('-', '_')}")
    if isinstance(module.run, typer.Typer):
        app.add_typer(module.run, name=command, epilog=_example(command))
    else:
        app.command(command, epilog=_example(command))(module.run)
    return app


def _example(command: str) -> str:
    return f"Example: pullrank {COMMANDS[command].example}"


def _list_only() -> None:
    """Placeholder for a command in the output of `--help`; never run."""


def run(command: str | None) -> int:
    """Run the command; returns its exit code.

    Raises:
        CommandError: the command failed.
        KeyboardInterrupt: the user stopped it.
    """
    try:
        code = build(command)(standalone_mode=False, prog_name="pullrank")
        if code == STOPPED:  # typer's own answer to Ctrl-C, which it tells nobody
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except TyperException as error:
        line = error.format_message().strip().rstrip(".")
        if line:  # empty without a command: typer has printed the help
            raise CommandError(USAGE, f"{line}; 'pullrank {command} --help' says more" if command else line) from error
        return USAGE
    except typer.Abort as error:
        raise KeyboardInterrupt from error
