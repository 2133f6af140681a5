"""The standings as JSON: what `pullrank rank --json` prints, with the rows of the overall leaderboard."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from leaderboard.api.entry_json import (
    ClosedObject,
    EntryJson,
    EstimateJson,
    LinksJson,
    NextJson,
    PlaceJson,
    entry_document,
    estimate_document,
    next_document,
    place_document,
)
from leaderboard.api.game_leaderboards import GameStandingsJson, game_document
from leaderboard.api.task_leaderboards import TaskStandingsJson, task_document
from leaderboard.core.standings import OverallRow, Standings
from leaderboard.scoring.metrics import value_or_none
from leaderboard.scoring.score_all import LEAST_COUNTED, MOST_COUNTED, common_scale
from leaderboard.scoring.significance import NO_VALUES, Improvement, compared_values, improvements_on_next


class OverallScoresJson(ClosedObject):
    """The score of an entry across all tasks."""

    estimate: EstimateJson
    iqm: Annotated[float, Field(description="interquartile mean over all episodes of all tasks; it does not rank")]
    iqm_low: Annotated[float | None, Field(description="stratified bootstrap over tasks; null where a score is one number")]
    iqm_high: float | None
    normalised: dict[str, float | None]
    clipped: Annotated[list[str], Field(description="tasks whose normalised score counts as 0 or as 2")]
    played: Annotated[int, Field(description="tasks with a score, of those in `normalised`")]


def overall_scores(row: OverallRow) -> OverallScoresJson:
    """The score of one entry across all tasks."""
    return {
        "estimate": estimate_document(row.estimate), "iqm": row.iqm.score, "iqm_low": value_or_none(row.iqm.low),
        "iqm_high": value_or_none(row.iqm.high), "normalised": row.normalised,
        "clipped": row.beyond(LEAST_COUNTED, MOST_COUNTED), "played": row.played,
    }  # fmt: skip


class RankedOverallJson(PlaceJson, EntryJson, OverallScoresJson, NextJson):
    """A row of the overall leaderboard as `pullrank rank --json` prints it."""


def overall_row(row: OverallRow, beside: NextJson) -> RankedOverallJson:
    """One entry across all tasks."""
    return {**place_document(row), **entry_document(row.entry), **overall_scores(row), **beside}


class OverallRowJson(RankedOverallJson, LinksJson):
    """A row of the overall leaderboard."""


def overall_improvements(standings: Standings) -> Iterator[tuple[OverallRow, NextJson]]:
    """Each row of the overall leaderboard, and how it compares with the next one on the tasks that both have played."""
    rows = standings.overall
    on_tasks: list[list[Improvement]] = [[] for _ in rows]
    for board in standings.tasks:
        if not any(common_scale(board.task)):
            continue
        pooled = {scored.entry.name: scored.pooled_results for scored in board.rows}
        names = (row.entry.name for row in rows)
        values = (compared_values(board.task, pooled[name]) if name in pooled else NO_VALUES for name in names)
        for compared, on_next in zip(on_tasks, improvements_on_next(values), strict=True):
            compared.extend([on_next] if on_next else [])
    for row, compared in zip(rows, on_tasks, strict=True):
        yield row, next_document(compared)


class StandingsJson(ClosedObject):
    """What `pullrank rank --json` prints."""

    title: str
    season: str
    official: bool
    overall: list[RankedOverallJson]
    tasks: list[TaskStandingsJson]
    games: list[GameStandingsJson]


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
