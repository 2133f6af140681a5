"""The command line as typer sees it: the root's options, and the verb that was asked for."""

import importlib
from typing import Annotated

import typer
from typer.exceptions import TyperException

from scripts.console import USAGE, say
from scripts.verbs import VERBS


def _print_version(is_asked: bool) -> None:
    if is_asked:
        # Parses mail headers, and so imports a tenth of a second's worth that nothing else asks for.
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


def build(verb: str | None) -> typer.Typer:
    """The command; with a verb only that one is imported, without one none is."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
    app.callback()(_root)
    if verb not in VERBS:
        for name, each in VERBS.items():
            app.command(name, help=each.help)(_only_listed)
        return app
    module = importlib.import_module(f"scripts.commands.{verb.replace('-', '_')}")
    if isinstance(module.run, typer.Typer):
        app.add_typer(module.run, name=verb)
    else:
        app.command(verb)(module.run)
    return app


def _only_listed() -> None:
    """Stands for a verb in the list of all of them, which runs none."""


def run(verb: str | None) -> int:
    """Run the command; returns its exit code.

    Raises:
        CommandError: the verb says why it ended.
        KeyboardInterrupt: it was stopped.
    """
    try:
        code = build(verb)(standalone_mode=False, prog_name="pullrank")
        return code if isinstance(code, int) else 0
    except TyperException as error:
        line = error.format_message().strip().rstrip(".")
        if line:  # without a verb there is nothing to say: typer has printed the help
            say(f"{line}; 'pullrank {verb} --help' says more" if verb else line)
        return USAGE
    except typer.Abort as error:
        raise KeyboardInterrupt from error
