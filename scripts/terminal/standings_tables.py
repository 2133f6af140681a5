"""Tables of the standings: overall, of each task and of each game."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.config.task import Task
from leaderboard.core.entry import EXAMPLES_LOGIN, INTERVAL_NAME
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import OverallRow, Standings, TaskRow, TaskStandings
from leaderboard.scoring.metrics import arrow, better, digits, metrics_of, other_metrics, ranking_metric
from leaderboard.scoring.score_all import MOST_COUNTED
from leaderboard.text.format import NONE, SUPERSEDED_TAG, tries_mark
from scripts.terminal.terminal_output import interval_text, new_table, number_text, output_console, print_table, safe_text

# With more players the crosstable is on the site only.
MAX_CROSSTABLE_ROWS = 12
SHOWN_UNCOUNTED = 10
# In place of an author, for an agent that has none.
EXAMPLE = "(example)"


def standings_tables(standings: Standings) -> None:
    """Print the overall standings, and those of each task and game."""
    console = output_console()
    console.print(safe_text(f"{standings.challenge.title}, season {standings.challenge.season}", style="bold"))
    if not standings.official:
        console.print(
            safe_text(f"A local leaderboard: public seeds, measured on this machine. {EXAMPLE}: of example_agents/.")
        )
    if standings.overall:
        print_table(console, _overall_table(standings))
    for task in standings.tasks:
        print_table(console, _task_table(task))
        _print_uncounted(console, task)
    for game in standings.games:
        game_tables(game)
        _print_uncounted(console, game)


def _print_uncounted(out: Console, standings: TaskStandings | GameStandings) -> None:
    """Say of entries whose results do not count why not; one that only waits for its evaluation is left out."""
    lines = [f"{entry.shown}: {why}" for entry in standings.waiting if (why := entry.waits_for(standings.task.id))]
    if len(lines) > SHOWN_UNCOUNTED:
        lines[SHOWN_UNCOUNTED:] = [f"{len(lines) - SHOWN_UNCOUNTED} more are not counted, either"]
    for line in lines:
        out.print(safe_text(line), soft_wrap=True)


def _author(login: str) -> Text:
    return safe_text(EXAMPLE if login == EXAMPLES_LOGIN else login)


def _overall_table(standings: Standings) -> Table:
    table = Table(box=None, pad_edge=False, title="Overall", title_justify="left")
    for name in ("place", "rank", "tasks", "agent", "author", "score", INTERVAL_NAME):
        table.add_column(name, justify="left" if name in ("agent", "author") else "right", no_wrap=name == INTERVAL_NAME)
    for row in standings.overall:
        capped = any(value is not None and value > MOST_COUNTED for value in row.normalised.values())
        score, low, high = (number_text(value, 3) for value in (row.estimate.score, row.estimate.low, row.estimate.high))
        table.add_row(
            *_place_cells(row), f"{row.played}/{len(row.normalised)}", safe_text(row.entry.submission.name),
            _author(row.entry.login), f"{score}{'*' if capped else ''}", interval_text(low, high),
        )  # fmt: skip
        if capped:
            table.caption, table.caption_justify = f"*: the score of a task counts as {MOST_COUNTED:g}, the most", "left"
    return table


def _task_table(standings: TaskStandings) -> Table:
    """The standings of one task."""
    task = standings.task
    table = Table(box=None, pad_edge=False, title=f"\n{task.title or task.id}", title_justify="left")
    names = [f"{metric.name} {arrow(metric)}" for metric in task.metrics] or ["score"]
    for name in ("place", "rank", "agent", "author", names[0], INTERVAL_NAME, *names[1:], "verdict"):
        is_text = name in ("agent", "author", "verdict")
        table.add_column(safe_text(name), justify="left" if is_text else "right", no_wrap=name == INTERVAL_NAME)
    if task.metrics:
        directions = ", ".join(f"{metric.name}: {better(metric)}" for metric in metrics_of(task))
        table.caption, table.caption_justify = safe_text(f"{directions}; {ranking_metric(task).name} ranks"), "left"
    for row in standings.rows:
        table.add_row(*_row_cells(task, row))
    gap = [""] * len(other_metrics(task))
    for failure in standings.failures:
        entry = failure.entry
        table.add_row("", "", safe_text(entry.submission.name), _author(entry.login), "", "", *gap, failure.result.verdict)
    for excluded in standings.excluded:
        table.add_row("", "", safe_text(excluded.agent), _author(excluded.login), "", "", *gap, "excluded")
    for withdrawn in standings.withdrawn:
        score = "" if withdrawn.score is None else f"{withdrawn.score:.{digits(task)}f}"
        table.add_row("", "", safe_text(withdrawn.agent), _author(withdrawn.login), score, "", *gap, "withdrawn")
    return table


def _row_cells(task: Task, row: TaskRow) -> list[str | Text]:
    estimate = row.estimate
    score, low, high = (number_text(value, digits(task)) for value in (estimate.score, estimate.low, estimate.high))
    others = [number_text(value, metric.decimals) for metric, value in zip(other_metrics(task), row.others, strict=True)]
    place = [NONE, NONE] if estimate.is_missing else _place_cells(row)
    names = [safe_text(row.entry.submission.name), _author(row.entry.login)]
    tag = SUPERSEDED_TAG if row.superseded_by else tries_mark(row.tries) or "ok"
    return [*place, *names, score, interval_text(low, high), *others, tag]


def _place_cells(row: TaskRow | OverallRow | GameRow) -> list[str]:
    """Place and rank interval; unranked entries have none."""
    rank = str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
    return [NONE, NONE] if row.is_unranked else [str(row.place), rank]


def game_tables(standings: GameStandings) -> None:
    """Print a game's standings: ratings and points, remarks, and the crosstable."""
    out = output_console()
    if standings.rows or standings.failures or standings.excluded:
        print_table(out, _ratings(standings))
    else:
        out.print(
            safe_text(
                f"\n{standings.task.title or standings.task.id}: nobody is rated yet; 'pullrank tournament' plays the duels."
            )
        )
    for line in _remarks(standings):
        out.print(safe_text(line))
    if 1 < len(standings.rows) <= MAX_CROSSTABLE_ROWS:
        out.print(_crosstable(standings))


def _ratings(standings: GameStandings) -> Table:
    words = ("place", "rank", "agent", "author")
    numbers = ("Elo", INTERVAL_NAME, "won", "drawn", "lost", "rules broken", "points", "by points", "opponents")
    table = new_table(f"\n{standings.task.title or standings.task.id}", words, numbers)
    for row in standings.rows:
        rating, count = row.rating, row.count
        table.add_row(
            *_place_cells(row), safe_text(row.entry.submission.name), _author(row.entry.login), f"{rating.elo:.0f}",
            f"{rating.low:.0f} … {rating.high:.0f}", str(count.won), str(count.drawn), str(count.lost),
            str(count.errors), str(count.points), str(row.points_place), str(row.opponents),
        )  # fmt: skip
    for failure in standings.failures:
        table.add_row("", "refused", safe_text(failure.entry.submission.name), _author(failure.entry.login))
    for excluded in standings.excluded:
        table.add_row("", "excluded", safe_text(excluded.agent), _author(excluded.login))
    return table


def _remarks(standings: GameStandings) -> list[str]:
    lines = [f"The Elo scale is anchored at {standings.anchor} = 0."] if standings.anchor else []
    if first := standings.moving_first:
        lines.append(f"Moving first is worth {first.elo:.0f} Elo ({first.low:.0f} to {first.high:.0f}).")
    if standings.prior:
        lines.append(f"Rated with a prior, having won or lost against all the others: {', '.join(standings.prior)}.")
    if standings.cycle.names:
        chain = " beats ".join([*standings.cycle.names, standings.cycle.names[0]])
        lines.append(f"{len(standings.cycle.names)} players form a cycle: {chain}.")
    if waiting := [entry.shown for entry in standings.waiting if not entry.waits_for(standings.task.id)]:
        lines.append(f"Waiting: {', '.join(waiting)}.")
    lines.extend(f"Refused: {failure.entry.shown}: {failure.reason}" for failure in standings.failures)
    return lines


def _crosstable(standings: GameStandings) -> Table:
    """Wins, draws and losses of each row against each column."""
    table = new_table("\nwon–drawn–lost", ("", "agent"), [str(number) for number in range(1, len(standings.rows) + 1)])
    for number, row in enumerate(standings.rows, 1):
        cells = []
        for other in standings.rows:
            meeting = standings.crosstable.get((row.entry.name, other.entry.name))
            count = meeting.count if meeting else None
            cells.append(f"{count.won}–{count.drawn}–{count.lost}" if count else "·")
        table.add_row(str(number), safe_text(row.entry.submission.name), *cells)
    return table
