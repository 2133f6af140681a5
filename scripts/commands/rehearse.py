"""`pullrank rehearse`: tests the whole way of a submission, from pull request to site, on the real repository."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from evaluator.model.identifiers import AGENT_RULE, NEW_AGENT
from scripts.console import USAGE, CommandError, say
from scripts.options import GITHUB_API, AdministratorToken, ApiAddress
from scripts.rehearsal.rehearsal import RehearsalRequest, StepClock, StepRunner, rehearse
from scripts.repository.checkout import open_checkout
from scripts.repository.layout import REPOSITORY_NAME, repository_name


def run(
    fork: Annotated[
        str | None, typer.Option(help="LOGIN, or LOGIN/NAME, of a fork that your token may write to.", metavar="LOGIN")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Merge without asking.")] = False,
    withdraw: Annotated[
        bool,
        typer.Option(
            "--withdraw", help="Give up: close the pull request, or withdraw the agent, without waiting for workflows."
        ),
    ] = False,
    agent: Annotated[str, typer.Option(help="The agent's folder.")] = "rehearsal",
    task: Annotated[
        str | None, typer.Option(help="The task to enter; the default is the first that is played alone.")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(help="Time limit in minutes for each step, instead of the defaults.", min=0)
    ] = None,
    token: AdministratorToken = "",
    api: ApiAddress = GITHUB_API,
) -> int:
    """Enter an agent on GitHub, check that each step works, and withdraw it; asks before it merges."""
    checkout = open_checkout(Path.cwd())
    challenge = checkout.challenge
    if checkout.has_ended:
        raise CommandError(USAGE, f"submissions of season {challenge.season} have ended; rehearse when the next one begins")
    name = repository_name(challenge.repository)
    if not REPOSITORY_NAME.fullmatch(name):
        raise CommandError(USAGE, "challenge.yml names no 'repository'; run 'pullrank init', then push")
    if fork is not None and not REPOSITORY_NAME.fullmatch(fork if "/" in fork else f"{fork}/name"):
        raise CommandError(USAGE, "--fork is neither LOGIN nor LOGIN/NAME")
    if not NEW_AGENT.fullmatch(agent):
        raise CommandError(USAGE, f"--agent is {AGENT_RULE}, and no file's name")
    if not token:
        raise CommandError(USAGE, "rehearse needs an administrator's token: GH_TOKEN=$(gh auth token) pullrank rehearse")
    if not (yes or withdraw or sys.stdin.isatty()):
        raise CommandError(USAGE, "rehearse asks before it merges, and there is no terminal to answer on; pass --yes")
    steps = StepRunner(clock=StepClock(), say=say, minutes=minutes)
    request = RehearsalRequest(
        agent=agent, fork=fork, task=task, name=name, token=token, api=api,
        confirm=(lambda question: True) if yes else typer.confirm,
    )  # fmt: skip
    return rehearse(request, steps, gives_up=withdraw)
