"""The typer application: the options of `pullrank` itself, and the command that was called."""

import importlib
import re
from pathlib import Path
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
        for name in COMMANDS:
            app.command(name, help=_help_line(name))(_list_only)
        return app
    module = importlib.import_module(f"scripts.commands.{command.replace('-', '_')}")
    example = f"Example: pullrank {COMMANDS[command]}"
    if isinstance(module.run, typer.Typer):
        app.add_typer(module.run, name=command, epilog=example)
    else:
        app.command(command, epilog=example)(module.run)
    return app


# In the source of a command: the first line of its function's docstring, or of its group's help.
_HELP_LINE = re.compile(
    r'^(?:def run\(.*?\) -> int:\n    """|run = typer\.Typer\(help=")([^"\n]+)', re.MULTILINE | re.DOTALL
)


def _help_line(command: str) -> str:
    """The first line of a command's own help, read from its source: to import all commands takes a second."""
    source = Path(__file__).parent / "commands" / f"{command.replace('-', '_')}.py"
    line = _HELP_LINE.search(source.read_text(encoding="utf-8"))
    assert line is not None
    return line[1]


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
