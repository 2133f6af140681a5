"""The standings of a checkout's recorded results, and what they are computed from."""

from datetime import UTC, datetime

from leaderboard.build import build_standings
from leaderboard.core.standings import Standings
from leaderboard.visibility import RankingInput, as_shown, with_flags
from scripts.console import say
from scripts.repository.checkout import Checkout, say_damaged


def recorded_standings(
    checkout: Checkout, *, official: bool, tasks: list[str] | None = None, now: datetime | None = None
) -> Standings:
    """The standings of the recorded results and duels; see `recorded_input`."""
    return rank(recorded_input(checkout, official=official, tasks=tasks, now=now), official=official)


def recorded_input(
    checkout: Checkout, *, official: bool, tasks: list[str] | None = None, now: datetime | None = None
) -> RankingInput:
    """What standings are computed from; damaged files and faulty folders are reported and left out.

    Official standings leave out what is hidden at the time `now`; local standings show everything.
    """
    entries, faults = checkout.read_all()
    duels, damaged_duels = checkout.recorded_duels if checkout.challenge.games or not checkout.is_lean else ([], [])
    for line in faults:
        say(line)
    say_damaged("result", checkout.recorded[1])
    say_damaged("duel", damaged_duels)
    challenge = checkout.challenge.model_copy(update={"tasks": tuple(checkout.tasks(tasks))})
    recorded = RankingInput(
        challenge=challenge, entries=tuple(entry.entry() for entry in entries), moderation=checkout.moderation,
        results=tuple(checkout.results), duels=tuple(duels),
    )  # fmt: skip
    return as_shown(recorded, now or datetime.now(UTC)) if official else with_flags(recorded)


def rank(shown: RankingInput, *, official: bool) -> Standings:
    """The standings of an input."""
    return build_standings(
        shown.challenge, shown.entries, shown.results, official=official, moderation=shown.moderation, duels=shown.duels
    )
