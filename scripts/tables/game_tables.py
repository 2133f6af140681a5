"""Tables of games for the terminal: a duel, an agent's duels, a game's standings."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel, MatchEnd, PlayerRecord
from evaluator.model.records.verdict import Verdict
from leaderboard.core.game_standings import GameStandings, WinCount
from leaderboard.game_boards.board_registry import moves_of, position_text
from leaderboard.game_boards.match_replay import end_reason, side_names
from leaderboard.ratings.duel_results import duel_totals, refusal
from scripts.repository.checkout import SubmissionEntry

# With more players the crosstable is on the site only.
MAX_CROSSTABLE_ROWS = 12
SHOWN_FAULTS = 5
SHOWN_LOG_LINES = 15
# Width of tables in columns where the output is no terminal.
FILE_WIDTH = 160


def console() -> Console:
    """Standard output: as wide as the terminal, or FILE_WIDTH if it is none."""
    output_console = Console(highlight=False)
    return output_console if output_console.is_terminal else Console(highlight=False, width=FILE_WIDTH)


def _table(title: str | None, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table with columns of text, then columns of numbers."""
    table = Table(box=None, pad_edge=False, title=title and Text(title), title_justify="left")
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def duel_table(duel: Duel, task: Task, first: int) -> None:
    """Print a duel: each side's result, and broken rules. `first` is the side in the first row."""
    out = console()
    names, counts = side_names(duel), duel_totals(duel).counts
    numbers = ("won", "drawn", "lost", "points", "rules broken", "score", "thinking s", "cpu s", "memory")
    table = _table(None, ("player", "verdict"), numbers)
    for side in (first, 1 - first):
        player = duel.players[side]
        table.add_row(Text(names[side]), player.verdict, *_count_cells(counts[side]), *_cost_cells(player))
    out.print(table)
    ends = Counter(match.end for match in duel.matches)
    ending_counts = ", ".join(f"{ends[end]} {_END_WORDS[end]}" for end in MatchEnd if ends[end])
    out.print(Text(f"\n{len(duel.matches)} matches: {ending_counts}." if duel.matches else f"No match: {duel.message}"))
    _print_faults(out, duel, task)
    if duel.is_validation and duel.verdict is Verdict.OK:
        reason = refusal(duel)
        out.print(Text("\nIt may enter." if reason is None else "\nIt may not enter: it must break no rule against itself."))


_END_WORDS = {
    MatchEnd.PLAYED: "played to their end",
    MatchEnd.TOO_LONG: "stopped for their length",
    MatchEnd.ILLEGAL: "ended by an illegal move",
    MatchEnd.MALFORMED: "ended by an answer that is no move",
    MatchEnd.LATE: "ended by the clock",
    MatchEnd.FORFEIT: "forfeited",
}


def _count_cells(count: WinCount) -> list[str]:
    plain = (count.wins, count.draws, count.losses, count.points, count.errors)
    return [*(str(number) for number in plain), f"{count.score:g}"]


def _cost_cells(player: PlayerRecord) -> list[str]:
    cpu, memory = player.cost.cpu_seconds, player.cost.peak_memory_bytes
    return [
        f"{player.cost.wall_seconds:.1f}",
        "" if cpu is None else f"{cpu:.1f}",
        "" if memory is None else f"{memory / 2**20:.0f} MiB",
    ]


def _print_faults(out: Console, duel: Duel, task: Task) -> None:
    """Print the first broken rules, the game position at the first one, and the log of players that failed."""
    broken = [index for index, match in enumerate(duel.matches) if match.offenders and match.end is not MatchEnd.FORFEIT]
    for index in broken[:SHOWN_FAULTS]:
        match = duel.matches[index]
        out.print(Text(f"match {index + 1}, after {match.plies} moves: {end_reason(match, duel, task)}"))
    if len(broken) > SHOWN_FAULTS:
        out.print(Text(f"… and {len(broken) - SHOWN_FAULTS} more"))
    position = position_text(task, moves_of(duel)[broken[0]]) if broken else None
    if position is not None:
        out.print(Text(f"\n{position}"))
    sides = [0] if duel.is_validation and duel.players[0].verdict is not Verdict.OK else [0, 1]
    for player in (duel.players[side] for side in sides):
        if player.verdict is not Verdict.OK:
            _print_player_fault(out, player)


def _print_player_fault(out: Console, player: PlayerRecord) -> None:
    explanation = player.verdict.plain_words
    out.print(Text(f"\n{player.login}/{player.agent}: {player.verdict}. {explanation}\n  {player.message}"))
    if player.log_tail.strip():
        out.print(Text("  The end of its log:"))
        for line in player.log_tail.splitlines()[-SHOWN_LOG_LINES:]:
            out.print(Text(f"  | {line}"))


def meetings_table(entry: SubmissionEntry, duels: Sequence[Duel], tasks: Sequence[Task]) -> None:
    """Print an agent's duels, one row each, from its side."""
    out = console()
    numbers = ("won", "drawn", "lost", "points", "rules broken", "score", "thinking s", "cpu s", "memory")
    table = _table(None, ("game", "opponent", "verdict"), numbers)
    for duel in duels:
        side = 0 if duel.players[0].name == entry.name else 1
        other, player = duel.players[1 - side], duel.players[side]
        opponent = "itself" if duel.is_validation else f"{other.login}/{other.agent}"
        table.add_row(
            duel.task, Text(opponent), player.verdict, *_count_cells(duel_totals(duel).counts[side]), *_cost_cells(player)
        )
    out.print(table)
    by_id = {task.id: task for task in tasks}
    for duel in duels:
        if (reason := refusal(duel)) is not None and (duel.is_validation or duel.verdict is not Verdict.OK):
            out.print(Text(f"\n{duel.task}: {reason}"))
            _print_faults(out, duel, by_id[duel.task])


def game_tables(standings: GameStandings) -> None:
    """Print a game's standings: ratings and points, remarks, and the crosstable."""
    out = console()
    if standings.rows or standings.failures or standings.excluded:
        out.print(_ratings(standings))
    else:
        out.print(Text(f"\n{standings.task.title or standings.task.id}: nobody is rated yet."))
    for line in _remarks(standings):
        out.print(Text(line))
    if 1 < len(standings.rows) <= MAX_CROSSTABLE_ROWS:
        out.print(_crosstable(standings))


def _ratings(standings: GameStandings) -> Table:
    words = ("place", "rank", "agent", "author")
    numbers = ("Elo", "95 % interval", "won", "drawn", "lost", "rules broken", "points", "by points", "opponents")
    table = _table(f"\n{standings.task.title or standings.task.id}", words, numbers)
    for row in standings.rows:
        rank = str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
        places = ("–", "–") if row.entry.is_aside else (str(row.place), rank)
        rating, count = row.rating, row.count
        table.add_row(
            *places, Text(row.entry.submission.name), Text(row.entry.login), f"{rating.elo:.0f}",
            f"{rating.low:.0f} … {rating.high:.0f}", str(count.wins), str(count.draws), str(count.losses),
            str(count.errors), str(count.points), str(row.points_place), str(row.opponents),
        )  # fmt: skip
    for failure in standings.failures:
        table.add_row("", "refused", Text(failure.entry.submission.name), Text(failure.entry.login))
    for out in standings.excluded:
        table.add_row("", "excluded", Text(out.agent), Text(out.login))
    return table


def _remarks(standings: GameStandings) -> list[str]:
    lines = [f"The Elo scale is anchored at {standings.anchor} = 0."] if standings.anchor else []
    if first := standings.moving_first:
        lines.append(f"Moving first is worth {first.elo:.0f} Elo ({first.low:.0f} to {first.high:.0f}).")
    if standings.prior:
        lines.append(f"Rated with a prior, having won or lost against all the others: {', '.join(standings.prior)}.")
    if standings.cycle.names:
        chain = " beats ".join([*standings.cycle.names, standings.cycle.names[0]])
        share = f"{100 * standings.cycle.share:.0f} % of {standings.cycle.triads} triads"
        lines.append(f"{len(standings.cycle.names)} players have no order among them: {chain}; {share} are cyclic.")
    if standings.waiting:
        lines.append(f"Waiting: {', '.join(entry.shown for entry in standings.waiting)}.")
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
            cells.append(f"{count.wins}–{count.draws}–{count.losses}" if count else "·")
        table.add_row(str(number), Text(row.entry.submission.name), *cells)
    return table
