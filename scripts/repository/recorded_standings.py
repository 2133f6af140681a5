"""The standings of what is recorded in a checkout."""

from datetime import UTC, datetime

from leaderboard.build import build_standings
from leaderboard.core.standings import Standings
from leaderboard.visibility import VisibleBoard, as_shown, with_flags
from scripts.console import say
from scripts.repository.checkout import Checkout


def recorded_standings(
    board: Checkout, *, official: bool, tasks: list[str] | None = None, now: datetime | None = None
) -> Standings:
    """The standings of what stands in the store; damaged files and unreadable folders are named, not counted.

    What an official board hides until a date is hidden at the moment `now`; a local one is its owner's own business.
    """
    found, faults = board.read_all()
    duels, damaged_duels = board.recorded_duels if board.challenge.games or not board.is_lean else ([], [])
    for line in faults:
        say(line)
    for kind, damaged in (("result", board.recorded[1]), ("duel", damaged_duels)):
        for file in damaged:
            say(f"{file.path}: is not a {kind} ({file.reason}); it is left out")
    chosen = board.tasks(tasks)
    challenge = board.challenge.model_copy(update={"tasks": tuple(chosen)})
    whole = VisibleBoard(
        challenge=challenge, entries=tuple(f.entry() for f in found), moderation=board.moderation,
        results=tuple(board.results), duels=tuple(duels),
    )  # fmt: skip
    shown = as_shown(whole, now or datetime.now(UTC)) if official else with_flags(whole)
    return build_standings(
        shown.challenge, shown.entries, shown.results, official=official, moderation=shown.moderation, duels=shown.duels
    )
