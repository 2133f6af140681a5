"""The summary page of a closed season: what came out, who signs for it, and how to check and cite it."""

from dataclasses import dataclass

from leaderboard.core.standings import Standings
from leaderboard.pages import environment

# Rows of each table; the archived board has them all.
SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """How a season ended."""

    at: str
    """When, in UTC."""
    by: str
    """Who signs for it."""
    results: int
    """Results and duels that were verified."""
    stale: int
    """Recorded under settings of a task that changed later; they rank nowhere."""
    steps: int
    """Environment steps that were replayed."""
    manifest_sha256: str
    """Hash of the archive's list of hashes."""
    archive: str
    """The archive's file name."""
    archive_sha256: str
    """The archive's hash."""
    bibtex: str
    """How it is cited."""
    revealed: str | None = None
    """The secret of a sealed season."""


def season_page(standings: Standings, freeze: Freeze) -> str:
    """The page as Markdown, to lie beside the archived board."""
    template = environment().get_template("season.md.jinja")
    return template.render(standings=standings, challenge=standings.challenge, freeze=freeze, few=SHOWN)
