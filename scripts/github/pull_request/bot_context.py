"""What every privileged bot command works with, and how it delivers an outcome to a pull request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from evaluator.host.loading.yaml_loader import LoadError, parse_moderation
from evaluator.model.config.moderation import Moderation
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.comments.render_comment import render_comment
from leaderboard.comments.states import CommentContext
from leaderboard.core.standings import Entry
from leaderboard.preview.hypothetical_standings import RecordedResults
from scripts.console import USAGE, CommandError, say
from scripts.git.git_repository import GitRepository, full_sha
from scripts.git.main_entries import read_entries
from scripts.git.path_guard import GuardedPaths, PullAuthor, inspect_pull
from scripts.git.season_commits import checked_season_commits
from scripts.git.tree_diff import UnreadableError, fetch_head
from scripts.github.api import posts
from scripts.github.api.client import GitHub, GitHubError
from scripts.github.api.find_pull_request import PullRequest, WorkflowRun
from scripts.github.api.responses import CommitStatus
from scripts.github.pull_request.outcome import LABEL_STYLES, VERDICT_LABELS, Outcome
from scripts.github.workflow.event import WorkflowEnvironment
from scripts.github.workflow.outputs import write_summary
from scripts.repository.checkout import Checkout
from scripts.repository.layout import SUBMISSIONS

# GitHub is asked about so many of the latest commits to a folder.
COMMITS_ASKED = 5


def merged_author_ids(
    clone: GitRepository, pulls_of_commit: Callable[[str], list[PullRequest]], main: str, pull: PullRequest
) -> frozenset[int]:
    """Ids of the accounts whose merged pull requests made the author's folder on main.

    An id stays with its account when the login is given up and registered by somebody else, who thereby is not taken for the
    folder's owner. Requests stop at the first pull request of the author's own account. Empty if no pull request brought the
    folder, for example after a maintainer's push.
    """
    ids: set[int] = set()
    for sha in _folder_commits(clone, main, pull.author):
        pulls = [merged for merged in pulls_of_commit(sha) if merged.merged]
        exact = [merged for merged in pulls if merged.merge_commit_sha == sha]
        ids |= {merged.author_id for merged in exact or pulls}
        if pull.author_id in ids:
            break
    return frozenset(ids)


def _folder_commits(clone: GitRepository, main: str, login: str) -> list[str]:
    """The latest commits of main that changed a login's folder, in any spelling; newest first."""
    if not clone.run("ls-tree", "--full-tree", full_sha(main), "--", SUBMISSIONS):
        return []
    names = clone.run("ls-tree", "-z", "--name-only", "--full-tree", f"{full_sha(main)}:{SUBMISSIONS}").split(b"\0")
    spelled = [name for text in names if (name := text.decode("utf-8", "replace")).casefold() == login.casefold()]
    if not spelled:
        return []
    form = ("--first-parent", "--format=%H", f"--max-count={COMMITS_ASKED}")
    return clone.run("log", *form, full_sha(main), "--", *(f"{SUBMISSIONS}/{name}" for name in spelled)).decode().split()


STATUS_CONTEXT = "pullrank"


@dataclass(frozen=True, kw_only=True)
class BotContext:
    """One privileged step of a workflow."""

    surroundings: WorkflowEnvironment
    github: GitHub
    board: Checkout
    """Main's checkout: rules and recorded results."""
    clone: GitRepository
    """The same checkout's git objects; heads of pull requests are fetched into it as data."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    members: Mapping[str, frozenset[str]] | None = None
    """Members by organisation or team, as the plan job saw them; None without a plan."""

    def is_member(self, login: str, team: str) -> bool:
        """Whether a login is in an organisation or team, as the plan job saw it, else as our own token sees it."""
        if self.members is None:
            return self.github.is_member(login, team)
        return login.casefold() in self.members.get(team, ())

    @cached_property
    def results(self) -> list[Result]:
        """All recorded results."""
        results, damaged = self.board.recorded
        for file in damaged:
            say(f"{file.path}: is not a result ({file.reason}); it is left out")
        return results

    @cached_property
    def duels(self) -> list[Duel]:
        """All recorded duels."""
        duels, damaged = self.board.store.read_duels()
        for file in damaged:
            say(f"{file.path}: is not a duel ({file.reason}); it is left out")
        return duels

    @cached_property
    def main(self) -> str:
        """The commit of main that is checked out."""
        sha = self.clone.resolve("HEAD")
        if sha is None:
            raise CommandError(USAGE, "there is no commit here; run this in a clone of the board")
        return sha

    @cached_property
    def entries(self) -> list[Entry]:
        """The agents on main, with the baselines among the examples; without excluded ones and faulty folders."""
        entries, _ = read_entries(self.clone, self.main, self.board.challenge)
        moderation = self._moderation()
        return [entry for entry in entries if moderation.of(entry.login, entry.agent) is None]

    @cached_property
    def history(self) -> frozenset[str]:
        """The commits of main by first parents."""
        return frozenset(self.clone.first_parent(self.main))

    @cached_property
    def recorded(self) -> RecordedResults:
        """What the official leaderboard is computed from: once submissions have ended, the final draws alone."""
        challenge = self.board.challenge
        final = checked_season_commits(self.clone, self.main, challenge).final if challenge.is_final else None
        return RecordedResults(
            challenge=challenge, entries=tuple(self.entries), at=self.now,
            results=tuple(result for result in self.results if final is None or result.beacon == final.sha),
            duels=tuple(duel for duel in self.duels if final is None or duel.beacon == final.sha),
        )  # fmt: skip

    def _moderation(self) -> Moderation:
        path = self.board.root / "moderation.yml"
        try:
            return parse_moderation(path.read_bytes()) if path.exists() else Moderation()
        except LoadError as error:
            raise CommandError(USAGE, *error.lines) from error

    @property
    def repository_url(self) -> str:
        """The board's page on GitHub."""
        return f"{self.surroundings.server_url}/{self.surroundings.repository}"

    @property
    def site(self) -> str | None:
        """The address of the board's site, where GitHub Pages puts it."""
        owner, name = self.surroundings.repository.split("/")
        if self.surroundings.server_url != "https://github.com":
            return None
        host = f"{owner.lower()}.github.io"
        return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"

    def comment_context(self, pull: PullRequest, run_id: int) -> CommentContext:
        """What the text of a comment refers to."""
        return CommentContext(run_id=run_id, repository=self.repository_url, pull=pull.number, site=self.site)


def guard_pull(context: BotContext, pull: PullRequest) -> GuardedPaths:
    """What the head changes, by its path guard; the head is fetched as objects and never checked out."""
    try:
        fetch_head(context.clone, pull.head_sha)
    except UnreadableError as error:
        return GuardedPaths(agents=(), removed=(), faults=(error.reason,))
    author = PullAuthor(login=pull.author, id=pull.author_id, known_ids=_known_account_ids(context, pull))
    return inspect_pull(context.clone, context.main, pull.head_sha, author, context.board.challenge.submissions)


def _known_account_ids(context: BotContext, pull: PullRequest) -> frozenset[int]:
    """Ids of the accounts that had this login: as recorded, or before any record as merged."""
    accounts = [(result.login, result.login_id) for result in context.results]
    accounts += [(player.login, player.login_id) for duel in context.duels for player in duel.players]
    numbers = (number for login, number in accounts if login.casefold() == pull.author.casefold())
    recorded = frozenset(number for number in numbers if number is not None)
    return recorded or merged_author_ids(context.clone, context.github.pulls_of_commit, context.main, pull)


def bot_status(context: BotContext, sha: str) -> CommitStatus | None:
    """The bot's latest status of a commit; a status that another account set under our name does not count."""
    statuses = context.github.statuses(sha)
    own = (status for status in statuses if status.context == STATUS_CONTEXT and status.creator == context.surroundings.bot)
    return next(own, None)


def rerun(context: BotContext, pull: PullRequest, run: WorkflowRun) -> bool:
    """Start a run again; False if GitHub refuses, because it is under way or too old."""
    try:
        context.github.rerun(run.id)
    except GitHubError as error:
        if error.status not in (403, 404, 409):
            raise
        say(f"#{pull.number}: {error}")
        return False
    return True


def deliver_outcome(context: BotContext, pull: PullRequest, run_id: int, outcome: Outcome) -> bool:
    """Write comment, labels and status, if the pull request is still at that commit; returns whether it is.

    The step's summary gets the same text in any case.
    """
    body = render_comment(outcome.state, context.comment_context(pull, run_id))
    write_summary(context.surroundings.summary_path, body)
    if not _update_comment(context, pull, body):
        say(f"#{pull.number} has moved on or a later run has spoken; nothing was written.")
        return False
    _update_labels(context, pull, outcome)
    status = bot_status(context, pull.head_sha)
    if status is None or (status.state, status.description) != (outcome.status, outcome.words):
        address = f"{context.repository_url}/pull/{pull.number}"
        context.github.set_status(pull.head_sha, outcome.status, outcome.words, address)
    say(f"#{pull.number}: {outcome.words}")
    return True


def _update_comment(context: BotContext, pull: PullRequest, body: str) -> bool:
    def is_current() -> bool:
        now = context.github.pull(pull.number)
        return now.head_sha == pull.head_sha and now.state == "open" and now.base_ref == pull.base_ref

    if pull.author.endswith("[bot]"):  # A robot reads no comments.
        return is_current()
    return posts.upsert_comment(context.github, pull.number, body, context.surroundings.bot, is_current)


def _update_labels(context: BotContext, pull: PullRequest, outcome: Outcome) -> None:
    labels = context.github.labels(pull.number)
    for name in VERDICT_LABELS:
        if name in labels and name != outcome.label:
            context.github.remove_label(pull.number, name)
    if outcome.label is not None and outcome.label not in labels:
        context.github.ensure_labels({outcome.label: LABEL_STYLES[outcome.label]})
        context.github.add_label(pull.number, outcome.label)
