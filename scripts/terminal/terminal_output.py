"""What all tables for the terminal share: how wide they are, and cells, failures and logs without hidden text."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evaluator.model.records.duel_record import PlayerRecord
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import without_retry
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import printable_line
from leaderboard.core.entry import INTERVAL_NAME
from leaderboard.scoring.metrics import is_missing
from leaderboard.text.format import NONE
from scripts.console import LINE_CHARACTERS

SHOWN_LOG_LINES = 15
# Width in columns where the output is no terminal: no line is broken there.
FILE_WIDTH = 1 << 14
INTERNAL_ERROR_WORDS = "This machine or the evaluator failed, not the agent."
# Columns that are left out of tables that would be wider than the terminal, one after the other.
_SPARE_COLUMNS = ("steps", "episodes", "cpu s", "thinking s", "points", "memory")


def safe_text(text: str, style: str = "") -> Text:
    """Text that somebody may have typed; wherever a table breaks it, no line begins like a command to a runner."""
    return Text("\n".join(printable_line(line).replace("::", ": :") for line in text.split("\n")), style)


def output_console() -> Console:
    """Standard output: as wide as the terminal, or FILE_WIDTH if it is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=FILE_WIDTH)


def print_table(out: Console, table: Table) -> None:
    """Print a table, without its spare columns where the terminal is narrow; no cell is cut."""
    for column in table.columns:
        column.overflow = "fold"
        column.no_wrap = column.no_wrap or column.header in ("verdict", INTERVAL_NAME)
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


def new_table(title: str | None, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table with columns of text, then columns of numbers."""
    table = Table(box=None, pad_edge=False, title=title and safe_text(title), title_justify="left")
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def cost_cells(outcome: Result | PlayerRecord) -> list[str]:
    """Processor seconds and memory."""
    cpu, memory = outcome.cost.cpu_seconds, outcome.cost.peak_memory_bytes
    return ["" if cpu is None else f"{cpu:.1f}", "" if memory is None else f"{memory / 2**20:.0f} MiB"]


def print_failure(out: Console, name: str, outcome: Result | PlayerRecord) -> None:
    """Print the reason and the end of the log."""
    words, message = outcome.verdict.plain_words, outcome.message
    if outcome.verdict is Verdict.INTERNAL_ERROR:  # only an official run tries it again
        words, message = INTERNAL_ERROR_WORDS, without_retry(message)
    out.print(safe_text(f"\n{name}: {outcome.verdict}. {words}\n  {message}"), soft_wrap=True)
    lines = outcome.log_tail.splitlines()[-SHOWN_LOG_LINES:]
    print_log(out, [line if len(line) <= LINE_CHARACTERS else f"{line[: LINE_CHARACTERS - 1]}…" for line in lines])


def print_log(out: Console, lines: Sequence[str]) -> None:
    """Print the end of a log, if there is one."""
    if any(line.strip() for line in lines):
        out.print(safe_text("  The end of its log:"))
        for line in lines:
            out.print(Text(printable_line(f"  | {line}")), soft_wrap=True)


def number_text(value: float, decimals: int) -> str:
    """A number, or a dash where it is missing."""
    return NONE if is_missing(value) else f"{value:.{decimals}f}"


def interval_text(low: str, high: str) -> str:
    """An interval of two such numbers."""
    return NONE if NONE in (low, high) else f"{low} … {high}"
