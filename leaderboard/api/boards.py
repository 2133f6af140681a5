"""The boards of tasks: every row with what pages show of it, in the orders that readers ask for, and as CSV."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from evaluator.model.result import Cost
from leaderboard.api import text
from leaderboard.api.documents import Document, excluded_document, failure_document, rows_of, withdrawn_document
from leaderboard.api.facts import Facts
from leaderboard.api.games import game_document, game_row, who
from leaderboard.game_standings import GameBoard, GameRow
from leaderboard.standings import Entry, Row, TaskBoard

# Rows of an order that is not the board's own.
MOST = 500
_MEDALS = {1: "gold", 2: "silver", 3: "bronze"}
# What a spreadsheet has no use for, or has in columns of its own.
_NOT_IN_CSV = ("estimate", "metrics", "rating", "cost", "baseline", "host", "anonymous", "verified", "api")


def files(facts: Facts) -> Iterator[tuple[str, bytes]]:
    """The documents of all tasks and games."""
    for board in facts.standings.tasks:
        of_row = full_row(board, facts)
        rows = [of_row(row) for row in board.rows]
        yield from _written(board.task.id, rows, _gone(board))
    for game in facts.standings.games:
        rows = [full_game_row(row) for row in game.rows]
        yield from _written(game.task.id, rows, _game_gone(game))
        whole = game_document(game)
        duels = {"task": game.task.id, "crosstable": whole["crosstable"], "history": whole["history"]}
        yield text.task_file(game.task.id, "duels.json"), text.dumps(duels)


def full_row(board: TaskBoard, facts: Facts) -> Callable[[Row], Document]:
    """What says one row of a board to machines: all that `pullrank rank --json` says, and what pages show besides."""
    measured = measured_row(board)

    def document_of(row: Row) -> Document:
        entry = row.entry
        return {**measured(row), **_about(entry), "since": facts.since(entry, row.result), **_where(entry)}

    return document_of


def measured_row(board: TaskBoard) -> Callable[[Row], Document]:
    """The same without what is said of its entry."""
    shared = rows_of(board)

    def document_of(row: Row) -> Document:
        return {
            **shared(row),
            "evaluated_at": row.result.provenance.evaluated_at,
            "cost": cost_document(row.result.cost),
            "medal": None if row.estimate.is_missing else medal(row),
        }

    return document_of


def full_game_row(row: GameRow) -> Document:
    """The same of a rated player; its score is its rating."""
    return {
        **game_row(row), **_about(row.entry), "evaluated_at": row.since, "episodes": row.count.matches,
        "medal": medal(row), **_where(row.entry),
    }  # fmt: skip


def medal(row: Row | GameRow) -> str | None:
    """For the first three places, whatever the sign of the score; who has no place of its own has none."""
    return None if row.entry.is_aside else _MEDALS.get(row.place)


def cost_document(cost: Cost) -> Document:
    """What an agent used."""
    return {
        "cpu_seconds": cost.cpu_seconds, "wall_seconds": cost.wall_seconds, "peak_memory_bytes": cost.peak_memory_bytes,
        "steps": cost.steps,
    }  # fmt: skip


def _about(entry: Entry) -> Document:
    manifest = entry.submission
    return {"algorithm": manifest.algorithm, "authors": list(manifest.authors), "kind": manifest.kind.value}


def _where(entry: Entry) -> Document:
    file = text.agent_file(entry.login, entry.agent)
    return {"page": text.agent_address(entry.login, entry.agent), "api": text.address(file)}


def _gone(board: TaskBoard) -> Document:
    failures = []
    for one in board.failures:
        claim = {} if one.claimed is None else {"claimed": text.finite(one.claimed)}
        more = {"attempts": one.attempts, "evaluated_at": one.result.provenance.evaluated_at}
        failures.append({**failure_document(one), **claim, **more, **_where(one.entry)})
    return {
        "failures": failures,
        "waiting": [who(entry) for entry in board.waiting],
        "excluded": [excluded_document(one) for one in board.excluded],
        "withdrawn": [withdrawn_document(one) for one in board.withdrawn],
    }


def _game_gone(game: GameBoard) -> Document:
    whole = game_document(game)
    kept = ("failures", "waiting", "excluded", "anchor", "prior", "cycle")
    return {**{name: whole[name] for name in kept}, "withdrawn": []}


def _written(task_id: str, rows: Sequence[Document], gone: Document) -> Iterator[tuple[str, bytes]]:
    def file(name: str, order: str, chosen: Sequence[Document]) -> tuple[str, bytes]:
        found = {"task": task_id, "order": order, "count": len(rows), "rows": chosen, **gone}
        return text.task_file(task_id, name), text.dumps(found)

    yield file("leaderboard.json", "place", rows)
    by_date = sorted(rows, key=lambda row: str(row["evaluated_at"]))
    gone = {}
    yield file("leaderboard-oldest.json", "oldest", by_date[:MOST])
    yield file("leaderboard-newest.json", "newest", by_date[: -MOST - 1 : -1])
    yield text.task_file(task_id, "leaderboard.csv"), _csv(rows)


def _csv(rows: Sequence[Document]) -> bytes:
    """One line for each row; a board without rows is its header alone."""
    lines = [_flat(row) for row in rows]
    return text.csv_text([tuple(lines[0] if lines else _HEADER), *(line.values() for line in lines)])


_HEADER = (
    "place", "rank_low", "rank_high", "with_leader", "login", "agent", "name", "algorithm", "authors", "kind", "score",
    "low", "high",
)  # fmt: skip


def _flat(row: Document) -> Document:
    """A row without anything nested: places and names first, then the score, then all the rest."""
    rating = row.get("rating")
    score = {"score": rating["elo"], "low": rating["low"], "high": rating["high"]} if rating else row["estimate"]
    flags = [name for name in ("baseline", "host", "anonymous", "verified") if name in row]
    further = {f"metric:{name}": value for name, value in list(row.get("metrics", {}).items())[1:]}
    # A game's own `score` is the sum of what the game gave; beside the rating it has another name.
    rest = {("returns" if name == "score" else name): value for name, value in row.items() if name not in _NOT_IN_CSV}
    named: dict[str, Any] = {**rest, "authors": "; ".join(row["authors"])}
    first = {name: named.pop(name) for name in _HEADER if name in named}
    return {**first, **score, **further, **named, **row.get("cost", {}), "flags": " ".join(flags)}
