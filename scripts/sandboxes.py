"""The sandbox that an option asks for."""

import os

from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.sandboxes.select import Chosen, choose
from scripts.console import OUR_FAULT, USAGE, CommandError, say
from scripts.progress import people
from scripts.repository.checkout import base_image


def choose_sandbox(sandbox: str) -> Chosen:
    """Choose the sandbox, building its image if need be, and say what a person should know of it.

    Raises:
        CommandError: there is no such sandbox, or it is not to be had here.
    """
    if sandbox not in ("auto", "docker", "gvisor", "process"):
        raise CommandError(USAGE, f"--sandbox {sandbox!r} is unknown; it is auto, docker, gvisor or process")
    with people().status("Preparing the sandbox …") as status:
        try:
            chosen = choose(sandbox, base_image(os.environ), lambda line: status.update(f"Building the image: {line[:80]}"))
        except EngineError as error:
            raise CommandError(OUR_FAULT, str(error)) from error
    if chosen.notice:
        say(f"Note: {chosen.notice}")
    return chosen
