"""All documents for machines, as files below the site's root."""

from collections.abc import Iterator

from leaderboard.api import agents, badges, boards, feeds, openapi, openmetrics, overview, status, table
from leaderboard.api.facts import facts
from leaderboard.context import PageContext
from leaderboard.standings import Standings


def files(standings: Standings, context: PageContext) -> Iterator[tuple[str, bytes]]:
    """Path below the site's root, and content; one after the other, so that no board is ever in memory as text."""
    known = facts(standings, context)
    yield from overview.files(known)
    yield from openapi.files(known)
    yield from table.files(known)
    yield from boards.files(known)
    yield from status.files(known)
    yield from feeds.files(known)
    yield from openmetrics.files(known)
    found = agents.gathered(known)
    yield from agents.files(known, found)
    yield from badges.files(known, found)
