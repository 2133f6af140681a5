"""What the page of a task says beside its standings: where its documents lie, how fine it tells, and what happened when."""

from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from markupsafe import Markup

from evaluator.model.identifiers import safe_path_segment
from leaderboard import history_figures
from leaderboard.core.standings import TaskBoard
from leaderboard.figures import Scale
from leaderboard.history import Best, History, Track
from leaderboard.scoring.metrics import digits, is_any_sealed
from leaderboard.scoring.significance import resolution
from leaderboard.text.format import day, number

# So many rows stand in the page itself; the rest is in the documents, which the page's script fetches when it is asked to.
FIRST = 100
# So many of the records are told one by one.
RECORDS = 20


@dataclass(frozen=True, kw_only=True)
class Past:
    """A board's history, in pictures."""

    best: Markup
    """The best score over time."""
    records: tuple[Best, ...]
    """The newest of what it is made of, newest first."""
    places: Markup | None
    """The places of the first entries; None where nobody has one now."""
    tracks: tuple[Track, ...]
    """Whose they are, in the order of their colours."""


def documents(task_id: str) -> str:
    """Where the documents of a task lie, as an address below the site's root."""
    return f"api/tasks/{quote(safe_path_segment(task_id))}/"


def forge(repository: str | None) -> str:
    """The forge that the board lives on, where its owners have their pages; empty where nobody knows it."""
    found = urlsplit(repository or "")
    return f"{found.scheme}://{found.netloc}" if found.netloc else ""


def marks(scale: Scale) -> str:
    """The marks of a scale, for the script that draws the same bars."""
    return " ".join(map(repr, scale.marks))


def told_apart(board: TaskBoard) -> str | None:
    """The resolution of a board as its numbers are written; None where nothing can be said of it."""
    if is_any_sealed(row.result for row in board.rows):
        return None
    found = resolution(row.estimate for row in board.rows)
    if found is None or found < 0.5 * 10 ** -digits(board.task):
        return None
    return number(found, digits(board.task))


def past(board: TaskBoard, history: History) -> Past | None:
    """The history of a board; None before there are two days."""
    records, tracks = history.progress(board), history.standing(board)
    times = [one.at for one in records] + [at for track in tracks for at, _ in track.places]
    if not records or day(min(times)) == day(max(times)):
        return None
    ends = (min(times), max(times))
    return Past(
        best=history_figures.progress_picture(records, ends, digits(board.task)),
        records=records[: -RECORDS - 1 : -1],
        places=history_figures.standing_picture(tracks, ends) if tracks else None,
        tracks=tracks,
    )
