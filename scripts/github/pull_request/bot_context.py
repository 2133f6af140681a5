"""What every privileged bot command works with: the event, GitHub, the checkout, and what is recorded."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.build_standings import RecordedLeaderboard
from leaderboard.comments.comment_states import CommentContext
from leaderboard.core.eligibility import without_quarantined
from leaderboard.core.entry import Entry
from leaderboard.planning.admission_rules import authors_by_owner, tasks_by_name
from scripts.console import USAGE, CommandError
from scripts.git.beacons import VersionOrigins, known_origins
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import KnownFolders, read_entries
from scripts.git.season_commits import FinalEntries, entries_at_the_end, season_commits
from scripts.github.api.client import GitHub
from scripts.github.api.responses import PullRequest
from scripts.github.workflow.event import WorkflowEnvironment, open_clone, open_github
from scripts.repository.checkout import Checkout, open_checkout, say_damaged
from scripts.standings.recorded_standings import erased_entries, with_stay_beacons


@dataclass(frozen=True, kw_only=True)
class BotContext:
    """One privileged step of a workflow."""

    workflow: WorkflowEnvironment
    github: GitHub
    checkout: Checkout
    """Main's checkout: rules and recorded results."""
    clone: GitRepository
    """The same checkout's git objects; heads of pull requests are fetched into it as data."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    known_folders: KnownFolders = field(default_factory=dict)
    """Agents' folders that were read at some commit."""
    members: Mapping[str, frozenset[str]] | None = None
    """Members by organisation or team, as the plan job saw them; None without a plan."""
    asked: dict[tuple[str, str], bool] = field(default_factory=dict)
    """What GitHub said of logins and teams: hundreds of pull requests may be of one login."""
    merged_by: dict[str, tuple[PullRequest, ...]] = field(default_factory=dict)
    """The merged pull requests of commits of main that GitHub was asked about."""

    def is_member(self, login: str, team: str) -> bool:
        """Whether a login is in an organisation or team, as the plan job saw it, else as our own token sees it."""
        if self.members is not None:
            return login.casefold() in self.members.get(team, ())
        asked = login.casefold(), team
        if asked not in self.asked:
            self.asked[asked] = self.github.is_member(login, team)
        return self.asked[asked]

    def merged_pulls_of(self, sha: str) -> tuple[PullRequest, ...]:
        """The merged pull requests of a commit of main."""
        if sha not in self.merged_by:
            self.merged_by[sha] = tuple(merged for merged in self.github.pulls_of_commit(sha) if merged.merged)
        return self.merged_by[sha]

    @cached_property
    def results(self) -> list[Result]:
        """All recorded results that are not in quarantine."""
        say_damaged("result", self.checkout.recorded[1])
        return without_quarantined(self.checkout.recorded[0], self.checkout.moderation)

    @cached_property
    def duels(self) -> list[Duel]:
        """All recorded duels that are not in quarantine."""
        say_damaged("duel", self.checkout.recorded_duels[1])
        return self.checkout.duels

    @property
    def records(self) -> list[Result | Duel]:
        """Results and duels together."""
        return [*self.results, *self.duels]

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
        entries, _ = read_entries(self.clone, self.main, self.checkout.challenge, self.known_folders)
        return self._not_excluded(entries)

    @cached_property
    def final(self) -> FinalEntries | None:
        """The versions that stood when submissions ended, without excluded ones; None while they have not ended."""
        final = entries_at_the_end(self.clone, self.main, self.checkout) if self.checkout.has_ended else None
        return replace(final, entries=tuple(self._not_excluded(final.entries))) if final else None

    @cached_property
    def late_commits(self) -> frozenset[str]:
        """The commits of main after the one that ended submissions."""
        commits = self.clone.first_parent(self.main)
        return frozenset(commits[: commits.index(self.final.sha)] if self.final else ())

    def _not_excluded(self, entries: Iterable[Entry]) -> list[Entry]:
        moderation = self.checkout.moderation
        taking_part = [entry for entry in entries if moderation.exclusion_of(*entry.version) is None]
        return list(self.checkout.with_quarantines(taking_part))

    @cached_property
    def parents(self) -> dict[str, str | None]:
        """The commits of main by first parents, each with its first parent; None for the first."""
        commits = self.clone.first_parent(self.main)
        return dict(zip(commits, (*commits[1:], None), strict=True))

    @cached_property
    def recorded(self) -> RecordedLeaderboard:
        """What the official leaderboard is computed from: once submissions have ended, with the versions that stood then."""
        final = self.final
        entries = final.entries if final else with_stay_beacons(self.clone, self.main, self.checkout.challenge, self.entries)
        return RecordedLeaderboard(
            challenge=self.checkout.challenge, entries=tuple(entries), at=self.now,
            results=tuple(self.results), duels=tuple(self.duels), every_record=tuple(self.checkout.every_record),
            final=final.draws if final else None, erased=tuple(erased_entries(self.checkout.moderation)),
        )  # fmt: skip

    @cached_property
    def origins(self) -> VersionOrigins:
        """Where the versions of the official leaderboard come from; all files of all agents are read for that."""
        challenge, entries = self.checkout.challenge, self.recorded.entries
        digests = {entry.spelled_name: entry.digest for entry in entries}
        tasks, authors = tasks_by_name(challenge, entries), authors_by_owner(challenge, entries)
        since = season_commits(self.clone, self.main, challenge.season).began
        return known_origins(self.clone, self.final.sha if self.final else self.main, digests, tasks, since, authors)

    @property
    def repository_url(self) -> str:
        """The board's page on GitHub."""
        return f"{self.workflow.server_url}/{self.workflow.repository}"

    @property
    def site(self) -> str | None:
        """The address of the board's site, where GitHub Pages puts it."""
        owner, name = self.workflow.repository.split("/")
        if self.workflow.server_url != "https://github.com":
            return None
        host = f"{owner.lower()}.github.io"
        return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"

    def comment_context(self, run_id: int | None = None) -> CommentContext:
        """What the text of a comment refers to; the run is this one if left out."""
        run_id = self.workflow.run_id if run_id is None else run_id
        return CommentContext(run_id=run_id, repository=self.repository_url, site=self.site)


def open_context(workflow: WorkflowEnvironment) -> BotContext:
    """The context of a step.

    Raises:
        CommandError: the step has no token, or its workspace is no checkout.
    """
    checkout = open_checkout(workflow.workspace.resolve())
    return BotContext(workflow=workflow, github=open_github(workflow), checkout=checkout, clone=open_clone(workflow))
