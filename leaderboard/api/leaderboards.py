"""The boards of tasks: every row with what pages show of it, in the orders that readers ask for, and as CSV."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from evaluator.model.records.result import Cost
from leaderboard.api import rows as sheets
from leaderboard.api.inputs import ApiInputs
from leaderboard.api.rows import RowCache, medal_of
from leaderboard.api.standings_json import (
    Document,
    excluded_document,
    failure_document,
    game_document,
    game_row,
    who,
    withdrawn_document,
)
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import Entry, TaskStandings
from leaderboard.text import serialise

# Rows of an order that is not the board's own.
MOST = 500
# What a spreadsheet has no use for, or has in columns of its own.
_NOT_IN_CSV = ("rating", "baseline", "host", "anonymous", "verified", "api")


def task_leaderboard_files(board: TaskStandings, sheet: RowCache, facts: ApiInputs) -> Iterator[tuple[str, bytes]]:
    """The documents of a task, but for its table."""
    since = facts.firsts(board)
    rows = [
        f'{{{place},{one.who},{measured},{one.about},"since":{serialise.json_text(at)},{one.where}}}'
        for place, measured, one, at in zip(
            sheets.places(sheet.columns), sheets.measured(board.task, sheet.columns), sheet.said, since, strict=True
        )
    ]
    yield from _written(board.task.id, rows, sheet.columns["evaluated_at"], _gone(board))
    yield serialise.task_file(board.task.id, "leaderboard.csv"), _csv(board, sheet, since)


def game_leaderboard_files(game: GameStandings) -> Iterator[tuple[str, bytes]]:
    """The documents of a game, but for its table."""
    rows = [full_game_row(row) for row in game.rows]
    written, moments = [serialise.json_text(row) for row in rows], [row.since for row in game.rows]
    yield from _written(game.task.id, written, moments, _game_gone(game))
    yield serialise.task_file(game.task.id, "leaderboard.csv"), _game_csv(rows)
    whole = game_document(game)
    duels = {"task": game.task.id, "crosstable": whole["crosstable"], "history": whole["history"]}
    yield serialise.task_file(game.task.id, "duels.json"), serialise.json_document(duels)


def full_game_row(row: GameRow) -> Document:
    """The same of a rated player; its score is its rating."""
    return {
        **game_row(row), **_about(row.entry), "evaluated_at": row.since, "episodes": row.count.matches,
        "medal": medal_of(row.entry, row.place), **_where(row.entry),
    }  # fmt: skip


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
    file = serialise.agent_file(entry.login, entry.agent)
    return {"page": serialise.agent_address(entry.login, entry.agent), "api": serialise.address(file)}


def _gone(board: TaskStandings) -> Document:
    failures = []
    for one in board.failures:
        claim = {} if one.claimed is None else {"claimed": serialise.finite(one.claimed)}
        more = {"attempts": one.attempts, "evaluated_at": one.result.provenance.evaluated_at}
        failures.append({**failure_document(one), **claim, **more, **_where(one.entry)})
    return {
        "failures": failures,
        "waiting": [who(entry) for entry in board.waiting],
        "excluded": [excluded_document(one) for one in board.excluded],
        "withdrawn": [withdrawn_document(one) for one in board.withdrawn],
    }


def _game_gone(game: GameStandings) -> Document:
    whole = game_document(game)
    kept = ("failures", "waiting", "excluded", "anchor", "prior", "cycle")
    return {**{name: whole[name] for name in kept}, "withdrawn": []}


def _written(task_id: str, rows: Sequence[str], moments: Sequence[str], gone: Document) -> Iterator[tuple[str, bytes]]:
    """Rows in three orders; `moments` say of each when it was measured."""

    def file(name: str, order: str, chosen: Iterable[str], more: Document) -> tuple[str, bytes]:
        head = {"task": task_id, "order": order, "count": len(rows)}
        return serialise.task_file(task_id, name), serialise.wrap_json_list(head, "rows", chosen, more)

    yield file("leaderboard.json", "place", rows, gone)
    by_date = sorted(range(len(rows)), key=moments.__getitem__)
    yield file("leaderboard-oldest.json", "oldest", [rows[index] for index in by_date[:MOST]], {})
    yield file("leaderboard-newest.json", "newest", [rows[index] for index in by_date[: -MOST - 1 : -1]], {})


_HEADER = (
    "place", "rank_low", "rank_high", "with_leader", "login", "agent", "name", "algorithm", "authors", "kind", "score",
    "low", "high",
)  # fmt: skip
# What follows the metrics of a task.
_REST = (
    "attempts", "episodes", "key", "evaluated_at", "medal", "since", "page", "cpu_seconds", "wall_seconds",
    "peak_memory_bytes", "steps", "flags",
)  # fmt: skip


def _csv(board: TaskStandings, sheet: RowCache, since: Sequence[str]) -> bytes:
    """One line for each row; a board without rows is its header alone."""
    if not board.rows:
        return serialise.csv_text([_HEADER])
    further = [name for name in sheet.columns if name.startswith(sheets.METRIC)]
    known = {name: _cells(own) for name, own in sheet.columns.items()}
    # Text takes another form here than in JSON. These are digits and words of ours: nothing of them needs quotes.
    for name in ("key", "evaluated_at", "medal"):
        known[name] = [cell.strip('"') for cell in known[name]]
    known["since"] = list(since)
    known["page"] = [one.page for one in sheet.said]
    known["flags"] = [" ".join(one.flags) for one in sheet.said]
    # From the login to the kind.
    said = [one.cells for one in sheet.said]
    order = [known[name] for name in ("score", "low", "high", *further, *_REST)]
    lines = zip(*(known[name] for name in _HEADER[:4]), said, *order, strict=True)
    whole = "".join([f"{','.join(cells)}\r\n" for cells in lines])
    return serialise.csv_text([(*_HEADER, *further, *_REST)]) + whole.encode("utf-8", "replace")


def _cells(column: Sequence[str]) -> list[str]:
    """Bare JSON values as cells: only what there is not is written otherwise."""
    return ["" if value == "null" else value for value in column]


def _game_csv(rows: Sequence[Document]) -> bytes:
    lines = [_flat(row) for row in rows]
    return serialise.csv_text([tuple(lines[0] if lines else _HEADER), *(line.values() for line in lines)])


def _flat(row: Document) -> Document:
    """A player without anything nested: places and names first, then the rating as its score, then all the rest."""
    rating = row["rating"]
    flags = [name for name in ("baseline", "host", "anonymous", "verified") if name in row]
    # A game's own `score` is the sum of what the game gave; beside the rating it has another name.
    rest = {("returns" if name == "score" else name): value for name, value in row.items() if name not in _NOT_IN_CSV}
    named: dict[str, Any] = {**rest, "authors": "; ".join(row["authors"])}
    first = {name: named.pop(name) for name in _HEADER if name in named}
    return {**first, "score": rating["elo"], "low": rating["low"], "high": rating["high"], **named, "flags": " ".join(flags)}
