"""`pullrank gvisor`: checks or installs gVisor, if challenge.yml evaluates in it."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from scripts.console import OK, OUR_FAULT, CommandError, say
from scripts.repository.checkout import open_checkout
from scripts.runs.install_gvisor import RUNSC_VERSION, InstallPaths, install_gvisor


def run(
    install: Annotated[
        bool, typer.Option("--install", help="Install the pinned runsc where it is missing; changes this machine's engine.")
    ] = False,
    always: Annotated[bool, typer.Option("--always", help="Also if challenge.yml evaluates in docker.")] = False,
) -> int:
    """Check that the engine has gVisor, if challenge.yml evaluates in it; exit code 3 if it does not."""
    if not always and open_checkout(Path.cwd()).challenge.runners.sandbox != "gvisor":
        say("challenge.yml evaluates in docker; gVisor is not needed.")
        return OK
    try:
        engine = Engine()
        fault = engine.gvisor_fault()
        if fault and install:
            install_gvisor(InstallPaths(), engine.gvisor_fault)
            say(f"gVisor is installed: runsc {RUNSC_VERSION}.")
            return OK
    except EngineError as error:
        raise CommandError(OUR_FAULT, str(error)) from error
    if fault:
        raise CommandError(
            OUR_FAULT, f"{fault}; 'pullrank gvisor --install' installs it, and nothing is evaluated without it"
        )
    say("gVisor is here, and filters system calls.")
    return OK
