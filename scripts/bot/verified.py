"""A verified run: main's own workflow plays a pull request's commit because a maintainer asked for it."""

from dataclasses import replace

from scripts.bot.client import GitHub
from scripts.bot.event import SHA, Surroundings, dispatch_input
from scripts.bot.mapping import Pull
from scripts.console import USAGE, CommandError

DISPATCH = "workflow_dispatch"


def asked_pull(surroundings: Surroundings, github: GitHub, base: str) -> Pull | str:
    """The pull request that the inputs name, or why it cannot be played any more.

    Raises:
        CommandError: the inputs are no pull request and commit.
    """
    number, sha = dispatch_input(surroundings, "pull"), dispatch_input(surroundings, "sha")
    if not (number.isascii() and number.isdecimal()) or not SHA.fullmatch(sha):
        raise CommandError(USAGE, "the inputs are 'pull', a number, and 'sha', all 40 digits of a commit")
    pull = github.pull(int(number))
    if pull.state != "open" or pull.head_sha != sha or pull.base_ref != base:
        return f"#{number} is not open at that commit any more"
    return pull


def as_pull_event(surroundings: Surroundings, github: GitHub, base: str) -> Surroundings:
    """The same run with the event that a push to the pull request would have had.

    Raises:
        CommandError: the pull request is not open at that commit any more.
    """
    pull = asked_pull(surroundings, github, base)
    if isinstance(pull, str):
        raise CommandError(USAGE, f"{pull}; ask for its newest commit")
    event = {
        "number": pull.number,
        "user": {"login": pull.author, "id": pull.author_id},
        "head": {"sha": pull.head_sha, "ref": "", "repo": {"id": pull.head_repository_id or 0}},
        "base": {"sha": surroundings.sha, "ref": pull.base_ref},
    }
    return replace(surroundings, event={"pull_request": event})
