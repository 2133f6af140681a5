"""A board as a table of bare values: what the sorting and filtering table of a page is fed with."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from evaluator.model.config.challenge import Task
from evaluator.model.config.metric import Direction
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict, in_plain_words
from leaderboard.api.rows import METRIC, RowCache, entry_flags, flag_words
from leaderboard.api.standings_json import Document, metric_document
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import Excluded, Standings, TaskStandings, WithdrawnScore
from leaderboard.scoring.metrics import metrics_of
from leaderboard.text import format, serialise

_PLACE = ("place", "rank_low", "rank_high", "with_leader")
_FIRST = (
    *_PLACE, "login", "agent", "name", "algorithm", "authors", "score", "low",
    "high",
)  # fmt: skip
_SOLO = ("episodes", "attempts", "cpu_seconds", "peak_memory_bytes", "kind", "evaluated_at", "flags", "verdict", "message")
_GAME = ("wins", "draws", "losses", "errors", "points", "opponents")


def task_table(board: TaskStandings, sheet: RowCache, reproduced: Collection[str] = ()) -> bytes:
    """The table of a task; `reproduced` are the keys of results that came out again."""
    task = board.task
    further = [f"{METRIC}{metric.name}" for metric in metrics_of(task)[1:]]
    columns = [*_FIRST, *further, *_SOLO]
    best = board.best
    leader = None if best is None else next(index for index, row in enumerate(board.rows) if row is best)
    ranking = metrics_of(task)[0]
    tail = {
        "failures": [[found.get(name) for name in columns] for found in _gone(board)],
        "decimals": ranking.decimals,
        "direction": ranking.direction.value,
        "metrics": [metric_document(metric) for metric in metrics_of(task)],
        "leader": leader,
    }
    return serialise.wrap_json_list(
        {"task": task.id, "columns": columns}, "rows", _rows(board, sheet, further, reproduced), tail
    )


def _rows(board: TaskStandings, sheet: RowCache, further: Sequence[str], reproduced: Collection[str]) -> list[str]:
    """Each row as JSON."""
    found = sheet.columns
    days = [f'"{format.day(row.result.provenance.evaluated_at)}"' for row in board.rows]
    said = [
        flag_words((*one.flags, "reproduced") if row.result.key in reproduced else one.flags)
        for one, row in zip(sheet.said, board.rows, strict=True)
    ]
    numbers = ("score", "low", "high", *further, "episodes", "attempts", "cpu_seconds", "peak_memory_bytes")
    parts = zip(
        *(found[name] for name in _PLACE), [one.names for one in sheet.said], *(found[name] for name in numbers),
        [one.kind for one in sheet.said], days, said, strict=True,
    )  # fmt: skip
    return [f'[{",".join(cells)},"{Verdict.OK.value}",""]' for cells in parts]


def game_table(game: GameStandings, standings: Standings) -> Document:
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


def failure_reason(result: Result) -> str:
    """Why there is no score."""
    return result.message or in_plain_words(result.verdict)


def _rating(task: Task) -> Document:
    return {
        "name": "Rating", "kind": "rating", "direction": "higher", "decimals": 0, "threshold": None,
        "description": f"Strength in {task.title or task.id} on the Elo scale",
    }  # fmt: skip


def _game_row(row: GameRow) -> list[Any]:
    entry, count, rating = row.entry, row.count, row.rating
    manifest = entry.submission
    return [
        None if entry.is_aside else row.place, row.rank_low, row.rank_high, row.with_leader,
        entry.login, entry.agent, manifest.name, manifest.algorithm, ", ".join(manifest.authors),
        rating.elo, rating.low, rating.high,
        count.wins, count.draws, count.losses, count.errors, count.points, row.opponents,
        count.matches, row.attempts, None, None, manifest.kind.value, format.day(row.since), entry_flags(entry),
        Verdict.OK.value, "",
    ]  # fmt: skip


def _gone(board: TaskStandings) -> Iterator[Document]:
    """Who has no place: failed, self-reported, waiting, excluded, withdrawn, each with the reason."""
    for one in board.failures:
        claimed = one.claimed is not None
        more = [*entry_flags(one.entry), *(["self-reported"] if claimed else [])]
        words = {"verdict": one.result.verdict.value, "message": failure_reason(one.result), "flags": more}
        numbers = {"score": serialise.finite(one.claimed), "attempts": one.attempts}
        yield {**_who(one.entry), **_measured(one.result), **words, **numbers}
    for entry in board.waiting:
        yield _waiting(entry)
    for out in board.excluded:
        yield _excluded(out)
    for left in board.withdrawn:
        yield _withdrawn(left)


def _game_gone(game: GameStandings) -> Iterator[Document]:
    for one in game.failures:
        words = {"verdict": "refused", "message": one.reason, "flags": entry_flags(one.entry)}
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
    words = {"verdict": "waiting", "message": "Entered, and not evaluated yet.", "flags": entry_flags(entry)}
    return {**_who(entry), **words}


def _excluded(one: Excluded) -> Document:
    said = one.exclusion
    words = {"verdict": "excluded", "message": said.why, "flags": ["excluded"], "evaluated_at": said.since}
    return {"login": one.login, "agent": one.agent, "name": one.agent, **words}


def _withdrawn(one: WithdrawnScore) -> Document:
    last = one.result
    words = {"verdict": "withdrawn", "message": "Its folder is on main no more.", "flags": ["withdrawn"]}
    return {"login": one.login, "agent": one.agent, "name": one.agent, **_measured(last), **words, "score": one.score}
