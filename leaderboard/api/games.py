"""A game's board as JSON: names and numbers, without the duels themselves."""

from typing import Any

from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import Count, Crossing, GameBoard, GameExcluded, GameFailure, GameRow, Name


def game_document(board: GameBoard) -> dict[str, Any]:
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


def _shown(name: Name) -> str:
    return f"{name[0]}/{name[1]}"


def _count(count: Count) -> dict[str, Any]:
    named = {"wins": count.wins, "draws": count.draws, "losses": count.losses, "errors": count.errors}
    return {**named, "score": count.score, "points": count.points}


def _crossing(names: tuple[Name, Name], one: Crossing) -> dict[str, Any]:
    return {"row": _shown(names[0]), "column": _shown(names[1]), **_count(one.count), "key": one.duel.key}


def _failure(one: GameFailure) -> dict[str, Any]:
    return {**who(one.entry), "reason": one.reason, "attempts": one.attempts, "key": one.duel.key}


def _excluded(one: GameExcluded) -> dict[str, Any]:
    return {"login": one.login, "agent": one.agent, **one.exclusion.model_dump(include={"since", "who", "why", "link"})}
