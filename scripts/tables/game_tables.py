"""Tables of games for the terminal: a duel, an agent's duels, a game's board."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel, MatchEnd, PlayerRecord
from evaluator.model.records.verdict import Verdict, in_plain_words
from leaderboard.core.game_standings import GameStandings, WinCount
from leaderboard.game_boards.board_registry import moves_of, position_text
from leaderboard.game_boards.match_replay import end_reason, side_names
from leaderboard.ratings.duel_results import duel_totals, refusal
from scripts.repository.checkout import SubmissionEntry

# Wider tables are for the site.
CROSSTABLE = 12
SHOWN_FAULTS = 5
SHOWN_LOG_LINES = 15
# What is read later from a file need not be as narrow as a terminal.
FILE_WIDTH = 160


def console() -> Console:
    """Standard output: as wide as the terminal, or wide enough where there is none."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=FILE_WIDTH)


def _table(title: str | None, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """Columns of words, then columns of numbers."""
    table = Table(box=None, pad_edge=False, title=title and Text(title), title_justify="left")
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def duel_table(duel: Duel, task: Task, first: int) -> None:
    """One duel: what each side did, and what rules were broken. `first` is the side that was named first."""
    out = console()
    names, counts = side_names(duel), duel_totals(duel).counts
    numbers = ("won", "drawn", "lost", "points", "rules broken", "score", "thinking s", "cpu s", "memory")
    table = _table(None, ("player", "verdict"), numbers)
    for side in (first, 1 - first):
        player = duel.players[side]
        table.add_row(Text(names[side]), player.verdict, *_count(counts[side]), *_cost(player))
    out.print(table)
    ends = Counter(match.end for match in duel.matches)
    said = ", ".join(f"{ends[end]} {_END_WORDS[end]}" for end in MatchEnd if ends[end])
    out.print(Text(f"\n{len(duel.matches)} matches: {said}." if duel.matches else f"No match: {duel.message}"))
    _explain(out, duel, task)
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


def _count(count: WinCount) -> list[str]:
    plain = (count.wins, count.draws, count.losses, count.points, count.errors)
    return [*(str(number) for number in plain), f"{count.score:g}"]


def _cost(player: PlayerRecord) -> list[str]:
    cpu, memory = player.cost.cpu_seconds, player.cost.peak_memory_bytes
    return [
        f"{player.cost.wall_seconds:.1f}",
        "" if cpu is None else f"{cpu:.1f}",
        "" if memory is None else f"{memory / 2**20:.0f} MiB",
    ]


def _explain(out: Console, duel: Duel, task: Task) -> None:
    """The first broken rules, the position of the very first, and the log of whoever could not go on."""
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
            _fault(out, player)


def _fault(out: Console, player: PlayerRecord) -> None:
    words = in_plain_words(player.verdict)
    out.print(Text(f"\n{player.login}/{player.agent}: {player.verdict}. {words}\n  {player.message}"))
    if player.log_tail.strip():
        out.print(Text("  The end of its log:"))
        for line in player.log_tail.splitlines()[-SHOWN_LOG_LINES:]:
            out.print(Text(f"  | {line}"))


def meetings_table(found: SubmissionEntry, duels: Sequence[Duel], tasks: Sequence[Task]) -> None:
    """An agent's duels, one row each, from its side."""
    out = console()
    numbers = ("won", "drawn", "lost", "points", "rules broken", "score", "thinking s", "cpu s", "memory")
    table = _table(None, ("game", "opponent", "verdict"), numbers)
    for duel in duels:
        side = 0 if duel.players[0].name == found.name else 1
        other, own = duel.players[1 - side], duel.players[side]
        opponent = "itself" if duel.is_validation else f"{other.login}/{other.agent}"
        table.add_row(duel.task, Text(opponent), own.verdict, *_count(duel_totals(duel).counts[side]), *_cost(own))
    out.print(table)
    known = {task.id: task for task in tasks}
    for duel in duels:
        if (reason := refusal(duel)) is not None and (duel.is_validation or duel.verdict is not Verdict.OK):
            out.print(Text(f"\n{duel.task}: {reason}"))
            _explain(out, duel, known[duel.task])


def game_tables(board: GameStandings) -> None:
    """A game's board: ratings and points, who met whom, and what else is to be said."""
    out = console()
    if board.rows or board.failures or board.excluded:
        out.print(_ratings(board))
    else:
        out.print(Text(f"\n{board.task.title or board.task.id}: nobody is rated yet."))
    for line in _remarks(board):
        out.print(Text(line))
    if 1 < len(board.rows) <= CROSSTABLE:
        out.print(_crosstable(board))


def _ratings(board: GameStandings) -> Table:
    words = ("place", "rank", "agent", "author")
    numbers = ("Elo", "95 % interval", "won", "drawn", "lost", "rules broken", "points", "by points", "opponents")
    table = _table(f"\n{board.task.title or board.task.id}", words, numbers)
    for row in board.rows:
        rank = str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"
        places = ("–", "–") if row.entry.is_aside else (str(row.place), rank)
        rating, count = row.rating, row.count
        table.add_row(
            *places, Text(row.entry.submission.name), Text(row.entry.login), f"{rating.elo:.0f}",
            f"{rating.low:.0f} … {rating.high:.0f}", str(count.wins), str(count.draws), str(count.losses),
            str(count.errors), str(count.points), str(row.points_place), str(row.opponents),
        )  # fmt: skip
    for failure in board.failures:
        table.add_row("", "refused", Text(failure.entry.submission.name), Text(failure.entry.login))
    for out in board.excluded:
        table.add_row("", "excluded", Text(out.agent), Text(out.login))
    return table


def _remarks(board: GameStandings) -> list[str]:
    lines = [f"The Elo scale is anchored at {board.anchor} = 0."] if board.anchor else []
    if board.prior:
        lines.append(f"Rated with a prior, having won or lost against all the others: {', '.join(board.prior)}.")
    if board.cycle.names:
        chain = " beats ".join([*board.cycle.names, board.cycle.names[0]])
        share = f"{100 * board.cycle.share:.0f} % of {board.cycle.triads} triads"
        lines.append(f"No order fits these results: {chain}; {share} go round in a circle.")
    if board.waiting:
        lines.append(f"Waiting: {', '.join(entry.shown for entry in board.waiting)}.")
    lines.extend(f"Refused: {failure.entry.shown}: {failure.reason}" for failure in board.failures)
    return lines


def _crosstable(board: GameStandings) -> Table:
    """Won, drawn and lost of each row against each column."""
    table = _table("\nwon–drawn–lost", ("", "agent"), [str(number) for number in range(1, len(board.rows) + 1)])
    for number, row in enumerate(board.rows, 1):
        cells = []
        for other in board.rows:
            crossing = board.crosstable.get((row.entry.name, other.entry.name))
            count = crossing.count if crossing else None
            cells.append(f"{count.wins}–{count.draws}–{count.losses}" if count else "·")
        table.add_row(str(number), Text(row.entry.submission.name), *cells)
    return table
