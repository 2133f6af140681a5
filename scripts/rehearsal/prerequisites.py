"""What a rehearsal needs: the repository, the token's account, the fork, and an unfinished rehearsal if there is one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.github.api.client import GitHub
from scripts.github.api.responses import GitHubAccount, PullRequest
from scripts.github.doctor.actions_checks import check_actions, inactive_workflows
from scripts.github.doctor.repository_checks import check_access, check_default_branch, check_identity
from scripts.github.doctor.setting_findings import SettingState
from scripts.rehearsal.rehearsal_observations import printable
from scripts.rehearsal.working_copy import REHEARSAL_BRANCH

# How many of the newest pull requests are searched for an unfinished rehearsal.
SEARCHED_PULLS = 300
NEEDED_WORKFLOWS = ("preview", "report", "official")
FINISHED = "<!-- pullrank:rehearsal finished -->"
ConnectRepository = Callable[[str], GitHub]


@dataclass(frozen=True, kw_only=True)
class PushTarget:
    """A repository that commits are pushed to."""

    name: str
    """owner/name."""
    id: int
    url: str
    branch: str


def check_repository(github: GitHub, named: str) -> dict[str, Any]:
    """GitHub's description of the repository, if a rehearsal can begin.

    Raises:
        CommandError: a setting is wrong; the message says which, where it is and what to do.
    """
    about = github.setting("")
    for check in (check_access, check_identity(named), check_default_branch, check_actions):
        finding = check(github)
        if finding.state is not SettingState.GOOD:
            page = finding.page_address(named)
            raise CommandError(SUBMISSION_AT_FAULT, f"{finding.name}: {finding.message} {page} {finding.click}")
    off, _ = inactive_workflows(github, NEEDED_WORKFLOWS)
    if off:
        page = f"https://github.com/{named}/actions"
        raise CommandError(
            SUBMISSION_AT_FAULT, f"Workflows: not active: {', '.join(off)}. {page} Enable workflow, or push its file"
        )
    return dict(about)


def parse_push_target(about: dict[str, Any]) -> PushTarget:
    """A repository to push to, from GitHub's description of it."""
    return PushTarget(
        name=str(about["full_name"]), id=int(about["id"]), url=str(about["clone_url"]),
        branch=str(about["default_branch"]),
    )  # fmt: skip


def find_fork(connect: ConnectRepository, fork: str, ours: PushTarget) -> PushTarget:
    """The fork that the pull request comes from. `fork`: LOGIN or LOGIN/NAME.

    Raises:
        CommandError: it does not exist, is no fork of this repository, or the token may not write to it.
    """
    name = fork if "/" in fork else f"{fork}/{ours.name.partition('/')[2]}"
    about = connect(name).setting("")
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
    return parse_push_target(about)


@dataclass(frozen=True, kw_only=True)
class UnfinishedRehearsal:
    """A rehearsal that an earlier call left unfinished."""

    pull: PullRequest
    """The pull request that enters the agent: open or merged."""
    agent: str
    withdrawal: PullRequest | None
    """The pull request that withdraws it, open or merged."""


def find_unfinished(github: GitHub, account: GitHubAccount, pulls: list[PullRequest]) -> UnfinishedRehearsal | None:
    """The newest rehearsal of this account, unless it is finished or closed. Pull requests of others are ignored."""
    ours = [
        (pull, match)
        for pull in pulls
        if pull.author_id == account.id and (match := REHEARSAL_BRANCH.fullmatch(pull.head_branch))
    ]
    entering = [(pull, match) for pull, match in ours if not match[3]]
    if not entering:
        return None
    pull, match = max(entering, key=lambda pair: pair[0].number)
    if not pull.merged and pull.state == "closed":
        return None
    comments = github.comments(pull.number) if pull.merged else []
    if any(comment.author == account.login and comment.body.startswith(FINISHED) for comment in comments):
        return None
    branch = f"{match[0]}-withdraw"
    withdrawals = [each for each, _ in ours if each.head_branch == branch and (each.merged or each.state == "open")]
    withdrawal = max(withdrawals, key=lambda each: each.number, default=None)
    return UnfinishedRehearsal(pull=pull, agent=match[1], withdrawal=withdrawal)


def token_account(github: GitHub) -> GitHubAccount:
    """The account of the token.

    Raises:
        CommandError: the token belongs to no person.
    """
    try:
        return github.account()
    except CommandError as error:
        line = f"the token belongs to no person, so it cannot open the pull request: {error}; use GH_TOKEN=$(gh auth token)"
        raise CommandError(USAGE if getattr(error, "status", 0) in (401, 403) else OUR_FAULT, line) from error
