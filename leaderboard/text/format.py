"""Numbers, intervals, dates and the marks of entries as readers see them."""

import math
from typing import Literal

from evaluator.model.config.phase import to_utc
from evaluator.model.config.task import Task
from leaderboard.core.entry import Entry, RankedEntry
from leaderboard.core.game_standings import GameRow
from leaderboard.core.standings import OverallRow, TaskRow

MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"
RANK_INTERVAL = "with the rank interval: the places an agent could hold, given the uncertainty"
_LONG = 1e21
"""From here on a number is written with an exponent: a script may claim one of 309 digits."""
_SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
SIGNED = {True: "signed by GitHub", False: "not verified as GitHub’s", None: "about which GitHub is still to be asked"}
"""GitHub's verification of the signature of the commit that seeds come from, in words; None: not asked yet."""


def number(value: float, decimals: int = 1) -> str:
    """A number, with an exponent if it is huge, a typographic minus sign and no negative zero; a dash for NaN."""
    if value != value:  # NaN; faster than math.isnan, and called a million times
        return NONE
    text = f"{value:,.{decimals}f}" if -_LONG < value < _LONG else repr(float(value))
    if text[0] == "-":
        text = text.replace("-", MINUS) if text.strip("-0.,") else text[1:]
    return text.replace(",", "\N{NARROW NO-BREAK SPACE}") if "," in text else text


def plain(value: float) -> str:
    """A setting or a count, written as short as possible."""
    return f"{value:g}".replace("-", MINUS)


def span(low: float, high: float, decimals: int = 1) -> str:
    """An interval; a dash if there is none."""
    return NONE if math.isnan(low) or math.isnan(high) else f"{number(low, decimals)} to {number(high, decimals)}"


def ranks(low: int, high: int) -> str:
    """A rank interval: `1–3`, or `2` if both ends are equal."""
    return str(low) if low == high else f"{low}–{high}"


def size(count: int | None) -> str:
    """A number of bytes."""
    if count is None:
        return "not measured"
    for unit, name in _SIZES:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} B"


def seconds(value: float | None) -> str:
    """A duration."""
    return "not measured" if value is None else f"{number(value)} s"


def day(moment: str) -> str:
    """The day of a UTC time."""
    return moment[:10]


def format_utc(instant: str) -> str:
    """A moment in UTC, to the minute."""
    return f"{to_utc(instant):%Y-%m-%d %H:%M} UTC"


def short(digest: str) -> str:
    """The first twelve digits of a hash."""
    return digest.removeprefix("sha256:")[:12]


def quantity(count: int, word: str, plural: str = "") -> str:
    """`1 agent`, `2 agents`."""
    return f"{count} {word if count == 1 else plural or word + 's'}"


def task_kind(task: Task) -> Literal["game", "script", "task"]:
    """`game` and `task` are open to agents, `script` to training scripts."""
    return "game" if task.game else "script" if task.script else "task"


def tries_mark(tries: int) -> str:
    """The mark of a place that several versions or draws were tried for; empty for one."""
    return f"provisional, {tries} versions tried" if tries > 1 else ""


SUPERSEDED_TAG = "another version"
"""The mark of a row of final ranks without a place, since another version of its owner holds it."""


def superseded_reason(superseded_by: str) -> str:
    """Why a row of final ranks has no place, from the version of its owner that holds it."""
    return f"no place: {superseded_by}, another version of its owner, holds it, chosen by the live scores before the end"


def no_place_reason(row: TaskRow | OverallRow | GameRow) -> str:
    """Why a row has no place; empty where it has one."""
    if row.estimate.is_missing:
        return "entries without a value rank last"
    if row.superseded_by is not None:
        return superseded_reason(row.superseded_by)
    return f"listed for comparison; it would have place {row.place}" if row.is_unranked else ""


def is_tied(row: RankedEntry) -> bool:
    """Whether a row other than the leader's is marked as statistically tied with it."""
    return row.with_leader and row.place > 1


Tag = tuple[str, str]
"""Words beside a name, and what they mean; the second empty where the first says it."""


def entry_tags(entry: Entry) -> list[Tag]:
    """What the hosts say of an entry."""
    tags = [("baseline", "")] if entry.baseline else [("host", "")] if entry.host else []
    if entry.verified:
        tags.append(("verified by the host", f"{entry.verified.why}; {entry.verified.who}, {entry.verified.since}"))
    return tags


def row_marks(row: RankedEntry) -> list[Tag]:
    """What is to be known of a row's place."""
    marks = [(tries_mark(row.tries), "its interval allows for choosing the luckiest")] if row.tries > 1 else []
    return [*marks, (SUPERSEDED_TAG, superseded_reason(row.superseded_by))] if row.superseded_by is not None else marks
