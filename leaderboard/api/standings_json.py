"""The standings as JSON: what `pullrank rank --json` prints, and what the site's documents are made of."""

import re
from collections.abc import Callable
from typing import Any

from evaluator.model.config.metric import Metric
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import GameExcluded, GameFailure, GameRow, GameStandings, HeadToHead, WinCount
from leaderboard.core.standings import Estimate, Excluded, Failure, OverallRow, Row, Standings, TaskStandings, WithdrawnScore
from leaderboard.scoring.metrics import known_metrics, metrics_of


def game_document(board: GameStandings) -> dict[str, Any]:
    """One game's board."""
    return {
        "task": board.task.id,
        "anchor": board.anchor,
        "rows": [game_row(row) for row in board.rows],
        "failures": [_failure(one) for one in board.failures],
        "waiting": [who(entry) for entry in board.waiting],
        "excluded": [_excluded(one) for one in board.excluded],
        "crosstable": [_crossing(names, one) for names, one in sorted(board.crosstable.items(), key=lambda item: item[0])],
        "prior": list(board.prior),
        "cycle": {"names": list(board.cycle.names), "share": board.cycle.share, "triads": board.cycle.triads},
        "history": [
            {"day": moment.day, "elo": {_shown(name): elo for name, elo in sorted(moment.elo.items())}}
            for moment in board.history
        ],
    }


def who(entry: Entry) -> dict[str, Any]:
    """By which an entry is told."""
    return {"login": entry.login, "agent": entry.agent, "name": entry.submission.name, **flags(entry)}


def flags(entry: Entry) -> dict[str, Any]:
    """What the hosts say of an entry; each flag is there only where it is set."""
    found: dict[str, Any] = {}
    if entry.baseline:
        found["baseline"] = True
    if entry.host:
        found["host"] = True
    if entry.anonymous:
        found["anonymous"] = True
    if entry.verified:
        found["verified"] = entry.verified.model_dump(mode="json", include={"since", "who", "why", "link"})
    return found


def game_row(row: GameRow) -> dict[str, Any]:
    """One rated player."""
    return {
        "place": None if row.entry.is_aside else row.place,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "with_leader": row.with_leader,
        **who(row.entry),
        "rating": {"elo": row.rating.elo, "low": row.rating.low, "high": row.rating.high},
        **_count(row.count),
        "points_place": row.points_place,
        "opponents": row.opponents,
        "attempts": row.attempts,
        "since": row.since,
    }


def _shown(name: AgentName) -> str:
    return f"{name[0]}/{name[1]}"


def _count(count: WinCount) -> dict[str, Any]:
    named = {"wins": count.wins, "draws": count.draws, "losses": count.losses, "errors": count.errors}
    return {**named, "score": count.score, "points": count.points}


def _crossing(names: tuple[AgentName, AgentName], one: HeadToHead) -> dict[str, Any]:
    return {"row": _shown(names[0]), "column": _shown(names[1]), **_count(one.count), "key": one.duel.key}


def _failure(one: GameFailure) -> dict[str, Any]:
    return {**who(one.entry), "reason": one.reason, "attempts": one.attempts, "key": one.duel.key}


def _excluded(one: GameExcluded) -> dict[str, Any]:
    return {"login": one.login, "agent": one.agent, **one.exclusion.model_dump(include={"since", "who", "why", "link"})}


Document = dict[str, Any]
# Whoever left has no entry that says whether its name is shown, so it is told by the name it has meanwhile.
_MASKED = re.compile(r"entry-[0-9a-f]{8}")


def standings_document(table: Standings) -> Document:
    """The standings: names and numbers, without the raw results."""
    return {
        "title": table.challenge.title,
        "season": table.challenge.season,
        "official": table.official,
        "overall": [overall_row(row) for row in table.overall],
        "tasks": [task_document(board) for board in table.tasks],
        "games": [game_document(board) for board in table.games],
    }


def task_document(board: TaskStandings) -> Document:
    """One task's board."""
    row = rows_of(board)
    return {
        "task": board.task.id,
        "metrics": [metric_document(metric) for metric in metrics_of(board.task)],
        "ties": list(board.task.ties),
        "rows": [row(one) for one in board.rows],
        "failures": [failure_document(one) for one in board.failures],
        "waiting": [who(entry) for entry in board.waiting],
        "excluded": [excluded_document(one) for one in board.excluded],
        "withdrawn": [withdrawn_document(one) for one in board.withdrawn],
    }


def rows_of(board: TaskStandings) -> Callable[[Row], Document]:
    """What says one row of a board; what all rows share is looked up once."""
    names = [metric.name for metric in metrics_of(board.task)]
    counted = board.task.counted

    def document_of(row: Row) -> Document:
        result, values = row.result, (row.estimate.score, *row.others)
        return {
            **_place(row),
            "metrics": {name: known_metrics(value) for name, value in zip(names, values, strict=True)},
            "attempts": row.attempts,
            "episodes": counted if result.sealed else len(result.returns),
            # A result's file is found by its key, and its path says whose it is.
            "key": None if row.entry.anonymous else result.key,
        }

    return document_of


def overall_row(row: OverallRow) -> Document:
    """One entry across all tasks."""
    return {**_place(row), "iqm": row.iqm, "normalised": row.normalised}


def failure_document(one: Failure) -> Document:
    """An entry without a score."""
    return {**who(one.entry), "verdict": one.result.verdict, "message": one.result.message}


def excluded_document(one: Excluded) -> Document:
    """An entry that moderation keeps off the board."""
    return {"login": one.login, "agent": one.agent, **one.exclusion.model_dump(include={"since", "who", "why", "link"})}


def withdrawn_document(one: WithdrawnScore) -> Document:
    """An entry that stands on main no more."""
    last = one.result
    key = None if _MASKED.fullmatch(one.login) else last.key
    measured = {"score": one.score, "verdict": last.verdict, "evaluated_at": last.provenance.evaluated_at, "key": key}
    return {"login": one.login, "agent": one.agent, **measured}


def metric_document(metric: Metric) -> Document:
    """What a metric is."""
    return metric.model_dump(mode="json", include={"name", "kind", "direction", "decimals", "threshold", "description"})


def estimate_document(estimate: Estimate) -> Document:
    """A score and its interval; null where there is none."""
    return {"score": known_metrics(estimate.score), "low": known_metrics(estimate.low), "high": known_metrics(estimate.high)}


def _place(row: Row | OverallRow) -> Document:
    return {
        "place": None if row.entry.is_aside else row.place,
        "rank_low": row.rank_low,
        "rank_high": row.rank_high,
        "with_leader": row.with_leader,
        **who(row.entry),
        "estimate": estimate_document(row.estimate),
    }
