"""The page of a closed season."""

from dataclasses import dataclass

from leaderboard.core.standings import Standings
from leaderboard.pages.template_renderer import template_environment

# Rows of each table; the archived leaderboard has all of them.
SEASON_ROWS = 10


@dataclass(frozen=True, kw_only=True)
class SeasonSummary:
    """How a season ended."""

    at: str
    """UTC."""
    by: str
    """Who signed it off."""
    results: int
    """Results and duels that were verified."""
    stale: int
    """Results under settings of a task that changed later; they do not rank."""
    steps: int
    """Environment steps that were replayed."""
    manifest_sha256: str
    """Of the archive's list of hashes."""
    archive: str
    """File name."""
    archive_sha256: str
    bibtex: str
    revealed: str | None = None
    """The secret of a sealed season."""


def season_page(standings: Standings, summary: SeasonSummary) -> str:
    """The page of a closed season as Markdown."""
    template = template_environment().get_template("closed_season.md.jinja")
    return template.render(standings=standings, challenge=standings.challenge, summary=summary, few=SEASON_ROWS)
