"""`pullrank completion SHELL`: a script that completes commands and folders; it starts no Python while somebody types."""

from typing import Annotated

import typer

from scripts.command_list import COMMANDS
from scripts.console import OK, USAGE, CommandError

_BASH = """\
_pullrank() {{
    if [ "$COMP_CWORD" = 1 ]; then
        COMPREPLY=($(compgen -W "{words} --help --version" -- "${{COMP_WORDS[1]}}"))
    else
        COMPREPLY=($(compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"))
    fi
}}
complete -o filenames -F _pullrank pullrank
"""
_FISH = """\
complete -c pullrank -n __fish_use_subcommand -f -a "{words}"
"""
SCRIPTS = {"bash": _BASH, "zsh": "autoload -U +X bashcompinit && bashcompinit\n" + _BASH, "fish": _FISH}


def run(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.", metavar="SHELL")]) -> int:
    """Print a script that completes commands and folders in a shell: bash, zsh or fish."""
    if shell not in SCRIPTS:
        raise CommandError(USAGE, f"there is no completion for {shell!r}; the shells are {', '.join(SCRIPTS)}")
    print(SCRIPTS[shell].format(words=" ".join(COMMANDS)), end="")
    return OK
