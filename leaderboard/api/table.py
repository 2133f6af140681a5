"""A board as a table of bare values: what the sorting and filtering table of a page is fed with."""

from collections.abc import Collection, Iterator
from typing import Any

from evaluator.model.challenge import Task
from evaluator.model.metric import Direction
from evaluator.model.result import Result
from evaluator.model.verdict import Verdict, in_plain_words
from leaderboard import format
from leaderboard.api import text
from leaderboard.api.documents import Document, metric_document
from leaderboard.api.facts import Facts
from leaderboard.entry import Entry
from leaderboard.game_standings import GameBoard, GameRow
from leaderboard.metrics import known, metrics_of
from leaderboard.standings import Excluded, Row, Standings, TaskBoard, Withdrawn

_FIRST = (
    "place", "rank_low", "rank_high", "with_leader", "login", "agent", "name", "algorithm", "authors", "score", "low",
    "high",
)  # fmt: skip
_SOLO = ("episodes", "attempts", "cpu_seconds", "peak_memory_bytes", "kind", "evaluated_at", "flags", "verdict", "message")
_GAME = ("wins", "draws", "losses", "errors", "points", "opponents")
# A further metric's column: it may be called like another column.
METRIC = "metric:"


def files(facts: Facts) -> Iterator[tuple[str, bytes]]:
    """The table of each task and game."""
    for board in facts.standings.tasks:
        yield text.task_file(board.task.id, "table.json"), text.dumps(table(board, facts.context.reproduced))
    for game in facts.standings.games:
        yield text.task_file(game.task.id, "table.json"), text.dumps(game_table(game, facts.standings))


def table(board: TaskBoard, reproduced: Collection[str] = ()) -> Document:
    """A task's; `reproduced` are the keys of results that came out again."""
    task = board.task
    further = [f"{METRIC}{metric.name}" for metric in metrics_of(task)[1:]]
    columns = [*_FIRST, *further, *_SOLO]
    best = board.best
    leader = None if best is None else next(index for index, row in enumerate(board.rows) if row is best)
    ranking = metrics_of(task)[0]
    return {
        "task": task.id,
        "columns": columns,
        "rows": [_row(row, task.counted, row.result.key in reproduced) for row in board.rows],
        "failures": [[found.get(name) for name in columns] for found in _gone(board)],
        "decimals": ranking.decimals,
        "direction": ranking.direction.value,
        "metrics": [metric_document(metric) for metric in metrics_of(task)],
        "leader": leader,
    }


def game_table(game: GameBoard, standings: Standings) -> Document:
    """A game's: the rating is the score."""
    columns = [*_FIRST, *_GAME, *_SOLO]
    leader = next((index for index, row in enumerate(game.rows) if not row.entry.is_aside), 0) if game.rows else None
    return {
        "task": game.task.id,
        "columns": columns,
        "rows": [_game_row(row) for row in game.rows],
        "failures": [[found.get(name) for name in columns] for found in _game_gone(game)],
        "decimals": 0,
        "direction": Direction.HIGHER.value,
        "metrics": [_rating(game.task)],
        "leader": leader,
    }


def flags(entry: Entry) -> list[str]:
    """What marks an entry, in words that its page has too."""
    found = {"baseline": entry.baseline, "host": entry.host, "anonymous": entry.anonymous, "verified": bool(entry.verified)}
    return [name for name, is_set in found.items() if is_set]


def reason(result: Result) -> str:
    """Why there is no score."""
    return result.message or in_plain_words(result.verdict)


def _rating(task: Task) -> Document:
    return {
        "name": "Rating", "kind": "rating", "direction": "higher", "decimals": 0, "threshold": None,
        "description": f"Strength in {task.title or task.id} on the Elo scale",
    }  # fmt: skip


def _row(row: Row, counted: int, is_reproduced: bool) -> list[Any]:
    entry, result, estimate = row.entry, row.result, row.estimate
    manifest = entry.submission
    return [
        None if entry.is_aside else row.place, row.rank_low, row.rank_high, row.with_leader,
        entry.login, entry.agent, manifest.name, manifest.algorithm, ", ".join(manifest.authors),
        known(estimate.score), known(estimate.low), known(estimate.high), *map(known, row.others),
        counted if result.sealed else len(result.returns), row.attempts,
        result.cost.cpu_seconds, result.cost.peak_memory_bytes, manifest.kind.value,
        format.day(result.provenance.evaluated_at), [*flags(entry), *["reproduced"] * is_reproduced], Verdict.OK.value, "",
    ]  # fmt: skip


def _game_row(row: GameRow) -> list[Any]:
    entry, count, rating = row.entry, row.count, row.rating
    manifest = entry.submission
    return [
        None if entry.is_aside else row.place, row.rank_low, row.rank_high, row.with_leader,
        entry.login, entry.agent, manifest.name, manifest.algorithm, ", ".join(manifest.authors),
        rating.elo, rating.low, rating.high,
        count.wins, count.draws, count.losses, count.errors, count.points, row.opponents,
        count.matches, row.attempts, None, None, manifest.kind.value, format.day(row.since), flags(entry),
        Verdict.OK.value, "",
    ]  # fmt: skip


def _gone(board: TaskBoard) -> Iterator[Document]:
    """Who has no place: failed, self-reported, waiting, excluded, withdrawn, each with the reason."""
    for one in board.failures:
        claimed = one.claimed is not None
        more = [*flags(one.entry), *(["self-reported"] if claimed else [])]
        words = {"verdict": one.result.verdict.value, "message": reason(one.result), "flags": more}
        numbers = {"score": text.finite(one.claimed), "attempts": one.attempts}
        yield {**_who(one.entry), **_measured(one.result), **words, **numbers}
    for entry in board.waiting:
        yield _waiting(entry)
    for out in board.excluded:
        yield _excluded(out)
    for left in board.withdrawn:
        yield _withdrawn(left)


def _game_gone(game: GameBoard) -> Iterator[Document]:
    for one in game.failures:
        words = {"verdict": "refused", "message": one.reason, "flags": flags(one.entry)}
        day = format.day(one.duel.provenance.evaluated_at)
        yield {**_who(one.entry), **words, "evaluated_at": day, "attempts": one.attempts}
    for entry in game.waiting:
        yield _waiting(entry)
    for out in game.excluded:
        yield _excluded(Excluded(login=out.login, agent=out.agent, exclusion=out.exclusion))


def _who(entry: Entry) -> Document:
    manifest = entry.submission
    named = {"login": entry.login, "agent": entry.agent, "name": manifest.name, "algorithm": manifest.algorithm}
    return {**named, "authors": ", ".join(manifest.authors), "kind": manifest.kind.value}


def _measured(result: Result) -> Document:
    cost = {"cpu_seconds": result.cost.cpu_seconds, "peak_memory_bytes": result.cost.peak_memory_bytes}
    return {**cost, "evaluated_at": format.day(result.provenance.evaluated_at)}


def _waiting(entry: Entry) -> Document:
    words = {"verdict": "waiting", "message": "Entered, and not evaluated yet.", "flags": flags(entry)}
    return {**_who(entry), **words}


def _excluded(one: Excluded) -> Document:
    said = one.exclusion
    words = {"verdict": "excluded", "message": said.why, "flags": ["excluded"], "evaluated_at": said.since}
    return {"login": one.login, "agent": one.agent, "name": one.agent, **words}


def _withdrawn(one: Withdrawn) -> Document:
    last = one.result
    words = {"verdict": "withdrawn", "message": "Its folder is on main no more.", "flags": ["withdrawn"]}
    return {"login": one.login, "agent": one.agent, "name": one.agent, **_measured(last), **words, "score": one.score}
