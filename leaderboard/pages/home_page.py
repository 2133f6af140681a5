"""Values of the home page: how many events it lists, the end of the season, and a small animation for each leader."""

from collections.abc import Mapping
from datetime import datetime
from urllib.parse import quote

from markupsafe import Markup

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import to_utc
from leaderboard.charts import social_cards
from leaderboard.core.standings import TaskRow
from leaderboard.games import won_matches
from leaderboard.pages import episode_replays
from leaderboard.site_context import SiteContext
from leaderboard.text.format import format_utc
from leaderboard.text.urls import segment

# Rows of the overall table on the home page, and of it or of the ledger on their own pages.
HOME_ROWS, PAGE_ROWS = 10, 100
# Events under "What is new", and former entries, on the home page.
HOME_EVENTS, HOME_FORMER = 8, 5


def feed_name(task_id: str) -> str:
    """The address of a task's feed, without folder and extension."""
    return quote(segment(task_id))


def to_minute(moment: str) -> str:
    """A UTC time without seconds, such as `2026-05-01 12:00 UTC`."""
    return f"{moment[:10]} {moment[11:16]} UTC"


def season_end(challenge: Challenge, now: datetime | None) -> str:
    """When the season ends, in words: with the last phase, if every task is in a phase that has an end.

    Once `pullrank season final` is merged, submissions have ended, whatever the phases say.
    """
    if challenge.is_final:
        return "submissions have ended"
    phases = [challenge.phase_of(task.id) for task in challenge.tasks]
    ends = [phase.end for phase in phases if phase and phase.end]
    if not phases or len(ends) < len(phases):
        return "no end date"
    last = max(ends, key=to_utc)
    if now is None:
        return f"until {format_utc(last)}"
    left = to_utc(last) - now
    if left.total_seconds() <= 0:
        return f"ended {format_utc(last)}"
    # In weeks while it is far away: each change of these words causes a new deployment of the site.
    days, weeks = left.days, left.days // 7
    if weeks > 1:
        return f"ends {format_utc(last)}, in {weeks} weeks"
    return f"ends {format_utc(last)}, in {days} days" if days > 1 else f"ends {format_utc(last)}"


def episode_picture(row: TaskRow, context: SiteContext, root: str) -> Markup:
    """The median episode of a leader as a small animation; empty if none is rendered."""
    shown = episode_replays.typical_episode(context.episodes.get(row.result.key, ()))
    return episode_replays.replay_thumbnail(shown, root) if shown else Markup()


HOME_GLOBALS: Mapping[str, object] = {
    "episode_picture": episode_picture, "match_picture": won_matches.match_picture, "card_file": social_cards.task_card,
    "leaders_win": won_matches.leaders_win, "won_matches": won_matches.won_matches,
    "HOME_ROWS": HOME_ROWS, "PAGE_ROWS": PAGE_ROWS, "HOME_FORMER": HOME_FORMER, "minute": to_minute,
    "feed_name": feed_name,
}  # fmt: skip
