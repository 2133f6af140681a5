"""The standings as JSON: what `pullrank rank --json` prints, and what the site's documents are made of."""

import re
from collections.abc import Iterator, Sequence
from typing import cast
from urllib.parse import quote

from evaluator.model.config.metric import Metric
from evaluator.model.config.moderation import Exclusion
from evaluator.model.config.task import Task
from leaderboard.api.documents import (
    ClaimJson,
    CountJson,
    EntryJson,
    EstimateJson,
    ExcludedJson,
    ExclusionJson,
    FlagsJson,
    GameFailureJson,
    GameStandingsJson,
    HeadToHeadJson,
    LinksJson,
    MetricJson,
    NextJson,
    OverallScoresJson,
    PlaceJson,
    RankedOverallJson,
    RankedRowJson,
    RatedJson,
    RatedRowJson,
    RatingJson,
    ScoresJson,
    StandingsJson,
    TaskStandingsJson,
    UnscoredJson,
    WaitingJson,
    WithdrawnJson,
)
from leaderboard.core.entry import AgentName, Entry, Estimate, Excluded
from leaderboard.core.game_standings import GameFailure, GameRow, GameStandings, HeadToHead, Rating, WinCount
from leaderboard.core.standings import Failure, OverallRow, Row, Standings, TaskStandings, WithdrawnScore
from leaderboard.scoring.metrics import metrics_of, value_or_none
from leaderboard.scoring.score_all import LEAST_COUNTED, MOST_COUNTED, common_scale
from leaderboard.scoring.significance import (
    NO_VALUES,
    Improvement,
    compared_values,
    improvements_on_next,
    mean_improvement,
)
from leaderboard.text import serialise, urls

# A former entry does not say whether its name is hidden, so this is read from the name that it has meanwhile.
_ANONYMOUS_LOGIN = re.compile(r"entry-[0-9a-f]{8}")


def standings_document(standings: Standings) -> StandingsJson:
    """The standings: names and numbers, without the raw results."""
    return {
        "title": standings.challenge.title,
        "season": standings.challenge.season,
        "official": standings.official,
        "overall": [overall_row(row, beside) for row, beside in overall_improvements(standings)],
        "tasks": [task_document(board) for board in standings.tasks],
        "games": [game_document(board) for board in standings.games],
    }


def task_document(board: TaskStandings) -> TaskStandingsJson:
    """One task's leaderboard."""
    return {
        "task": board.task.id,
        "metrics": [metric_document(metric) for metric in metrics_of(board.task)],
        "ties": list(board.task.ties),
        "rows": [ranked_row(row, board.task, beside) for row, beside in task_improvements(board)],
        "failures": [failure_document(failure) for failure in board.failures],
        "waiting": [waiting_document(entry, board.task) for entry in board.waiting],
        "excluded": [excluded_document(excluded) for excluded in board.excluded],
        "withdrawn": [withdrawn_document(withdrawn) for withdrawn in board.withdrawn],
    }


def game_document(board: GameStandings) -> GameStandingsJson:
    """One game's leaderboard."""
    return {
        "task": board.task.id,
        "anchor": board.anchor,
        "rows": [rated_row(row) for row in board.rows],
        "failures": [_game_failure(failure) for failure in board.failures],
        "waiting": [waiting_document(entry, board.task) for entry in board.waiting],
        "excluded": [excluded_document(excluded) for excluded in board.excluded],
        "crosstable": [_head_to_head(pair, board.crosstable[pair]) for pair in sorted(board.crosstable)],
        "prior": list(board.prior),
        "cycle": {"names": list(board.cycle.names), "share": board.cycle.share, "triads": board.cycle.triads},
        "moving_first": _rating(board.moving_first) if board.moving_first else None,
        "history": [
            {"day": snapshot.day, "elo": {_agent_path(name): elo for name, elo in sorted(snapshot.elo.items())}}
            for snapshot in board.history
        ],
    }


def entry_document(entry: Entry) -> EntryJson:
    """Which agent it is, and what the hosts say of it."""
    return {"login": entry.login, "agent": entry.agent, "name": entry.submission.name, **flags(entry)}


def waiting_document(entry: Entry, task: Task) -> WaitingJson:
    """An agent without a record that counts on a task."""
    words = entry.quarantined.get(task.id)
    return cast("WaitingJson", {**entry_document(entry), **({"quarantine": words} if words else {})})


def links_document(entry: Entry) -> LinksJson:
    """The addresses of an agent's page and document."""
    file = urls.agent_file(entry.login, entry.agent)
    return {"page": urls.agent_address(entry.login, entry.agent), "api": quote(file)}


def flags(entry: Entry) -> FlagsJson:
    """What the hosts say of an entry; each flag is there only where it is set."""
    document: FlagsJson = {}
    if entry.baseline:
        document["baseline"] = True
    if entry.host:
        document["host"] = True
    if entry.anonymous:
        document["anonymous"] = True
    if verified := entry.verified:
        document["verified"] = {
            "since": verified.since, "who": verified.who, "why": verified.why, "link": verified.link,
        }  # fmt: skip
    return document


def place_document(row: Row | OverallRow | GameRow) -> PlaceJson:
    """Where a row stands."""
    document: PlaceJson = {
        "place": None if row.is_aside else row.place,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "with_leader": row.with_leader,
        "tries": row.tries,
    }
    if row.held_by is not None:
        document["held_by"] = row.held_by
    return document


def ranked_row(row: Row, task: Task, beside: NextJson) -> RankedRowJson:
    """One row of a task's leaderboard."""
    return {**place_document(row), **entry_document(row.entry), **scores_document(row, task), **beside}


def scores_document(row: Row, task: Task) -> ScoresJson:
    """What a row's result amounts to."""
    result, values = row.result, (row.estimate.score, *row.others)
    names = [metric.name for metric in metrics_of(task)]
    return {
        "estimate": estimate_document(row.estimate),
        "metrics": {name: value_or_none(value) for name, value in zip(names, values, strict=True)},
        "attempts": row.attempts,
        "episodes": task.counted if result.sealed else row.episodes,
        # A result's file is found by its key, and the file's path holds the login.
        "key": None if row.entry.anonymous else result.key,
    }


def overall_row(row: OverallRow, beside: NextJson) -> RankedOverallJson:
    """One entry across all tasks."""
    return {**place_document(row), **entry_document(row.entry), **overall_scores(row), **beside}


def overall_scores(row: OverallRow) -> OverallScoresJson:
    """The score of one entry across all tasks."""
    return {
        "estimate": estimate_document(row.estimate), "iqm": row.iqm.score, "iqm_low": value_or_none(row.iqm.low),
        "iqm_high": value_or_none(row.iqm.high), "normalised": row.normalised,
        "clipped": row.beyond(LEAST_COUNTED, MOST_COUNTED), "played": row.played,
    }  # fmt: skip


def task_improvements(board: TaskStandings) -> Iterator[tuple[Row, NextJson]]:
    """Each row of a task, and how it compares with the next one."""
    compared = improvements_on_next(compared_values(board.task, row.draws) for row in board.rows)
    for row, on_next in zip(board.rows, compared, strict=True):
        yield row, _next([on_next] if on_next else [])


def overall_improvements(standings: Standings) -> Iterator[tuple[OverallRow, NextJson]]:
    """Each row of the overall leaderboard, and how it compares with the next one on the tasks that both have played."""
    rows = standings.overall
    on_tasks: list[list[Improvement]] = [[] for _ in rows]
    for board in standings.tasks:
        if not any(common_scale(board.task)):
            continue
        draws = {scored.entry.name: scored.draws for scored in board.rows}
        names = (row.entry.name for row in rows)
        values = (compared_values(board.task, draws[name]) if name in draws else NO_VALUES for name in names)
        for compared, on_next in zip(on_tasks, improvements_on_next(values), strict=True):
            compared.extend([on_next] if on_next else [])
    for row, compared in zip(rows, on_tasks, strict=True):
        yield row, _next(compared)


def _next(tasks: Sequence[Improvement]) -> NextJson:
    if not tasks:
        return {"improvement_on_next": None}
    probability, low, high = mean_improvement(tasks)
    return {"improvement_on_next": {"probability": probability, "low": low, "high": high}}


def estimate_document(estimate: Estimate) -> EstimateJson:
    """A score and its interval; null where there is none."""
    return {"score": value_or_none(estimate.score), "low": value_or_none(estimate.low), "high": value_or_none(estimate.high)}


def metric_document(metric: Metric) -> MetricJson:
    """What a metric is."""
    return {
        "name": metric.name, "kind": metric.kind, "direction": metric.direction, "decimals": metric.decimals,
        "description": metric.description, "threshold": metric.threshold,
    }  # fmt: skip


def failure_document(failure: Failure) -> UnscoredJson:
    """An entry without a score."""
    result = failure.result
    return {**entry_document(failure.entry), "verdict": result.verdict, "message": result.message}


def claim_document(failure: Failure) -> ClaimJson:
    """The score that a script only claims."""
    return {} if failure.claimed is None else {"claimed": serialise.finite(failure.claimed)}


def exclusion_document(exclusion: Exclusion) -> ExclusionJson:
    """Why moderation keeps an entry off the leaderboard."""
    return {"since": exclusion.since, "who": exclusion.who, "why": exclusion.why, "link": exclusion.link}


def excluded_document(excluded: Excluded) -> ExcludedJson:
    """An entry that moderation keeps off the leaderboard."""
    return {"login": excluded.login, "agent": excluded.agent, **exclusion_document(excluded.exclusion)}


def withdrawn_document(withdrawn: WithdrawnScore) -> WithdrawnJson:
    """An entry that is no longer on main."""
    result = withdrawn.result
    return {
        "login": withdrawn.login,
        "agent": withdrawn.agent,
        "score": withdrawn.score,
        "verdict": result.verdict,
        "evaluated_at": result.provenance.evaluated_at,
        "key": None if _ANONYMOUS_LOGIN.fullmatch(withdrawn.login) else result.key,
    }


def rated_row(row: GameRow) -> RatedRowJson:
    """One rated player."""
    return {**place_document(row), **entry_document(row.entry), **rated_document(row)}


def rated_document(row: GameRow) -> RatedJson:
    """What was measured for a player."""
    return {
        "rating": _rating(row.rating),
        **_count(row.count),
        "points_place": row.points_place,
        "opponents": row.opponents,
        "attempts": row.attempts,
        "since": row.since,
    }


def _rating(rating: Rating) -> RatingJson:
    return {"elo": rating.elo, "low": rating.low, "high": rating.high}


def _count(count: WinCount) -> CountJson:
    return {
        "wins": count.wins, "draws": count.ties, "losses": count.losses, "errors": count.errors, "score": count.score,
        "points": count.points,
    }  # fmt: skip


def _game_failure(failure: GameFailure) -> GameFailureJson:
    return {
        **entry_document(failure.entry), "reason": failure.reason, "attempts": failure.attempts, "key": failure.duel.key,
    }  # fmt: skip


def _head_to_head(pair: tuple[AgentName, AgentName], pairing: HeadToHead) -> HeadToHeadJson:
    return {
        "row": _agent_path(pair[0]), "column": _agent_path(pair[1]), **_count(pairing.count), "key": pairing.duel.key,
    }  # fmt: skip


def _agent_path(name: AgentName) -> str:
    return f"{name[0]}/{name[1]}"
