"""What a pull request is told: the comment's state, one label, the commit's status, and lines on the season's rules.

ARCHITECTURE.md has statuses and labels as a picture, which a change here has to follow.
"""

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from evaluator.model.config.challenge import Challenge
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.states import (
    Broken,
    CommentState,
    NoRun,
    NoRunReason,
    Previewed,
    Refused,
    Running,
    WithdrawnEntry,
)
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import is_participant
from leaderboard.official_leaderboard import OfficialLeaderboard
from leaderboard.planning.admission import phase_refusal, refusals
from leaderboard.planning.missing import INTERNAL_ERROR_TRIES
from leaderboard.planning.quota import OwnerAccounts
from leaderboard.planning.refusal_reasons import PhaseRefusalKind, QuotaExhausted, Reason, SubmissionsEnded, reason_in_words
from leaderboard.text.format import format_utc
from scripts.git.beacon import VersionOrigins, admission_at
from scripts.git.path_guard import GuardedPaths
from scripts.github.api.responses import PullRequest, WorkflowRun
from scripts.github.workflow.plan_context import MembershipLookup, members_of

OK_LABEL, CHANGES_LABEL, REVIEW_LABEL, OFFICIAL_LABEL = "preview-ok", "needs-changes", "needs-review", "official"
VERDICT_LABELS = (OK_LABEL, CHANGES_LABEL, REVIEW_LABEL)
LABEL_STYLES = {
    OK_LABEL: ("1a7f37", "The preview scored everything; a maintainer may merge"),
    CHANGES_LABEL: ("d1242f", "The author has to change something; the bot's comment says what"),
    REVIEW_LABEL: ("bf8700", "A maintainer has to look; the bot's comment says why"),
    OFFICIAL_LABEL: ("0969da", "Merged, and its official results are recorded"),
}
# A comment on a pull request is written with a token that sees the public members of organisations and nothing else.
MEMBERSHIP_UNKNOWN = (
    "not seen: phase '{phase}' is for the members of {teams}; this comment can see public membership of an organisation "
    "only, and sees none of {login}. The official run asks again; whoever is a member has nothing to do"
)


@enum.unique
class StatusState(enum.StrEnum):
    """GitHub's states of a commit status. The first two are final; `reconcile` looks at the others again."""

    SUCCESS = "success"
    FAILURE = "failure"
    PENDING = "pending"
    ERROR = "error"


FINAL_STATES = (StatusState.SUCCESS, StatusState.FAILURE)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The comment, label and status for one commit."""

    state: CommentState
    status: StatusState
    words: str
    label: str | None = None
    """The only label of ours that the pull request keeps."""
    ours: bool = False
    """Whether it failed on our side, so that another try is due."""

    @property
    def is_of_commit(self) -> bool:
        """Whether it says something of the commit, rather than of who proposes it or of how far we are."""
        is_refused = isinstance(self.state, Refused) and bool(self.state.outside)
        return self.status in FINAL_STATES and not is_refused


def running_outcome(run: WorkflowRun) -> Outcome:
    """The preview has begun."""
    state = Running(head_sha=run.head_sha, run_url=run.html_url)
    return Outcome(state=state, status=StatusState.PENDING, words="the preview is being played")


def refused_outcome(pull: PullRequest, guarded: GuardedPaths, run_url: str | None = None) -> Outcome:
    """The commit changes what it must not change: its run's scores are not trusted."""
    state = Refused(head_sha=pull.head_sha, outside=guarded.outside, faults=guarded.faults, run_url=run_url)
    if guarded.outside:
        words = "no score: it changes files outside the author's folder, so a maintainer has to look"
        return Outcome(state=state, status=StatusState.FAILURE, words=words, label=REVIEW_LABEL)
    words = "no score: the folder breaks a rule; the comment says which"
    return Outcome(state=state, status=StatusState.FAILURE, words=words, label=CHANGES_LABEL)


def no_agent_outcome(pull: PullRequest, guarded: GuardedPaths) -> Outcome:
    """The commit brings no agent: it withdraws some, or changes nothing of the board."""
    if not guarded.removed:
        return no_run_outcome(pull, NoRunReason.NOTHING)
    state = WithdrawnEntry(agents=guarded.withdrawn, merged=False, head_sha=pull.head_sha)
    return Outcome(state=state, status=StatusState.SUCCESS, words="withdraws an agent of its author", label=REVIEW_LABEL)


_NO_RUN_STATUS: dict[NoRunReason, tuple[StatusState, str, str | None]] = {
    NoRunReason.CONFLICT: (
        StatusState.ERROR, "not played: it conflicts with main; merge main into the branch", CHANGES_LABEL,
    ),
    NoRunReason.WAITING: (
        StatusState.PENDING, "not played yet: a maintainer has to approve the run", REVIEW_LABEL,
    ),
    NoRunReason.NOTHING: (StatusState.SUCCESS, "touches no agent, so there is nothing to score", None),
    NoRunReason.NO_RUN: (StatusState.ERROR, "not played: GitHub started no run; push again", None),
}  # fmt: skip


def no_run_outcome(pull: PullRequest, reason: NoRunReason, run_url: str | None = None) -> Outcome:
    """Nothing was played."""
    status, words, label = _NO_RUN_STATUS[reason]
    state = NoRun(head_sha=pull.head_sha, reason=reason, run_url=run_url)
    return Outcome(state=state, status=status, words=words, label=label)


def broken_outcome(run: WorkflowRun, reason: str, tried: int) -> Outcome:
    """The preview failed on our side."""
    again = tried < INTERNAL_ERROR_TRIES
    state = Broken(head_sha=run.head_sha, reason=reason, tried=tried, again=again, run_url=run.html_url)
    words = "failed on our side; it is tried again" if again else "failed on our side; the maintainers were told"
    return Outcome(state=state, status=StatusState.ERROR, words=words, ours=True)


def previewed_outcome(state: Previewed) -> Outcome:
    """The preview ended."""
    verdicts = [row.result.verdict for agent in state.agents for row in agent.rows]
    games = [game for agent in state.agents for game in agent.games]
    if Verdict.INTERNAL_ERROR in verdicts or any(game.failed for game in games):
        return Outcome(
            state=state, status=StatusState.ERROR, words="a part failed on our side; it is tried again", ours=True
        )
    total = len(verdicts) + len(games)
    rows = [row for agent in state.agents for row in agent.rows]
    failed = sum(row.result.verdict is not Verdict.OK or row.failed_before is not None for row in rows)
    failed += sum(game.refusal is not None for game in games)
    if failed or any(agent.faults for agent in state.agents) or not total:
        words = f"{failed} of {total} evaluations failed; the comment says why" if failed else "no score: mend the faults"
        return Outcome(state=state, status=StatusState.FAILURE, words=words, label=CHANGES_LABEL)
    words = f"preview: {total} of {total} evaluations scored; unofficial until merged"
    return Outcome(state=state, status=StatusState.SUCCESS, words=words, label=OK_LABEL)


def is_retry_worthwhile(outcome: Outcome) -> bool:
    """Whether another run of the same commit may have another outcome."""
    if isinstance(outcome.state, Previewed):
        rows = [row for agent in outcome.state.agents for row in agent.rows]
        return outcome.ours or any(row.result.verdict.is_retryable for row in rows)
    return outcome.ours


def rules_before_merge(
    recorded: OfficialLeaderboard, logins: Iterable[str], now: datetime, lookup: MembershipLookup
) -> tuple[str, ...]:
    """What merging now would mean: phases that one may not enter, bans, what is left of quotas, what is hidden."""
    challenge, lines = recorded.challenge, list[str]()
    if challenge.is_final:
        lines.append(reason_in_words(SubmissionsEnded(challenge.season)))
    participants = sorted({login.casefold() for login in logins if not challenge.people.is_host(login)})
    members = members_of(challenge, participants, lookup)
    for login in participants:
        if ban := challenge.people.ban_of(login):
            lines.append(f"{login} may not take part: {ban.why}; nothing of it is evaluated")
        for phase in challenge.phases:
            refusal = phase_refusal(phase, login, now, members)
            if refusal and refusal.kind is PhaseRefusalKind.NOT_ALLOWED:
                unseen = MEMBERSHIP_UNKNOWN.format(phase=phase.id, teams=", ".join(phase.teams), login=login)
                lines.append(unseen if phase.teams else reason_in_words(refusal))
    return (*lines, *_quotas(recorded, participants, now, waits=True), *hidden_until(challenge, now))


def _quotas(recorded: OfficialLeaderboard, logins: Sequence[str], now: datetime, *, waits: bool) -> Iterator[str]:
    challenge = recorded.challenge
    accounts = OwnerAccounts(challenge, recorded.entries, recorded.results, recorded.duels)
    tasks = [task.id for task in challenge.tasks]
    for login in logins:
        for account in accounts.of(login, tasks):
            full = account.exhausted(now) if waits else None
            yield f"{reason_in_words(full)}; a new version merged now waits until then" if full else account.remaining(now)


def hidden_until(challenge: Challenge, now: datetime) -> Iterator[str]:
    """The phases whose boards are not shown yet."""
    for phase in challenge.phases:
        if phase.public_from and not phase.is_shown(now):
            until = format_utc(phase.public_from)
            yield f"the boards of phase '{phase.id}' are hidden until {until}; official scores are told then"


def rules_after_merge(
    recorded: OfficialLeaderboard,
    origins: VersionOrigins,
    agents: Sequence[AgentName],
    now: datetime,
    lookup: MembershipLookup,
) -> tuple[dict[tuple[AgentName, str], Reason], tuple[str, ...]]:
    """Of merged agents: why each agent and task is held back, and what is left of quotas."""
    challenge = recorded.challenge
    names = {AgentName.folded(*name) for name in agents}
    mine = [entry for entry in recorded.entries if entry.name in names and is_participant(challenge.people, entry)]
    if not mine:
        return {}, tuple(hidden_until(challenge, now))
    members = members_of(challenge, [entry.login for entry in mine], lookup)
    gate = admission_at(now, origins, members)
    refused = refusals(challenge, recorded.entries, gate)
    accounts = OwnerAccounts(challenge, recorded.entries, recorded.results, recorded.duels)
    held: dict[tuple[AgentName, str], Reason] = {}
    for entry in mine:
        for task in challenge.tasks:
            if entry.submission.plays(task):
                periods = origins.tasks.get((entry.spelled_name, task.id))
                beacon = challenge.sealed_beacon or (periods[-1].sha if periods else "")
                reason = refused.get((entry.name, task.id)) or _waits(accounts, entry, task.id, beacon, now)
                if reason:
                    held[entry.name, task.id] = reason
    logins = sorted({entry.login.casefold() for entry in mine})
    return held, (*_quotas(recorded, logins, now, waits=False), *hidden_until(challenge, now))


def _waits(accounts: OwnerAccounts, entry: Entry, task_id: str, beacon: str, now: datetime) -> QuotaExhausted | None:
    draw = (entry.login.casefold(), entry.digest, beacon)
    for account in accounts.of(entry.login, [task_id]):
        if draw not in account.first and (full := account.exhausted(now)):
            return full
    return None
