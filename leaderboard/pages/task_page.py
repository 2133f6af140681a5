"""The page of a task: its leaderboard, what the table can resolve, and its history."""

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from leaderboard.api.table_columns import task_columns, task_lines
from leaderboard.charts import history_charts, interval_charts
from leaderboard.core.standings import TaskStandings
from leaderboard.history import BestScore, LeaderboardHistory, RankHistory
from leaderboard.pages import episode_replays
from leaderboard.scoring.metrics import any_sealed, digits
from leaderboard.scoring.significance import smallest_difference
from leaderboard.site_context import SiteContext
from leaderboard.text import urls
from leaderboard.text.format import day, number

# Record scores that the page lists.
SHOWN_BEST_SCORES = 20


@dataclass(frozen=True, kw_only=True)
class TaskHistory:
    """The history of a task's leaderboard."""

    best_chart: Markup
    best_scores: tuple[BestScore, ...]
    """The newest scores that were the best when they were measured, newest first."""
    places_chart: Markup | None
    """Chart of the places of the first entries; None if no entry has a place now."""
    rank_histories: tuple[RankHistory, ...]
    """The entries of that chart, in the order of their colours."""


def significant_difference(board: TaskStandings) -> str | None:
    """The typical smallest significant difference of two scores, formatted; None if unknown, or if it would read as 0."""
    if any_sealed(row.result for row in board.rows):
        return None
    difference = smallest_difference(board.rows)
    if difference is None or difference < 0.5 * 10 ** -digits(board.task):
        return None
    return number(difference, digits(board.task))


def task_history(board: TaskStandings, history: LeaderboardHistory) -> TaskHistory | None:
    """The history of a leaderboard; None before it has results of two days."""
    best_scores, ranks = history.best_scores(board), history.places_over_time(board)
    times = [best.at for best in best_scores] + [at for line in ranks for at, _ in line.places]
    if not best_scores or day(min(times)) == day(max(times)):
        return None
    ends = (min(times), max(times))
    return TaskHistory(
        best_chart=history_charts.best_score_chart(best_scores, ends, digits(board.task)),
        best_scores=best_scores[: -SHOWN_BEST_SCORES - 1 : -1],
        places_chart=history_charts.places_chart(ranks, ends) if ranks else None,
        rank_histories=ranks,
    )


def render_task_page(board: TaskStandings, page: Callable[..., str], context: SiteContext, past: LeaderboardHistory) -> str:
    """The page as Markdown; `page` renders a template."""
    return page(
        urls.task_page(board.task.id), "task.md.jinja", board=board, task=board.task,
        scale=interval_charts.table_scale(board), history=task_history(board, past),
        shown_columns=task_columns(board.task), lines=task_lines(board, context.reproduced),
        difference=significant_difference(board), replays=episode_replays.task_replays(board, context.episodes),
    )  # fmt: skip
