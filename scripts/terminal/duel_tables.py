"""Tables of duels: one with both sides, or all of an agent."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName
from leaderboard.games.game_drawings import moves_of, position_text
from leaderboard.games.match_replay import end_reason, side_names
from leaderboard.ratings.counting_duels import duel_totals, validation_refusal
from scripts.terminal.terminal_output import cost_cells, new_table, output_console, print_failure, print_table, typed

SHOWN_FAULTS = 5
_END_WORDS = {
    MatchEnd.PLAYED: "played to their end",
    MatchEnd.TOO_LONG: "stopped for their length",
    MatchEnd.ILLEGAL: "ended by an illegal move",
    MatchEnd.MALFORMED: "ended by an answer that is no move",
    MatchEnd.LATE: "ended by the clock",
    MatchEnd.FORFEIT: "forfeited",
}
_DUEL_NUMBERS = ("won", "drawn", "lost", "points", "rules broken", "score", "thinking s", "cpu s", "memory")


def duel_table(duel: Duel, task: Task, first: int) -> None:
    """Print a duel: each side's result, and broken rules. `first` is the side in the first row."""
    out = output_console()
    table = new_table(None, ("player", "verdict"), _DUEL_NUMBERS)
    for side in (first, 1 - first):
        table.add_row(typed(side_names(duel)[side]), *_side_cells(duel, side))
    print_table(out, table)
    ends = Counter(match.end for match in duel.matches)
    ending_counts = ", ".join(f"{ends[end]} {_END_WORDS[end]}" for end in MatchEnd if ends[end])
    out.print(typed(f"\n{len(duel.matches)} matches: {ending_counts}." if duel.matches else f"No match: {duel.message}"))
    _print_faults(out, duel, task)
    if duel.is_validation and duel.verdict is Verdict.OK:
        reason = validation_refusal(duel)
        out.print(
            typed("\nIt may enter." if reason is None else "\nIt may not enter: it must break no rule against itself.")
        )


def _side_cells(duel: Duel, side: int) -> list[str]:
    """The verdict of a side, and its numbers by the columns above."""
    player, count = duel.players[side], duel_totals(duel).counts[side]
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
        out.print(typed(f"match {index + 1}, after {match.plies} moves: {end_reason(match, duel, task)}"))
    if len(broken) > SHOWN_FAULTS:
        out.print(typed(f"… and {len(broken) - SHOWN_FAULTS} more"))
    position = position_text(task, moves_of(duel)[broken[0]]) if broken else None
    if position is not None:
        out.print(typed(f"\n{position}"))
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
        table.add_row(duel.task, typed(opponent), *_side_cells(duel, side))
    print_table(out, table)
    by_id = {task.id: task for task in tasks}
    for duel in duels:
        if (reason := validation_refusal(duel)) is not None and (duel.is_validation or duel.verdict is not Verdict.OK):
            if duel.verdict is not Verdict.OK or duel.players[0].verdict is Verdict.OK:
                out.print(typed(f"\n{duel.task}: {reason}"), soft_wrap=True)
            _print_faults(out, duel, by_id[duel.task], failed=duel.task)
