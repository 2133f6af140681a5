"""What if this were merged? The place that a preview's scores would take, and the place that merged agents have."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.submission import Submission, SubmissionKind
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.result import Result, SandboxKind, Tier
from evaluator.model.records.verdict import Verdict, is_retryable
from leaderboard.build import build_standings
from leaderboard.comments.states import AgentPreview, GamePreview, OfficialScore, OverallPreview, Previewed, TaskPreview
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.entry import AgentName
from leaderboard.core.standings import Entry, Estimate, Failure, Row, Standings, TaskStandings
from leaderboard.planning.reasons import Reason, reason_in_words
from leaderboard.preview import hypothetical_ratings, hypothetical_standings
from leaderboard.preview.hypothetical_ratings import MERGED
from leaderboard.scoring.intervals import intervals, measured_estimate
from leaderboard.visibility import anonymous_name, hidden


def redact(agent: AgentPreview, challenge: Challenge, hidden: Collection[str], at: datetime) -> AgentPreview:
    """An agent without what others' boards would tell: places and leaders where a board is hidden, names until a date.

    The scores of its own preview stay: anybody can play them at home.
    """
    rows = tuple(_redacted_row(row, challenge, hidden, at) for row in agent.rows)
    games = tuple(_game(game, challenge, hidden, at) for game in agent.games)
    return replace(agent, rows=rows, games=games)


def without_hidden_scores(agent: AgentPreview, hidden: Collection[str]) -> AgentPreview:
    """An agent without its official scores on boards that are hidden; what failed is told, so that it can be mended."""
    rows = tuple(row for row in agent.rows if row.task.id not in hidden or row.estimate is None)
    games = tuple(game for game in agent.games if game.task.id not in hidden or game.refusal or game.failed)
    return replace(agent, rows=rows, games=games)


def _redacted_row(row: TaskPreview, challenge: Challenge, hidden: Collection[str], at: datetime) -> TaskPreview:
    if row.task.id not in hidden:
        return replace(row, leader_name=row.leader_name and anonymous_name(challenge, row.leader_name, at))
    return TaskPreview(task=row.task, result=row.result, estimate=row.estimate, others=row.others, retryable=row.retryable)


def _game(game: GamePreview, challenge: Challenge, hidden: Collection[str], at: datetime) -> GamePreview:
    meetings = tuple(replace(one, opponent=anonymous_name(challenge, one.opponent, at)) for one in game.meetings)
    if game.task.id not in hidden:
        anchor = game.anchor and anonymous_name(challenge, game.anchor, at)
        leader = game.leader_name and anonymous_name(challenge, game.leader_name, at)
        return replace(game, meetings=meetings, anchor=anchor, leader_name=leader)
    return GamePreview(
        task=game.task, meetings=tuple(one for one in meetings if one.is_baseline), refusal=game.refusal,
        position=game.position, failed=game.failed, log=game.log, official=game.official, signed=game.signed,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RecordedResults:
    """What stands on main and on the branch `results`."""

    challenge: Challenge
    """The rules."""
    entries: tuple[Entry, ...]
    """The agents that rank: those on main, less those that moderation keeps off the board."""
    results: tuple[Result, ...]
    """Everything recorded of single agents."""
    duels: tuple[Duel, ...] = ()
    """Everything recorded of two players."""
    at: datetime | None = None
    """The moment, for what is hidden and not named until a date; everything is shown when left out."""

    @cached_property
    def now(self) -> Standings:
        """The official board as it is."""
        return build_standings(self.challenge, self.flagged(self.entries), self.results, official=True, duels=self.duels)

    def flagged(self, entries: Iterable[Entry]) -> list[Entry]:
        """Entries with the mark of the hosts' own, which take no place from others."""
        people = self.challenge.people
        return [replace(entry, host=people.is_host(entry.login)) for entry in entries] if people.hosts else list(entries)

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The tasks whose boards are not shown."""
        return frozenset(task.id for task in hidden(self.challenge, self.at)) if self.at else frozenset()

    def masked(self, agent: AgentPreview) -> AgentPreview:
        """What a comment may say of an agent: nothing of boards that are hidden, and no name that is not shown."""
        return agent if self.at is None else hypothetical_standings.redact(agent, self.challenge, self.hidden, self.at)


@dataclass(frozen=True, kw_only=True)
class _Candidates:
    """A preview's agents put on the board."""

    recorded: RecordedResults
    """The board without them."""
    then: Standings
    """The board with them."""


def hypothetical_row(recorded: RecordedResults, result: Result) -> TaskPreview | None:
    """The place that one result would take; None where its task is not on the board in these settings."""
    agent = PreviewedAgent.model_construct(
        login=result.login,
        agent=result.agent,
        submission_digest=result.submission_digest,
        name=None,
        faults=(),
        results=(result,),
        duels=(),
    )
    rows = _agent(_candidates(recorded, (agent,)), agent, overall=False).rows
    return rows[0] if rows else None


def preview_state(
    preview: Preview, recorded: RecordedResults, *, run_url: str | None, removed: tuple[str, ...] = (), log: str = ""
) -> Previewed:
    """What the comment says of a preview whose pull request passed the guard."""
    candidates = _candidates(recorded, preview.agents)
    return Previewed(
        head_sha=preview.head_sha,
        evaluator_sha=preview.evaluator_sha,
        agents=tuple(
            recorded.masked(_agent(candidates, agent, overall=not preview.skipped and not recorded.hidden))
            for agent in preview.agents
        ),
        skipped=preview.skipped,
        removed=removed,
        log=log,
        run_url=run_url,
        sealed=recorded.challenge.sealed is not None,
    )


def _candidates(recorded: RecordedResults, agents: Sequence[PreviewedAgent]) -> _Candidates:
    """All agents of a pull request are merged at once, so they are put on the board at once."""
    played = {_name(agent.login, agent.agent): agent for agent in agents if agent.results or agent.duels}
    # A folder that is renamed leaves its old name.
    versions = {(name[0], agent.submission_digest) for name, agent in played.items()}
    entries = [entry for entry in recorded.entries if entry.name not in played]
    entries = [entry for entry in entries if entry.login == LOCAL or (entry.name[0], entry.digest) not in versions]
    results = [result for result in recorded.results if _name(result.login, result.agent) not in played]
    entries += [_entry(agent) for agent in played.values()]
    results += [_promoted(result) for agent in played.values() for result in agent.results]
    duels = [duel for duel in recorded.duels if not any(player.name in played for player in duel.players)]
    duels += hypothetical_ratings.as_official(agents)
    then = build_standings(recorded.challenge, recorded.flagged(entries), results, official=True, duels=duels)
    return _Candidates(recorded=recorded, then=then)


def _name(login: str, agent: str) -> AgentName:
    return AgentName.folded(login, agent)


def _entry(agent: PreviewedAgent) -> Entry:
    """An entry for the tasks that were played; nothing of its manifest matters but whether it is a script."""
    kind = SubmissionKind.SCRIPT if any(result.script for result in agent.results) else SubmissionKind.POLICY
    played = [*(result.task for result in agent.results), *(duel.task for duel in agent.duels)]
    tasks = tuple(dict.fromkeys(played))
    submission = Submission(name=agent.name or agent.agent, algorithm="preview", kind=kind, tasks=tasks)
    return Entry(login=agent.login, agent=agent.agent, submission=submission, digest=agent.submission_digest or "")


def _promoted(result: Result) -> Result:
    """As if it were official. It is never stored, and only a preview that passed the guard comes this far."""
    return result.model_copy(update={"tier": Tier.OFFICIAL, "sandbox": SandboxKind.DOCKER, "beacon": MERGED})


def _agent(candidates: _Candidates, agent: PreviewedAgent, *, overall: bool) -> AgentPreview:
    rows = []
    played = {result.task: result for result in agent.results}
    for board, now in zip(candidates.then.tasks, candidates.recorded.now.tasks, strict=True):
        result = played.get(board.task.id)
        if result and result.task_digest == board.task.digest():
            own = _row(now, _name(agent.login, agent.agent))
            rows.append(_shown(board, result, own.estimate if own else None, own.place if own else None))
    shown = _overall(candidates.then, _name(agent.login, agent.agent)) if overall and _scored(rows) > 1 else None
    return AgentPreview(
        login=agent.login, agent=agent.agent, name=agent.name, rows=tuple(rows), faults=agent.faults, overall=shown,
        games=hypothetical_ratings.preview_game(candidates.then, candidates.recorded.now, agent),
    )  # fmt: skip


def _scored(rows: Iterable[TaskPreview]) -> int:
    return sum(row.estimate is not None for row in rows)


def _row(board: TaskStandings, name: AgentName) -> Row | None:
    return next((row for row in board.rows if _name(row.entry.login, row.entry.agent) == name), None)


def _shown(board: TaskStandings, result: Result, own_last: Estimate | None, own_place: int | None) -> TaskPreview:
    """One result on a board that it is part of."""
    retryable = is_retryable(result.verdict)
    row = _row(board, _name(result.login, result.agent))
    if result.verdict is not Verdict.OK or row is None:
        return TaskPreview(task=board.task, result=result, retryable=retryable)
    leader = next((other for other in board.rows if other is not row and not other.estimate.is_missing), None)
    if row.estimate.is_missing:
        return TaskPreview(
            task=board.task, result=result, estimate=row.estimate, others=row.others, entries=len(board.rows),
            own_last=own_last, own_place=own_place, retryable=retryable,
        )  # fmt: skip
    return TaskPreview(
        task=board.task, result=result, estimate=row.estimate, place=row.place, rank_low=row.rank_low,
        rank_high=row.rank_high, with_leader=row.with_leader, entries=len(board.rows), own_last=own_last,
        own_place=own_place, others=row.others,
        leader=leader.estimate if leader else None,
        leader_name=f"{leader.entry.login}/{leader.entry.agent}" if leader else None, retryable=retryable,
    )  # fmt: skip


def _overall(board: Standings, name: AgentName) -> OverallPreview | None:
    row = next((row for row in board.overall if _name(row.entry.login, row.entry.agent) == name), None)
    if row is None:
        return None
    return OverallPreview(
        estimate=row.estimate, place=row.place, rank_low=row.rank_low, rank_high=row.rank_high, entries=len(board.overall)
    )


def official_state(
    recorded: RecordedResults,
    agents: Iterable[AgentName],
    merge_sha: str | None,
    run_url: str | None = None,
    held: Mapping[tuple[AgentName, str], Reason] | None = None,
) -> OfficialScore:
    """The comment after a merge.

    Args:
        recorded: what is on main and recorded.
        agents: those that were merged.
        merge_sha: the commit on main.
        run_url: the official run.
        held: agent and task to why it is not evaluated now; what waits for another reason is pending.
    """
    agents, held = list(agents), held or {}
    names = [AgentName.folded(*name) for name in agents]
    waiting = {key: line for name in names for key, line in _waiting(recorded.now, name)}
    return OfficialScore(
        merge_sha=merge_sha,
        agents=tuple(shown for name in agents if (shown := standing(recorded, *name))),
        pending=tuple(line for key, line in waiting.items() if key not in held),
        held=tuple(f"{waiting[key]}: {reason_in_words(reason)}" for key, reason in held.items() if key in waiting),
        unshown=sum(_unshown(recorded, name) for name in names),
        run_url=run_url,
    )


def _unshown(recorded: RecordedResults, name: AgentName) -> int:
    """On how many hidden boards an agent has a score."""
    found = [(board.task, row.entry) for board in recorded.now.tasks for row in board.rows]
    found += [(board.task, row.entry) for board in recorded.now.games for row in board.rows]
    return sum(entry.name == name and task.id in recorded.hidden for task, entry in found)


def _waiting(now: Standings, name: AgentName) -> Iterator[tuple[tuple[AgentName, str], str]]:
    """Agent and task, and how to name both, for each task on which an agent has no record yet."""
    for board in now.boards:
        for entry in board.waiting:
            if entry.name == name:
                yield (name, board.task.id), f"{entry.shown} on {board.task.title or board.task.id}"


def standing(recorded: RecordedResults, login: str, agent: str) -> AgentPreview | None:
    """Where an agent stands on the official board; None where it is not on main."""
    name = _name(login, agent)
    entry = next((entry for entry in recorded.entries if _name(entry.login, entry.agent) == name), None)
    if entry is None:
        return None
    rows = []
    for board in recorded.now.tasks:
        own = next((one for one in _measured(board) if _name(one.entry.login, one.entry.agent) == name), None)
        if own:
            rows.append(_shown(board, own.result, _before(recorded, board.task, own.result), None))
    overall = _overall(recorded.now, name) if _scored(rows) > 1 and not recorded.hidden else None
    found = AgentPreview(
        login=entry.login, agent=entry.agent, name=entry.submission.name, rows=tuple(rows), overall=overall,
        games=hypothetical_ratings.official_game(recorded.now, entry),
    )  # fmt: skip
    return recorded.masked(hypothetical_standings.without_hidden_scores(found, recorded.hidden))


def _measured(board: TaskStandings) -> Iterator[Row | Failure]:
    yield from board.rows
    yield from board.failures


def _before(recorded: RecordedResults, task: Task, result: Result) -> Estimate | None:
    """The score of the version that counted before this one."""
    earlier = [
        other
        for other in recorded.results
        if (other.verdict, other.tier, other.task, other.agent) == (Verdict.OK, Tier.OFFICIAL, task.id, result.agent)
        and other.login.casefold() == result.login.casefold()
        and (other.season, other.task_digest) == (result.season, result.task_digest)
        and other.submission_digest != result.submission_digest
    ]
    if not earlier:
        return None
    newest = max(earlier, key=lambda one: (one.provenance.evaluated_at, one.key))
    return intervals(measured_estimate([newest], task))[0]
