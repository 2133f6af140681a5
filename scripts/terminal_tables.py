"""Tables for the terminal: evaluations, duels and standings."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd, PlayerRecord
from evaluator.model.records.result import Result, without_retry
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import printable_line
from leaderboard.charts.table_bars import is_other_claim
from leaderboard.comments import phrases
from leaderboard.comments.states import Previewed
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import OverallRow, Row, Standings, TaskStandings
from leaderboard.games.game_drawings import moves_of, position_text
from leaderboard.games.match_replay import end_reason, side_names
from leaderboard.ratings.counting_duels import duel_totals
from leaderboard.ratings.validations import validation_refusal
from leaderboard.scoring.intervals import measured_estimate, values
from leaderboard.scoring.metrics import arrow, better, digits, is_missing, metrics_of, other_metrics, ranking
from leaderboard.scoring.score_all import MOST_COUNTED
from leaderboard.text.escape_markdown import unmarked
from leaderboard.text.format import HELD_TAG, NONE, tries_mark
from scripts.console import LINE_CHARACTERS

# With more players the crosstable is on the site only.
MAX_CROSSTABLE_ROWS = 12
SHOWN_FAULTS = 5
SHOWN_UNCOUNTED = 10
SHOWN_LOG_LINES = 15
# Width in columns where the output is no terminal: no line is broken there.
FILE_WIDTH = 1 << 14
# In place of an author, for an agent that has none.
EXAMPLE = "(example)"
INTERNAL_ERROR_WORDS = "This machine or the evaluator failed, not the agent."
# Of a message about an exception; a process that ended by itself would end the debugger's, too.
_RAISED = re.compile(r"\braised\b")
# Columns that are left out of tables that would be wider than the terminal, one after the other.
_SPARE_COLUMNS = ("steps", "episodes", "cpu s", "thinking s", "points", "memory")
_END_WORDS = {
    MatchEnd.PLAYED: "played to their end",
    MatchEnd.TOO_LONG: "stopped for their length",
    MatchEnd.ILLEGAL: "ended by an illegal move",
    MatchEnd.MALFORMED: "ended by an answer that is no move",
    MatchEnd.LATE: "ended by the clock",
    MatchEnd.FORFEIT: "forfeited",
}
_DUEL_NUMBERS = ("won", "drawn", "lost", "points", "rules broken", "score", "thinking s", "cpu s", "memory")


def _typed(text: str, style: str = "") -> Text:
    """Text that somebody may have typed; wherever a table breaks it, no line begins like a command to a runner."""
    return Text("\n".join(printable_line(line).replace("::", ": :") for line in text.split("\n")), style)


def _console() -> Console:
    """Standard output: as wide as the terminal, or FILE_WIDTH if it is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=FILE_WIDTH)


def _print_table(out: Console, table: Table) -> None:
    """Print a table, without its spare columns where the terminal is narrow; no cell is cut."""
    for column in table.columns:
        column.overflow = "fold"
        column.no_wrap = column.no_wrap or column.header in ("verdict", "95 % interval")
    for spare in _SPARE_COLUMNS:
        if out.measure(table, options=out.options.update(width=FILE_WIDTH)).maximum <= out.width:
            break
        table = _without(table, spare)
    out.print(table)


def _without(table: Table, header: str) -> Table:
    """A table without a column. Rich counts columns as they are added, so it is made anew."""
    kept = [column for column in table.columns if column.header != header]
    narrower = Table(box=None, pad_edge=False, title=table.title, title_justify=table.title_justify)
    narrower.caption, narrower.caption_justify = table.caption, table.caption_justify
    for column in kept:
        narrower.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap, overflow=column.overflow)
    for cells in zip(*(column.cells for column in kept), strict=True):
        narrower.add_row(*cells)
    return narrower


def _table(title: str | None, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table with columns of text, then columns of numbers."""
    table = Table(box=None, pad_edge=False, title=title and _typed(title), title_justify="left")
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _cost_cells(outcome: Result | PlayerRecord) -> list[str]:
    """Processor seconds and memory."""
    cpu, memory = outcome.cost.cpu_seconds, outcome.cost.peak_memory_bytes
    return ["" if cpu is None else f"{cpu:.1f}", "" if memory is None else f"{memory / 2**20:.0f} MiB"]


def _print_failure(out: Console, name: str, outcome: Result | PlayerRecord) -> None:
    """Print the reason and the end of the log."""
    words, message = outcome.verdict.plain_words, outcome.message
    if outcome.verdict is Verdict.INTERNAL_ERROR:  # only an official run tries it again
        words, message = INTERNAL_ERROR_WORDS, without_retry(message)
    out.print(_typed(f"\n{name}: {outcome.verdict}. {words}\n  {message}"), soft_wrap=True)
    lines = outcome.log_tail.splitlines()[-SHOWN_LOG_LINES:]
    _print_log(out, [line if len(line) <= LINE_CHARACTERS else f"{line[: LINE_CHARACTERS - 1]}…" for line in lines])


def evaluation_table(challenge: Challenge, results: list[Result]) -> None:
    """Print an evaluation: one row per task, metrics, and the reason and log of failures."""
    table = _table(None, ("task", "verdict"), ("score", "95 % interval", "episodes", "steps", "cpu s", "memory"))
    for result in results:
        table.add_row(result.task, result.verdict, *_number_cells(challenge, result))
    _print_table(_console(), table)
    _metrics_table(challenge, results)
    for result in results:
        if result.verdict is not Verdict.OK:
            _print_failure(_console(), result.task, result)
        elif task := challenge.task(result.task):
            for line in script_remarks(task, result):
                _console().print(_typed(f"{task.id}: {line}"))


def episodes_table(task: Task, result: Result, episodes: Sequence[tuple[int, str]]) -> None:
    """Print a result: its numbers, episodes with their marks, the message and the end of its log."""
    out = _console()
    cost = ", ".join(filter(None, _cost_cells(result)))
    when = f"{result.tier}, {result.provenance.evaluated_at}, in {result.sandbox}"
    out.print(
        _typed(f"\n{task.id}: {result.verdict}, {len(result.returns)} episodes ({when}; cpu s, memory: {cost})"),
        soft_wrap=True,
    )
    table = _table(None, (), ("episode", "return", "length", "seed"))
    table.add_column("")
    for index, mark in episodes:
        values = f"{result.returns[index]:g}", str(result.lengths[index]), result.seeds[index]
        table.add_row(str(index), *values, mark)
    if episodes:
        out.print(table, soft_wrap=True)
    if result.message:
        out.print(_typed(f"  {result.message}"), soft_wrap=True)
    _print_log(out, result.log_tail.splitlines())


def _print_log(out: Console, lines: Sequence[str]) -> None:
    if any(line.strip() for line in lines):
        out.print(_typed("  The end of its log:"))
        for line in lines:
            out.print(Text(printable_line(f"  | {line}")), soft_wrap=True)


def expected_places(state: Previewed, *, official: bool, in_clone: bool = True, debugged: str | None = None) -> None:
    """Print the end of an evaluation as a pull request's comment has it: headline, places, what to do about failures.

    Args:
        state: the comment's state, with one agent.
        official: whether its places are among official results.
        in_clone: whether there is a board around it, and not only an installed command.
        debugged: the folder that `--pdb` can play; None where it cannot.
    """
    out, (agent,) = _console(), state.agents
    out.print(_plain(f"\n{phrases.comment_headline(state)}"), soft_wrap=True)
    rows = [row for row in agent.rows if row.estimate]
    if rows:
        table = _table(None, ("task",), ("score", "would take", "data allow", "to the best other", "reference"))
        for row in rows:
            reference = row.task.reference
            table.add_row(
                _typed(row.task.id), phrases.score(row), _plain(phrases.place(row)), _plain(phrases.rank_interval(row)),
                _plain(phrases.to_leader(row)), f"{reference.score:g}".replace("-", "\N{MINUS SIGN}") if reference else NONE,
            )  # fmt: skip
        _print_table(out, table)
    for game in agent.games:
        if game.estimate:
            ahead = unmarked(phrases.to_leader(game))
            out.print(_plain(f"{game.task.id}: {phrases.score(game)} Elo, {phrases.place(game)}, {ahead}"), soft_wrap=True)
    for verdict in dict.fromkeys(row.result.verdict for row in agent.rows if row.estimate is None):
        advice = phrases.advice(verdict)
        if verdict is Verdict.CRASHED:  # a comment tells to run what has just been run here
            raised = any(_RAISED.search(row.result.message) for row in agent.rows if row.result.verdict is verdict)
            advice = (
                f"'pullrank evaluate {debugged} --pdb' opens the debugger where it failed." if debugged and raised else ""
            )
        if verdict is Verdict.INTERNAL_ERROR:
            advice = "The same command tries it again. It does not count against the agent."
        if advice:
            out.print(_plain(f"{verdict}: {advice}"), soft_wrap=True)
    if rows or any(game.estimate for game in agent.games):
        here = "submissions and baselines that were evaluated in this clone" if in_clone else "results in this folder"
        among = "on the leaderboard as it was fetched" if official else f"among the {here}"
        out.print(f"Places are {among}; the official score is computed after the merge, on other seeds.", soft_wrap=True)


def _plain(markup: str) -> Text:
    """A phrase of a comment as text for the terminal."""
    return _typed(unmarked(markup))


def script_remarks(task: Task, result: Result) -> Iterator[str]:
    """Remarks for the author of a training script, beside its score."""
    record, rules = result.script, task.script
    if record is None or rules is None:
        return
    counted = record.counted(rules)
    mean = sum(counted.returns) / len(counted.returns)
    end = counted.first + rules.last
    missing = max(0, end - len(record.returns))
    unfinished = sum(counted.first <= number < end for number in record.unfinished) + missing
    if missing == rules.last:
        yield "it ended before its training steps did, and only episodes begun after them count: train until they are over"
    if record.exhausted:
        yield f"it asked for more when the run had ended, after {record.steps:,} of {rules.steps:,} steps"
    if unfinished:
        yield f"{unfinished} of the {rules.last} episodes that count were not played to their end: {rules.worst:g} for each"
    if record.claimed is not None and is_other_claim(record.claimed, mean, digits(task)):
        yield f"it printed the score {record.claimed:g}, and the episodes that count have the mean {mean:g}"
    yield from record.notices


def _number_cells(challenge: Challenge, result: Result) -> list[str]:
    task = challenge.task(result.task)
    cost = _cost_cells(result)
    if result.verdict is not Verdict.OK or task is None:
        return ["", "", "", "", *cost]
    estimate = measured_estimate([result], task)
    score, low, high = (_number(float(value[0]), digits(task)) for value in (estimate.score, estimate.low, estimate.high))
    return [
        score,
        _interval(low, high),
        "" if result.sealed else str(len(result.returns)),
        "" if result.sealed else str(result.cost.steps),
        *cost,
    ]


def _metrics_table(challenge: Challenge, results: list[Result]) -> None:
    """Print every metric of tasks whose metrics are set in challenge.yml."""
    table = Table(box=None, pad_edge=False)
    for name in ("task", "metric", "value", "better"):
        table.add_column(name, justify="right" if name == "value" else "left")
    for result in results:
        task = challenge.task(result.task)
        for metric in task.metrics if task and result.verdict is Verdict.OK else ():
            value = _number(values([result], task, metric)[0], metric.decimals) if task else NONE
            table.add_row(result.task, _typed(metric.name), value, metric.direction.value)
    if table.row_count:
        _console().print()
        _print_table(_console(), table)


def _number(value: float, decimals: int) -> str:
    return NONE if is_missing(value) else f"{value:.{decimals}f}"


def _interval(low: str, high: str) -> str:
    return NONE if NONE in (low, high) else f"{low} … {high}"


def standings_tables(standings: Standings) -> None:
    """Print the overall standings, and those of each task and game."""
    console = _console()
    console.print(_typed(f"{standings.challenge.title}, season {standings.challenge.season}", style="bold"))
    if not standings.official:
        console.print(_typed(f"A local leaderboard: public seeds, measured on this machine. {EXAMPLE}: of example_agents/."))
    if standings.overall:
        _print_table(console, _overall_table(standings))
    for task in standings.tasks:
        _print_table(console, task_table(task))
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
        out.print(_typed(line), soft_wrap=True)


def _author(login: str) -> Text:
    return _typed(EXAMPLE if login == LOCAL else login)


def _overall_table(standings: Standings) -> Table:
    table = Table(box=None, pad_edge=False, title="Overall", title_justify="left")
    for name in ("place", "rank", "tasks", "agent", "author", "score", "95 % interval"):
        table.add_column(name, justify="left" if name in ("agent", "author") else "right", no_wrap=name.startswith("95"))
    for row in standings.overall:
        capped = any(value is not None and value > MOST_COUNTED for value in row.normalised.values())
        score, low, high = (_number(value, 3) for value in (row.estimate.score, row.estimate.low, row.estimate.high))
        table.add_row(
            *_place_cells(row), f"{row.played}/{len(row.normalised)}", _typed(row.entry.submission.name),
            _author(row.entry.login), f"{score}{'*' if capped else ''}", _interval(low, high),
        )  # fmt: skip
        if capped:
            table.caption, table.caption_justify = f"*: the score of a task counts as {MOST_COUNTED:g}, the most", "left"
    return table


def task_table(standings: TaskStandings) -> Table:
    """The standings of one task."""
    task = standings.task
    table = Table(box=None, pad_edge=False, title=f"\n{task.title or task.id}", title_justify="left")
    names = [f"{metric.name} {arrow(metric)}" for metric in task.metrics] or ["score"]
    for name in ("place", "rank", "agent", "author", names[0], "95 % interval", *names[1:], "verdict"):
        is_text = name in ("agent", "author", "verdict")
        table.add_column(_typed(name), justify="left" if is_text else "right", no_wrap=name == "95 % interval")
    if task.metrics:
        directions = ", ".join(f"{metric.name}: {better(metric)}" for metric in metrics_of(task))
        table.caption, table.caption_justify = _typed(f"{directions}; {ranking(task).name} ranks"), "left"
    for row in standings.rows:
        table.add_row(*_row_cells(task, row))
    gap = [""] * len(other_metrics(task))
    for failure in standings.failures:
        entry = failure.entry
        table.add_row("", "", _typed(entry.submission.name), _author(entry.login), "", "", *gap, failure.result.verdict)
    for excluded in standings.excluded:
        table.add_row("", "", _typed(excluded.agent), _author(excluded.login), "", "", *gap, "excluded")
    for withdrawn in standings.withdrawn:
        score = "" if withdrawn.score is None else f"{withdrawn.score:.{digits(task)}f}"
        table.add_row("", "", _typed(withdrawn.agent), _author(withdrawn.login), score, "", *gap, "withdrawn")
    return table


def _row_cells(task: Task, row: Row) -> list[str | Text]:
    estimate = row.estimate
    score, low, high = (_number(value, digits(task)) for value in (estimate.score, estimate.low, estimate.high))
    others = [_number(value, metric.decimals) for metric, value in zip(other_metrics(task), row.others, strict=True)]
    place = [NONE, NONE] if estimate.is_missing else _place_cells(row)
    names = [_typed(row.entry.submission.name), _author(row.entry.login)]
    return [*place, *names, score, _interval(low, high), *others, HELD_TAG if row.held_by else tries_mark(row.tries) or "ok"]


def _place_cells(row: Row | OverallRow | GameRow) -> list[str]:
    """Place and rank range; baselines and other entries aside have none."""
    rank = str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
    return [NONE, NONE] if row.is_aside else [str(row.place), rank]


def duel_table(duel: Duel, task: Task, first: int) -> None:
    """Print a duel: each side's result, and broken rules. `first` is the side in the first row."""
    out = _console()
    table = _table(None, ("player", "verdict"), _DUEL_NUMBERS)
    for side in (first, 1 - first):
        table.add_row(_typed(side_names(duel)[side]), *_side_cells(duel, side))
    _print_table(out, table)
    ends = Counter(match.end for match in duel.matches)
    ending_counts = ", ".join(f"{ends[end]} {_END_WORDS[end]}" for end in MatchEnd if ends[end])
    out.print(_typed(f"\n{len(duel.matches)} matches: {ending_counts}." if duel.matches else f"No match: {duel.message}"))
    _print_faults(out, duel, task)
    if duel.is_validation and duel.verdict is Verdict.OK:
        reason = validation_refusal(duel)
        out.print(
            _typed("\nIt may enter." if reason is None else "\nIt may not enter: it must break no rule against itself.")
        )


def _side_cells(duel: Duel, side: int) -> list[str]:
    """The verdict of a side, and its numbers by the columns above."""
    player, count = duel.players[side], duel_totals(duel).counts[side]
    plain = (count.won, count.drawn, count.lost, count.points, count.errors)
    thinking = f"{player.cost.wall_seconds:.1f}"
    return [player.verdict, *(str(number) for number in plain), f"{count.score:g}", thinking, *_cost_cells(player)]


def _print_faults(out: Console, duel: Duel, task: Task, failed: str | None = None) -> None:
    """Print the first broken rules, the game position at the first one, and the log of players that failed.

    `failed`: what a failure is printed under; the player's name if left out.
    """
    broken = [index for index, match in enumerate(duel.matches) if match.offenders and match.end is not MatchEnd.FORFEIT]
    for index in broken[:SHOWN_FAULTS]:
        match = duel.matches[index]
        out.print(_typed(f"match {index + 1}, after {match.plies} moves: {end_reason(match, duel, task)}"))
    if len(broken) > SHOWN_FAULTS:
        out.print(_typed(f"… and {len(broken) - SHOWN_FAULTS} more"))
    position = position_text(task, moves_of(duel)[broken[0]]) if broken else None
    if position is not None:
        out.print(_typed(f"\n{position}"))
    sides = [0] if duel.is_validation and duel.players[0].verdict is not Verdict.OK else [0, 1]
    for player in (duel.players[side] for side in sides):
        if player.verdict is not Verdict.OK:
            _print_failure(out, failed or f"{player.login}/{player.agent}", player)


def duels_table(name: AgentName, duels: Sequence[Duel], tasks: Sequence[Task]) -> None:
    """Print an agent's duels, one row each, from its side."""
    out = _console()
    table = _table(None, ("game", "opponent", "verdict"), _DUEL_NUMBERS)
    for duel in duels:
        side = duel.side_of(name)
        other = duel.players[1 - side]
        opponent = "itself" if duel.is_validation else f"{other.login}/{other.agent}"
        table.add_row(duel.task, _typed(opponent), *_side_cells(duel, side))
    _print_table(out, table)
    by_id = {task.id: task for task in tasks}
    for duel in duels:
        if (reason := validation_refusal(duel)) is not None and (duel.is_validation or duel.verdict is not Verdict.OK):
            if duel.verdict is not Verdict.OK or duel.players[0].verdict is Verdict.OK:
                out.print(_typed(f"\n{duel.task}: {reason}"), soft_wrap=True)
            _print_faults(out, duel, by_id[duel.task], failed=duel.task)


def game_tables(standings: GameStandings) -> None:
    """Print a game's standings: ratings and points, remarks, and the crosstable."""
    out = _console()
    if standings.rows or standings.failures or standings.excluded:
        _print_table(out, _ratings(standings))
    else:
        out.print(
            _typed(
                f"\n{standings.task.title or standings.task.id}: nobody is rated yet; 'pullrank tournament' plays the duels."
            )
        )
    for line in _remarks(standings):
        out.print(_typed(line))
    if 1 < len(standings.rows) <= MAX_CROSSTABLE_ROWS:
        out.print(_crosstable(standings))


def _ratings(standings: GameStandings) -> Table:
    words = ("place", "rank", "agent", "author")
    numbers = ("Elo", "95 % interval", "won", "drawn", "lost", "rules broken", "points", "by points", "opponents")
    table = _table(f"\n{standings.task.title or standings.task.id}", words, numbers)
    for row in standings.rows:
        rating, count = row.rating, row.count
        table.add_row(
            *_place_cells(row), _typed(row.entry.submission.name), _author(row.entry.login), f"{rating.elo:.0f}",
            f"{rating.low:.0f} … {rating.high:.0f}", str(count.won), str(count.drawn), str(count.lost),
            str(count.errors), str(count.points), str(row.points_place), str(row.opponents),
        )  # fmt: skip
    for failure in standings.failures:
        table.add_row("", "refused", _typed(failure.entry.submission.name), _author(failure.entry.login))
    for excluded in standings.excluded:
        table.add_row("", "excluded", _typed(excluded.agent), _author(excluded.login))
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
    table = _table("\nwon–drawn–lost", ("", "agent"), [str(number) for number in range(1, len(standings.rows) + 1)])
    for number, row in enumerate(standings.rows, 1):
        cells = []
        for other in standings.rows:
            crossing = standings.crosstable.get((row.entry.name, other.entry.name))
            count = crossing.count if crossing else None
            cells.append(f"{count.won}–{count.drawn}–{count.lost}" if count else "·")
        table.add_row(str(number), _typed(row.entry.submission.name), *cells)
    return table
