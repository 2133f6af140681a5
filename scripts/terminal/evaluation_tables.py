"""Tables of evaluations and duels: results, one result's episodes, one duel's sides, and places that an agent would take."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.comments import phrases
from leaderboard.comments.comment_states import Previewed
from leaderboard.core.entry import INTERVAL_NAME, AgentName
from leaderboard.games.game_drawings import moves_of, position_text
from leaderboard.games.match_replay import end_reason, side_names
from leaderboard.ratings.rated_duels import rated_totals, validation_refusal
from leaderboard.scoring.intervals import measured_estimate, result_value
from leaderboard.scoring.metrics import claim_differs, digits
from leaderboard.text.escape_markdown import unmarked
from leaderboard.text.format import NONE
from scripts.terminal.terminal_output import (
    cost_cells,
    interval_text,
    new_table,
    number_text,
    output_console,
    print_failure,
    print_log,
    print_table,
    safe_text,
)

# Of a message about an exception; a process that ended by itself would end the debugger's, too.
_RAISED = re.compile(r"\braised\b")


def evaluation_table(challenge: Challenge, results: list[Result]) -> None:
    """Print an evaluation: one row per task, metrics, and the reason and log of failures."""
    table = new_table(None, ("task", "verdict"), ("score", INTERVAL_NAME, "episodes", "steps", "cpu s", "memory"))
    for result in results:
        table.add_row(result.task, result.verdict, *_number_cells(challenge, result))
    print_table(output_console(), table)
    _metrics_table(challenge, results)
    for result in results:
        if result.verdict is not Verdict.OK:
            print_failure(output_console(), result.task, result)
        elif task := challenge.task(result.task):
            for line in script_remarks(task, result):
                output_console().print(safe_text(f"{task.id}: {line}"))


def episodes_table(task: Task, result: Result, episodes: Sequence[tuple[int, str]]) -> None:
    """Print a result: its numbers, episodes with their marks, the message and the end of its log."""
    out = output_console()
    cost = ", ".join(filter(None, cost_cells(result)))
    when = f"{result.tier}, {result.provenance.evaluated_at}, in {result.sandbox}"
    out.print(
        safe_text(f"\n{task.id}: {result.verdict}, {len(result.returns)} episodes ({when}; cpu s, memory: {cost})"),
        soft_wrap=True,
    )
    table = new_table(None, (), ("episode", "return", "length", "seed"))
    table.add_column("")
    for index, mark in episodes:
        values = f"{result.returns[index]:g}", str(result.lengths[index]), result.seeds[index]
        table.add_row(str(index), *values, mark)
    if episodes:
        out.print(table, soft_wrap=True)
    if result.message:
        out.print(safe_text(f"  {result.message}"), soft_wrap=True)
    print_log(out, result.log_tail.splitlines())


def expected_places(state: Previewed, *, official: bool, in_clone: bool = True, debugger: str | None = None) -> None:
    """Print the end of an evaluation as a pull request's comment has it: headline, places, what to do about failures.

    Args:
        state: the comment's state, with one agent.
        official: whether its places are among official results.
        in_clone: whether there is a board around it, and not only an installed command.
        debugger: the command that opens it, with `{task}` for a task's id; None where it cannot.
    """
    out, (agent,) = output_console(), state.agents
    out.print(_plain(f"\n{phrases.preview_headline(state)}"), soft_wrap=True)
    rows = [row for row in agent.rows if row.estimate]
    if rows:
        table = new_table(None, ("task",), ("score", "would take", "data allow", "to the best other", "reference"))
        for row in rows:
            reference = row.task.reference
            table.add_row(
                safe_text(row.task.id), phrases.score(row), _plain(phrases.place(row)), _plain(phrases.rank_interval(row)),
                _plain(phrases.to_leader(row)), f"{reference.score:g}".replace("-", "\N{MINUS SIGN}") if reference else NONE,
            )  # fmt: skip
        print_table(out, table)
    for game in agent.games:
        if game.estimate:
            ahead = unmarked(phrases.to_leader(game))
            out.print(_plain(f"{game.task.id}: {phrases.score(game)} Elo, {phrases.place(game)}, {ahead}"), soft_wrap=True)
    for verdict in dict.fromkeys(row.result.verdict for row in agent.rows if row.estimate is None):
        advice = verdict.advice
        if verdict is Verdict.CRASHED:  # a comment tells to run what has just been run here
            raised = [row for row in agent.rows if row.result.verdict is verdict and _RAISED.search(row.result.message)]
            command = debugger.replace("{task}", raised[0].task.id) if debugger and raised else ""
            advice = f"'{command}' opens the debugger where it failed." if command else ""
        if verdict is Verdict.INTERNAL_ERROR:
            advice = "The same command tries it again. It does not count against the agent."
            if any(":" in row.task.env_id for row in agent.rows if row.result.verdict is verdict):
                advice += " If the environment is yours, 'pullrank check --host' plays it and says what is wrong."
        if advice:
            out.print(_plain(f"{verdict}: {advice}"), soft_wrap=True)
    if rows or any(game.estimate for game in agent.games):
        here = "submissions and baselines that were evaluated in this clone" if in_clone else "results in this folder"
        among = "on the leaderboard as it was fetched" if official else f"among the {here}"
        out.print(f"Places are {among}; the official score is computed after the merge, on other seeds.", soft_wrap=True)


def _plain(markup: str) -> Text:
    """A phrase of a comment as text for the terminal."""
    return safe_text(unmarked(markup))


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
        yield f"it asked for an episode or a step too many, after {record.steps:,} of {rules.steps:,} steps"
    if unfinished:
        yield f"{unfinished} of the {rules.last} episodes that count were not played to their end: {rules.worst:g} for each"
    if record.claimed is not None and claim_differs(record.claimed, mean, digits(task)):
        yield f"it printed the score {record.claimed:g}, and the episodes that count have the mean {mean:g}"
    yield from record.notices


def _number_cells(challenge: Challenge, result: Result) -> list[str]:
    task = challenge.task(result.task)
    cost = cost_cells(result)
    if result.verdict is not Verdict.OK or task is None:
        return ["", "", "", "", *cost]
    estimate = measured_estimate([result], task)
    score, low, high = (
        number_text(float(value[0]), digits(task)) for value in (estimate.score, estimate.low, estimate.high)
    )
    counts = ["", ""] if result.sealed else [str(len(result.returns)), str(result.cost.steps)]
    return [score, interval_text(low, high), *counts, *cost]


def _metrics_table(challenge: Challenge, results: list[Result]) -> None:
    """Print every metric of tasks whose metrics are set in challenge.yml."""
    table = Table(box=None, pad_edge=False)
    for name in ("task", "metric", "value", "better"):
        table.add_column(name, justify="right" if name == "value" else "left")
    for result in results:
        task = challenge.task(result.task)
        for metric in task.metrics if task and result.verdict is Verdict.OK else ():
            value = number_text(result_value(result, task, metric), metric.decimals) if task else NONE
            table.add_row(result.task, safe_text(metric.name), value, metric.direction.value)
    if table.row_count:
        output_console().print()
        print_table(output_console(), table)


SHOWN_FAULTS = 5
_DUEL_NUMBERS = ("won", "drawn", "lost", "points", "rules broken", "score", "thinking s", "cpu s", "memory")


def duel_table(duel: Duel, task: Task, first: int) -> None:
    """Print a duel: each side's result, and broken rules. `first` is the side in the first row."""
    out = output_console()
    table = new_table(None, ("player", "verdict"), _DUEL_NUMBERS)
    for side in (first, 1 - first):
        table.add_row(safe_text(side_names(duel)[side]), *_side_cells(duel, side))
    print_table(out, table)
    ends = Counter(match.end for match in duel.matches)
    ending_counts = ", ".join(f"{ends[end]} {end.plain_words}" for end in MatchEnd if ends[end])
    out.print(safe_text(f"\n{len(duel.matches)} matches: {ending_counts}." if duel.matches else f"No match: {duel.message}"))
    _print_faults(out, duel, task)
    if duel.is_validation and duel.verdict is Verdict.OK:
        reason = validation_refusal(duel)
        out.print(
            safe_text("\nIt may enter." if reason is None else "\nIt may not enter: it must break no rule against itself.")
        )


def _side_cells(duel: Duel, side: int) -> list[str]:
    """The verdict of a side, and its numbers by the columns above."""
    player, count = duel.players[side], rated_totals(duel).counts[side]
    plain = (count.won, count.drawn, count.lost, count.points, count.errors)
    thinking = f"{player.cost.wall_seconds:.1f}"
    return [player.verdict, *(str(number) for number in plain), f"{count.score:g}", thinking, *cost_cells(player)]


def _print_faults(out: Console, duel: Duel, task: Task, failed: str | None = None) -> None:
    """Print the first broken rules, the game position at the first one, and the log of players that failed.

    `failed`: what a failure is printed under; the player's name if left out.
    """
    broken = [index for index, match in enumerate(duel.matches) if match.offenders and match.end is not MatchEnd.FORFEIT]
    for index in broken[:SHOWN_FAULTS]:
        match = duel.matches[index]
        out.print(safe_text(f"match {index + 1}, after {match.plies} moves: {end_reason(match, duel, task)}"))
    if len(broken) > SHOWN_FAULTS:
        out.print(safe_text(f"… and {len(broken) - SHOWN_FAULTS} more"))
    position = position_text(task, moves_of(duel)[broken[0]]) if broken else None
    if position is not None:
        out.print(safe_text(f"\n{position}"))
    sides = [0] if duel.is_validation and duel.players[0].verdict is not Verdict.OK else [0, 1]
    for player in (duel.players[side] for side in sides):
        if player.verdict is not Verdict.OK:
            print_failure(out, failed or f"{player.login}/{player.agent}", player)


def duels_table(name: AgentName, duels: Sequence[Duel], tasks: Sequence[Task]) -> None:
    """Print an agent's duels, one row each, from its side."""
    out = output_console()
    table = new_table(None, ("game", "opponent", "verdict"), _DUEL_NUMBERS)
    for duel in duels:
        side = duel.side_of(name)
        other = duel.players[1 - side]
        opponent = "itself" if duel.is_validation else f"{other.login}/{other.agent}"
        table.add_row(duel.task, safe_text(opponent), *_side_cells(duel, side))
    print_table(out, table)
    by_id = {task.id: task for task in tasks}
    for duel in duels:
        if (reason := validation_refusal(duel)) is not None and (duel.is_validation or duel.verdict is not Verdict.OK):
            if duel.verdict is not Verdict.OK or duel.players[0].verdict is Verdict.OK:
                out.print(safe_text(f"\n{duel.task}: {reason}"), soft_wrap=True)
            _print_faults(out, duel, by_id[duel.task], failed=duel.task)
