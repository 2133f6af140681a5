"""What a comment tells of the standings: score, place and difference, of merged agents or of a preview's as if merged."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from evaluator.model.config.moderation import Moderation
from evaluator.model.config.submission import Submission, SubmissionKind
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.build_standings import RecordedLeaderboard, build_standings
from leaderboard.comments.comment_states import (
    AgentReport,
    DuelReport,
    GameReport,
    OfficialScore,
    OverallReport,
    Previewed,
    TaskReport,
)
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry, Estimate
from leaderboard.core.game_standings import GameRow, GameStandings, count_matches
from leaderboard.core.standings import OverallRow, Standings, TaskFailure, TaskRow, TaskStandings, entries_of
from leaderboard.games.game_drawings import moves_of, position_text
from leaderboard.planning.refusal_reasons import Reason, reason_in_words
from leaderboard.ratings.rated_duels import side_fault, validation_fault
from leaderboard.scoring.counting_results import counting_results
from leaderboard.scoring.intervals import intervals, measured_estimate
from leaderboard.visibility import anonymous_name, with_host_flags

# A longer drawing of a position is left out.
MAX_POSITION_CHARACTERS = 1200
# A preview's results and duels as if they were official; never stored, and only of pull requests that passed the guard. The
# beacon would be the commit of the merge.
_AS_OFFICIAL = {"tier": Tier.OFFICIAL, "sandbox": SandboxKind.DOCKER, "beacon": "merged"}


_RankedRow = TypeVar("_RankedRow", TaskRow, GameRow, OverallRow)


# What a report that says nothing of the leaderboard has in place of where its agent stands.
_NOWHERE: dict[str, Any] = {
    "place": None, "rank_low": None, "rank_high": None, "with_leader": False, "tries": 1, "superseded_by": None,
    "entries": 0, "own_last": None, "own_place": None, "leader": None, "leader_name": None,
}  # fmt: skip
_NO_PLACE = {name: _NOWHERE[name] for name in ("place", "rank_low", "rank_high", "with_leader", "tries", "own_place")}
_AnyReport = TypeVar("_AnyReport", TaskReport, GameReport)


def redact(agent: AgentReport, recorded: RecordedLeaderboard) -> AgentReport:
    """Remove places and leaders of leaderboards that are hidden now, and names that are not shown yet.

    The scores of the agent's own preview stay: anybody can play them at home.
    """
    if (at := recorded.at) is None:
        return agent
    challenge, hidden = recorded.challenge, recorded.hidden

    def shown(name: str | None) -> str | None:
        return name and anonymous_name(challenge, name, at)

    def redacted(report: _AnyReport) -> _AnyReport:
        if report.task.id in hidden:
            return replace(report, **_NOWHERE)
        return replace(report, leader_name=shown(report.leader_name), superseded_by=shown(report.superseded_by))

    games = []
    for game in map(redacted, agent.games):
        duels = [replace(duel, opponent=anonymous_name(challenge, duel.opponent, at)) for duel in game.duels]
        if game.task.id in hidden:
            baselines = tuple(duel for duel in duels if duel.is_baseline)
            games.append(replace(game, duels=baselines, estimate=None, anchor=None, one_sided=False))
        else:
            games.append(replace(game, duels=tuple(duels), anchor=shown(game.anchor)))
    return replace(agent, rows=tuple(map(redacted, agent.rows)), games=tuple(games))


def without_places(agent: AgentReport, tasks: Collection[str]) -> AgentReport:
    """Remove the places on tasks that do not accept this version."""
    rows = tuple(replace(row, **_NO_PLACE) if row.task.id in tasks else row for row in agent.rows)
    games = tuple(replace(game, **_NO_PLACE) if game.task.id in tasks else game for game in agent.games)
    return replace(agent, rows=rows, games=games, overall=None if tasks else agent.overall)


def without_hidden_scores(agent: AgentReport, hidden: Collection[str]) -> AgentReport:
    """Remove official scores on hidden leaderboards; failures stay, so that they can be fixed."""
    rows = tuple(row for row in agent.rows if row.task.id not in hidden or row.estimate is None)
    games = tuple(game for game in agent.games if game.task.id not in hidden or game.refusal or game.failed)
    return replace(agent, rows=rows, games=games)


def preview_state(
    preview: Preview, recorded: RecordedLeaderboard, *, run_url: str | None, removed: tuple[str, ...] = (), log: str = ""
) -> Previewed:
    """The comment on a preview whose pull request passed the guard."""
    merged = _standings_with(recorded, preview.agents)
    return Previewed(
        head_sha=preview.head_sha,
        evaluator_sha=preview.evaluator_sha,
        agents=tuple(
            redact(_preview_report(recorded, merged, agent, overall=not preview.skipped and not recorded.hidden), recorded)
            for agent in preview.agents
        ),
        skipped=preview.skipped,
        removed=removed,
        log=log,
        run_url=run_url,
        sealed=recorded.challenge.sealed is not None,
    )


def _standings_with(recorded: RecordedLeaderboard, agents: Sequence[PreviewedAgent]) -> Standings:
    """The standings with all agents of a pull request together, as they are merged together.

    Once submissions have ended, among the final draws: nothing takes a place there any more, but scores can be compared.
    """
    beacon = recorded.final and recorded.final.beacon
    played = {AgentName.folded(agent.login, agent.agent): agent for agent in agents if agent.results or agent.duels}
    # A renamed folder gives up its old name.
    versions = {(name[0], agent.submission_digest) for name, agent in played.items()}
    entries = [entry for entry in recorded.entries if entry.name not in played]
    entries = [entry for entry in entries if entry.login == EXAMPLES_LOGIN or (entry.name[0], entry.digest) not in versions]
    # Earlier versions stay: they do not rank, but they are tries.
    results = [
        result
        for result in recorded.results
        if beacon in (None, result.beacon) and (result.login.casefold(), result.submission_digest) not in versions
    ]
    baselines = {entry.name for entry in recorded.entries if entry.baseline}
    entries += [*recorded.erased, *(replace(_entry(agent), baseline=name in baselines) for name, agent in played.items())]
    results += [result.model_copy(update=_AS_OFFICIAL) for agent in played.values() for result in agent.results]
    duels = [
        duel
        for duel in recorded.duels
        if beacon in (None, duel.beacon) and not any(player.name in played for player in duel.players)
    ]
    duels += [duel.model_copy(update=_AS_OFFICIAL) for agent in played.values() for duel in agent.duels]
    return build_standings(
        recorded.challenge,
        with_host_flags(entries, recorded.challenge, Moderation()),
        results,
        official=True,
        duels=duels,
        with_iqm=False,
    )


def _entry(agent: PreviewedAgent) -> Entry:
    """An entry for the tasks that were played; of its manifest only matters whether it is a script."""
    kind = SubmissionKind.SCRIPT if any(result.script for result in agent.results) else SubmissionKind.POLICY
    played = [*(result.task for result in agent.results), *(duel.task for duel in agent.duels)]
    tasks = tuple(dict.fromkeys(played))
    submission = Submission(name=agent.name or agent.agent, algorithm="preview", kind=kind, tasks=tasks)
    return Entry(login=agent.login, agent=agent.agent, submission=submission, digest=agent.submission_digest or "")


def _preview_report(
    recorded: RecordedLeaderboard, merged: Standings, agent: PreviewedAgent, *, overall: bool
) -> AgentReport:
    rows, name = [], AgentName.folded(agent.login, agent.agent)
    played = {result.task: result for result in agent.results}
    for board, now in zip(merged.tasks, recorded.standings.tasks, strict=True):
        result = played.get(board.task.id)
        if result and result.task_digest == board.task.digest():
            last = _row_of(now.rows, name)
            row = _task_report(board, result, last.estimate if last else None, last.place if last else None)
            failed = _failed_before(recorded, agent, board.task)
            if recorded.final or failed:
                row = replace(row, **_NO_PLACE)
            rows.append(replace(row, failed_before=failed))
    overall = overall and recorded.final is None and not any(row.failed_before for row in rows)
    shown = _overall_report(merged, name) if overall and _scored(rows) > 1 else None
    return AgentReport(
        login=agent.login, agent=agent.agent, name=agent.name, rows=tuple(rows), faults=agent.faults, overall=shown,
        games=_preview_games(merged, recorded.standings, agent, is_placed=recorded.final is None),
    )  # fmt: skip


def _failed_before(recorded: RecordedLeaderboard, agent: PreviewedAgent, task: Task) -> Verdict | None:
    """How an official evaluation of the version that a preview played has failed, in whatever folder."""
    recorded_before = [
        result
        for result in recorded.results
        if (result.login.casefold(), result.submission_digest) == (agent.login.casefold(), agent.submission_digest)
        and (result.task, result.task_digest, result.season) == (task.id, task.digest(), recorded.challenge.season)
    ]
    counting = counting_results(_entry(agent), recorded_before, official=True)
    verdict = counting[-1].verdict if counting else Verdict.OK
    return None if verdict in (Verdict.OK, Verdict.INTERNAL_ERROR) else verdict


def _scored(rows: Iterable[TaskReport]) -> int:
    return sum(row.estimate is not None for row in rows)


def _row_of(rows: Iterable[_RankedRow], name: AgentName) -> _RankedRow | None:
    return next((row for row in rows if row.entry.name == name), None)


def _count_places(rows: Iterable[_RankedRow], own: _RankedRow) -> int:
    """How many places there are: baselines and hosts take none, unless the row is one of theirs."""
    return sum(row is own or not row.is_unranked for row in rows)


def _task_report(board: TaskStandings, result: Result, own_last: Estimate | None, own_place: int | None) -> TaskReport:
    """One result with its place on a leaderboard that contains it."""
    row = _row_of(board.rows, AgentName.folded(result.login, result.agent))
    if result.verdict is not Verdict.OK or row is None:
        return TaskReport(task=board.task, result=result)
    return TaskReport(
        task=board.task, result=result, others=row.others, own_last=own_last, own_place=own_place,
        tries=1 if row.estimate.is_missing else row.tries, **_place_fields(row, board.rows),
    )  # fmt: skip


def _place_fields(row: _RankedRow, rows: Iterable[_RankedRow]) -> dict[str, Any]:
    """Where a row stands among all rows of its leaderboard, as fields of a `Report`."""
    placed = [other for other in rows if other.superseded_by is None]
    fields: dict[str, Any] = {
        "estimate": row.estimate,
        "entries": _count_places(placed, row),
        "superseded_by": row.superseded_by,
    }
    if row.estimate.is_missing:
        return fields
    leader = next((other for other in placed if other is not row and not other.estimate.is_missing), None)
    if leader:
        fields |= {"leader": leader.estimate, "leader_name": leader.entry.shown}
    if not row.superseded_by:
        fields |= {"place": row.place, "rank_low": row.rank_low, "rank_high": row.rank_high}
    return fields | {"with_leader": row.with_leader}


def _overall_report(standings: Standings, name: AgentName) -> OverallReport | None:
    row = _row_of(standings.overall, name)
    if row is None or row.superseded_by is not None:
        return None
    placed = [other for other in standings.overall if other.superseded_by is None]
    return OverallReport(
        estimate=row.estimate, place=row.place, rank_low=row.rank_low, rank_high=row.rank_high,
        entries=_count_places(placed, row), played=row.played, tasks=len(row.normalised),
    )  # fmt: skip


def official_state(
    recorded: RecordedLeaderboard,
    agents: Iterable[AgentName],
    merge_sha: str | None,
    run_url: str | None = None,
    deferred: Mapping[tuple[AgentName, str], Reason] | None = None,
) -> OfficialScore:
    """The comment after a merge.

    Args:
        recorded: what is on main and recorded.
        agents: those that were merged.
        merge_sha: the commit on main.
        run_url: the official run.
        deferred: agent and task to why it is not evaluated now; what waits for another reason is pending.
    """
    agents, deferred = list(agents), deferred or {}
    names = [AgentName.folded(*name) for name in agents]
    waiting = {key: line for name in names for key, line in _waiting_lines(recorded.standings, name)}
    return OfficialScore(
        merge_sha=merge_sha,
        agents=tuple(shown for name in agents if (shown := official_report(recorded, *name))),
        pending=tuple(line for key, line in waiting.items() if key not in deferred),
        deferred=tuple(f"{waiting[key]}: {reason_in_words(reason)}" for key, reason in deferred.items() if key in waiting),
        unshown=sum(_unshown(recorded, name) for name in names),
        run_url=run_url,
    )


def _unshown(recorded: RecordedLeaderboard, name: AgentName) -> int:
    """On how many hidden leaderboards an agent has a score."""
    hidden_boards = (board for board in recorded.standings.boards if board.task.id in recorded.hidden)
    return sum(row.entry.name == name for board in hidden_boards for row in board.rows)


def _waiting_lines(now: Standings, name: AgentName) -> Iterator[tuple[tuple[AgentName, str], str]]:
    """Agent and task, and how to name both, for each task on which an agent has no record yet."""
    for board in now.boards:
        for entry in board.waiting:
            if entry.name == name:
                words = entry.quarantined.get(board.task.id)
                line = f"{entry.shown} on {board.task.title or board.task.id}"
                yield (name, board.task.id), f"{line} ({words})" if words else line


def official_report(recorded: RecordedLeaderboard, login: str, agent: str) -> AgentReport | None:
    """An agent's official scores and places; None if it is not on main."""
    name = AgentName.folded(login, agent)
    entry = next((entry for entry in recorded.entries if entry.name == name), None)
    if entry is None:
        return None
    rows = []
    for board in recorded.standings.tasks:
        outcomes: tuple[TaskRow | TaskFailure, ...] = (*board.rows, *board.failures)
        measured = next((outcome for outcome in outcomes if outcome.entry.name == name), None)
        if measured:
            rows.append(_task_report(board, measured.result, _previous_score(recorded, board.task, measured.result), None))
    overall = _overall_report(recorded.standings, name) if _scored(rows) > 1 and not recorded.hidden else None
    report = AgentReport(
        login=entry.login, agent=entry.agent, name=entry.submission.name, rows=tuple(rows), overall=overall,
        games=_official_games(recorded.standings, entry),
    )  # fmt: skip
    return redact(without_hidden_scores(report, recorded.hidden), recorded)


def _previous_score(recorded: RecordedLeaderboard, task: Task, result: Result) -> Estimate | None:
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
    newest = max(earlier, key=lambda result: (result.provenance.evaluated_at, result.key))
    return intervals(measured_estimate([newest], task))[0]


def _preview_games(merged: Standings, now: Standings, agent: PreviewedAgent, *, is_placed: bool) -> tuple[GameReport, ...]:
    """Each game that a preview played. `merged`: the standings with the pull request's agents; `now`: without them."""
    name = AgentName.folded(agent.login, agent.agent)
    baselines = {entry.name for entry in _players(merged) if entry.baseline}
    games = []
    for board, before in zip(merged.games, now.games, strict=True):
        duels = [duel for duel in agent.duels if (duel.task, duel.task_digest) == (board.task.id, board.task.digest())]
        if duels:
            old = _row_of(before.rows, name)
            shown = _played_game(board, name, duels, baselines)
            shown = replace(shown, own_last=old.estimate if old else None)
            games.append(shown if is_placed else replace(shown, **_NO_PLACE))
    return tuple(games)


def _official_games(now: Standings, entry: Entry) -> tuple[GameReport, ...]:
    """Each game in which an entry's validation is recorded."""
    baselines = {other.name for other in _players(now) if other.baseline}
    games = []
    for board in now.games:
        failure = next((failure for failure in board.failures if failure.entry.name == entry.name), None)
        duels = [meeting.duel for (name, _), meeting in board.crosstable.items() if name == entry.name]
        if failure:
            games.append(
                GameReport(
                    task=board.task, refusal=failure.reason, position=_position(board.task, failure.duel),
                    log=failure.duel.players[0].log_tail, official=True,
                )
            )  # fmt: skip
        elif _row_of(board.rows, entry.name) or duels:
            signed = all(duel.beacon_verified is not False for duel in duels)
            games.append(replace(_rated_game(board, entry.name, duels, baselines), official=True, signed=signed))
    return tuple(games)


def _players(standings: Standings) -> Iterator[Entry]:
    return (entry for game in standings.games for entry in entries_of(game))


def _played_game(board: GameStandings, name: AgentName, duels: list[Duel], baselines: set[AgentName]) -> GameReport:
    """A preview's duels of one player in one game."""
    broken = next((duel for duel in duels if duel.verdict is not Verdict.OK), None)
    failed = broken.message or "it gave no reason" if broken else None
    validation = next((duel for duel in duels if duel.is_validation), None)
    refusal = validation_fault(validation) if validation and validation.verdict is Verdict.OK else None
    if refusal is not None:
        return GameReport(task=board.task, refusal=refusal, position=_position(board.task, validation), failed=failed)
    counting = [duel for duel in duels if not duel.is_validation and duel.verdict is Verdict.OK]
    return replace(_rated_game(board, name, counting, baselines), failed=failed)


def _rated_game(board: GameStandings, name: AgentName, duels: Iterable[Duel], baselines: set[AgentName]) -> GameReport:
    row = _row_of(board.rows, name)
    reports = tuple(_duel_report(duel, name, baselines) for duel in duels)
    if row is None:
        return GameReport(task=board.task, duels=reports, anchor=board.anchor)
    return GameReport(
        task=board.task, duels=reports, anchor=board.anchor, one_sided=row.entry.shown in board.prior,
        **_place_fields(row, board.rows),
    )  # fmt: skip


def _duel_report(duel: Duel, name: AgentName, baselines: set[AgentName]) -> DuelReport:
    # A folder may have been renamed since; then the login tells, as two agents of one login meet in no duel that counts.
    named = [player.name for player in duel.players]
    side = named.index(name) if name in named else [login for login, _ in named].index(name[0])
    other = duel.players[1 - side]
    return DuelReport(
        opponent=f"{other.login}/{other.agent}", count=count_matches(duel.matches, side),
        is_baseline=other.name in baselines, fault=side_fault(duel, side),
    )  # fmt: skip


def _position(task: Task, validation: Duel | None) -> str:
    """The position in which a player first broke a rule in its validation, drawn with characters; empty if there is none."""
    if validation is None or any(player.verdict is not Verdict.OK for player in validation.players):
        return ""
    index = next((index for index, match in enumerate(validation.matches) if match.offenders), None)
    if index is None:
        return ""
    shown = position_text(task, moves_of(validation)[index]) or ""
    return shown if len(shown) <= MAX_POSITION_CHARACTERS else ""
