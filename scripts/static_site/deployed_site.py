"""What the deployed site was built from, so that it is built again only when something of that has changed."""

from datetime import datetime

from pydantic import Field

from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.config.challenge import Challenge
from evaluator.model.identifiers import CommitSha
from evaluator.model.validation_messages import error_in_words
from leaderboard.pages.home_page import season_end
from leaderboard.text.phases import shown_phases
from leaderboard.visibility import hidden_tasks, is_anonymous
from scripts.console import OUR_FAULT, CommandError
from scripts.git.data_branches import read_note, replace_note, results_commit
from scripts.git.git_repository import GitRepository

DEPLOYED_BRANCH = "deployed"


class SiteInputs(Frozen):
    """All that a site is built from: the same values give the same site."""

    form: int = Field(default=1, ge=1, le=1)
    """Version of this format."""
    main: CommitSha
    """The commit of main: agents, rules, pages, and the software."""
    results: CommitSha | None
    """The commit of the results branch; null before the first one."""
    address: str = Field(max_length=2000)
    """The variable PULLRANK_SITE_URL; empty where it is not set."""
    dated: tuple[str, ...] = Field(max_length=10_000)
    """What changes with time alone: states of phases, and what is hidden."""


def current_site_inputs(clone: GitRepository, challenge: Challenge, address: str, now: datetime) -> SiteInputs:
    """What a site would be built from now. Call it before reading any of it: what comes later then counts as new.

    Raises:
        CommandError: the clone has no commit.
    """
    main = clone.resolve("HEAD")
    if main is None:
        raise CommandError(OUR_FAULT, "there is no commit here; run this in a clone of the board")
    return SiteInputs(
        main=main, results=results_commit(clone) or None, address=address, dated=time_dependent_state(challenge, now)
    )


def parse_built(text: str) -> SiteInputs:
    """Read what the job that built the site wrote.

    Raises:
        CommandError: the text has another form.
    """
    try:
        return SiteInputs.model_validate(canonical_json.parse_strict(text.encode()))
    except ValueError as error:
        raise CommandError(
            OUR_FAULT, f"--built is not what 'pullrank bot built' hands on ({error_in_words(error)})"
        ) from error


def read_deployed(clone: GitRepository) -> SiteInputs | None:
    """What the deployed site was built from; None where nothing was deployed or the note cannot be read."""
    return read_note(clone, DEPLOYED_BRANCH, SiteInputs, "the site is built anew")


def note_deployed(clone: GitRepository, built: SiteInputs, now: datetime) -> None:
    """Replace the note of what the deployed site was built from.

    Raises:
        GitError: the remote refuses.
    """
    replace_note(clone, DEPLOYED_BRANCH, built, "deploy: what the site was built from", now)


def time_dependent_state(challenge: Challenge, now: datetime) -> tuple[str, ...]:
    """What pages show or hide depending on the time; equal at two moments between which none of it changes.

    The time of the build is not part of it.
    """
    states = (
        f"{shown.phase.id}: {shown.state}, hidden until {shown.hidden_until}" for shown in shown_phases(challenge, now)
    )
    left_out = (f"hidden: {task.id}" for task in hidden_tasks(challenge, now))
    return (season_end(challenge, now), *states, *left_out, f"anonymous: {is_anonymous(challenge, now)}")
