"""What a rehearsal stands on: the repository, who asks, the fork, and what an earlier call left unfinished."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.github.api.client import GitHub
from scripts.github.api.find_pull_request import PullRequest
from scripts.github.api.responses import GitHubAccount
from scripts.github.doctor.checks import SettingState
from scripts.github.doctor.repository_settings import access, actions, default_branch, identity, inactive
from scripts.rehearsal.observations import printable
from scripts.rehearsal.working_copy import BRANCH

# So many of the latest pull requests are looked through for an unfinished rehearsal.
LOOKED_AT = 300
NEEDED = ("preview", "report", "official")
FINISHED = "<!-- pullrank:rehearsal finished -->"
ReachFork = Callable[[str], GitHub]


@dataclass(frozen=True, kw_only=True)
class RehearsalPlace:
    """A repository that commits are pushed to."""

    name: str
    """owner/name."""
    id: int
    url: str
    branch: str
    """Its default branch."""


def checked_repository(github: GitHub, named: str) -> dict[str, Any]:
    """What GitHub says of the repository, once nothing keeps a rehearsal from beginning.

    Raises:
        CommandError: something does: what, where it is set, and what to do.
    """
    about = github.setting("")
    for check in (access, identity(named), default_branch, actions):
        finding = check(github)
        if finding.state is not SettingState.GOOD:
            page = finding.page if finding.page.startswith("https://") else f"https://github.com/{named}/{finding.page}"
            raise CommandError(SUBMISSION_AT_FAULT, f"{finding.name}: {finding.said} {page} {finding.click}")
    if off := inactive(github, NEEDED):
        page = f"https://github.com/{named}/actions"
        raise CommandError(
            SUBMISSION_AT_FAULT, f"Workflows: not active: {', '.join(off)}. {page} Enable workflow, or push its file"
        )
    return dict(about)


def place(about: dict[str, Any]) -> RehearsalPlace:
    """Where a repository lies, from GitHub's answer."""
    return RehearsalPlace(
        name=str(about["full_name"]), id=int(about["id"]), url=str(about["clone_url"]),
        branch=str(about["default_branch"]),
    )  # fmt: skip


def fork(reach: ReachFork, wanted: str, ours: RehearsalPlace) -> RehearsalPlace:
    """The fork that the pull request is to come from. `wanted`: LOGIN or LOGIN/NAME.

    Raises:
        CommandError: it is not there, is no fork of this repository, or the token may not write to it.
    """
    name = wanted if "/" in wanted else f"{wanted}/{ours.name.partition('/')[2]}"
    about = reach(name).setting("")
    if not about:
        line = f"there is no fork {printable(name)}, or the token may not see it"
        raise CommandError(USAGE, f"{line}; fork the repository there, or leave --fork out")
    origins = {int((about.get(key) or {}).get("id", 0)) for key in ("parent", "source")}
    if not about.get("fork") or ours.id not in origins:
        raise CommandError(USAGE, f"{printable(name)} is no fork of {ours.name}")
    if not (about.get("permissions") or {}).get("push"):
        raise CommandError(
            USAGE, f"the token may not write to the fork {printable(name)}; use one that may, or leave --fork out"
        )
    return place(about)


@dataclass(frozen=True, kw_only=True)
class UnfinishedRehearsal:
    """What an earlier call left unfinished."""

    pull: PullRequest
    """The pull request that enters the agent: open or merged."""
    agent: str
    withdrawal: PullRequest | None
    """The pull request that withdraws it, open or merged."""


def unfinished(github: GitHub, account: GitHubAccount, pulls: list[PullRequest]) -> UnfinishedRehearsal | None:
    """The latest rehearsal of this account, unless it came to its end or was closed. Nobody else's pull request counts."""
    own = [(pull, match) for pull in pulls if pull.author_id == account.id and (match := BRANCH.fullmatch(pull.head_branch))]
    entering = [(pull, match) for pull, match in own if not match[3]]
    if not entering:
        return None
    pull, match = max(entering, key=lambda pair: pair[0].number)
    if not pull.merged and pull.state == "closed":
        return None
    if pull.merged and any(
        one.author == account.login and one.body.startswith(FINISHED) for one in github.comments(pull.number)
    ):
        return None
    back = [one for one, _ in own if one.head_branch == f"{match[0]}-withdraw" and (one.merged or one.state == "open")]
    return UnfinishedRehearsal(pull=pull, agent=match[1], withdrawal=max(back, key=lambda one: one.number, default=None))


def account_of(github: GitHub) -> GitHubAccount:
    """Whose token it is.

    Raises:
        CommandError: nobody's.
    """
    try:
        return github.account()
    except CommandError as error:
        line = (
            f"the token is no person's, so that nobody could open the pull request: {error}; use GH_TOKEN=$(gh auth token)"
        )
        raise CommandError(USAGE if getattr(error, "status", 0) in (401, 403) else OUR_FAULT, line) from error
