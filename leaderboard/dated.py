"""What of a board's pages changes with time alone, so that a site need be built anew only when it would be another."""

from datetime import datetime

from evaluator.model.config.challenge import Challenge
from leaderboard.pages.home_page import season_end
from leaderboard.text.format import shown
from leaderboard.visibility import hidden, is_anonymous


def dated(challenge: Challenge, now: datetime) -> tuple[str, ...]:
    """Whatever pages say or hide that depends on the moment; equal at two moments between which nothing of it changes.

    When a page was made is not among it.
    """
    states = (f"{one.phase.id}: {one.state}, hidden until {one.hidden_until}" for one in shown(challenge, now))
    left_out = (f"hidden: {task.id}" for task in hidden(challenge, now))
    return (season_end(challenge, now), *states, *left_out, f"anonymous: {is_anonymous(challenge, now)}")
