"""All documents for machines, as files below the site's root."""

from collections.abc import Iterator

from leaderboard.api import agents, badges, feeds, index, leaderboards, openapi, openmetrics, status, table
from leaderboard.api import rows as sheet
from leaderboard.api.inputs import facts
from leaderboard.core.parallel import WHOLE, Share
from leaderboard.core.standings import Standings
from leaderboard.history import History
from leaderboard.pages.page_context import PageContext
from leaderboard.text import serialise


def files(standings: Standings, context: PageContext) -> Iterator[tuple[str, bytes]]:
    """Path below the site's root, and content; one after the other, so that no board is ever in memory as text."""
    yield from of_boards(standings, context)
    yield from of_events(standings, context)
    yield from of_agents(standings, context, WHOLE)


def of_boards(standings: Standings, context: PageContext) -> Iterator[tuple[str, bytes]]:
    """The documents of the whole and of each task."""
    known = facts(standings, context)
    yield from index.files(known)
    yield from openapi.files(known)
    entries = sheet.Entries()
    for board in standings.tasks:
        rows = entries.sheet(board)
        yield serialise.task_file(board.task.id, "table.json"), table.of_task(board, rows, context.reproduced)
        yield from leaderboards.of_task(board, rows, known)
    for game in standings.games:
        yield serialise.task_file(game.task.id, "table.json"), serialise.dumps(table.of_game(game, standings))
        yield from leaderboards.of_game(game)


def of_events(standings: Standings, context: PageContext, past: History | None = None) -> Iterator[tuple[str, bytes]]:
    """What happened: the state of every submission, feeds and counters; from `past`, where somebody has it already."""
    known = facts(standings, context)
    yield from status.files(known)
    yield from feeds.files(known, past or History(standings, tuple(known.results)))
    yield from openmetrics.files(known)


def of_agents(standings: Standings, context: PageContext, share: Share) -> Iterator[tuple[str, bytes]]:
    """The documents and badges of a part of the agents."""
    every = agents.entered(standings)
    own = dict(share.of(sorted(every.items(), key=lambda one: one[0])))
    known, found = facts(standings, context, own), agents.gathered(standings, own)
    gone = [one for one in context.departed if (one.login.casefold(), one.agent) not in every]
    yield from agents.files(known, found, share.of(gone))
    yield from badges.files(known, found, share.of(gone))
