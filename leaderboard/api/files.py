"""All documents for machines, as files below the site's root."""

from collections.abc import Iterator

from leaderboard.api import agents, badges, feeds, index, leaderboards, openapi, openmetrics, status, table
from leaderboard.api import rows as sheet
from leaderboard.api.inputs import api_inputs
from leaderboard.core.parallel import WHOLE, Partition
from leaderboard.core.standings import Standings
from leaderboard.history import BoardHistory
from leaderboard.pages.page_context import PageContext
from leaderboard.text import serialise


def api_files(standings: Standings, context: PageContext) -> Iterator[tuple[str, bytes]]:
    """Path below the site's root, and content; one after the other, so that no board is ever in memory as text."""
    yield from leaderboard_files(standings, context)
    yield from feed_and_status_files(standings, context)
    yield from agent_document_files(standings, context, WHOLE)


def leaderboard_files(standings: Standings, context: PageContext) -> Iterator[tuple[str, bytes]]:
    """The documents of the whole and of each task."""
    known = api_inputs(standings, context)
    yield from index.index_files(known)
    yield from openapi.openapi_files(known)
    entries = sheet.EntryCache()
    for board in standings.tasks:
        rows = entries.sheet(board)
        yield serialise.task_file(board.task.id, "table.json"), table.task_table(board, rows, context.reproduced)
        yield from leaderboards.task_leaderboard_files(board, rows, known)
    for game in standings.games:
        yield serialise.task_file(game.task.id, "table.json"), serialise.json_document(table.game_table(game, standings))
        yield from leaderboards.game_leaderboard_files(game)


def feed_and_status_files(
    standings: Standings, context: PageContext, past: BoardHistory | None = None
) -> Iterator[tuple[str, bytes]]:
    """What happened: the state of every submission, feeds and counters; from `past`, where somebody has it already."""
    known = api_inputs(standings, context)
    yield from status.status_files(known)
    yield from feeds.feed_files(known, past or BoardHistory(standings, tuple(known.results)))
    yield from openmetrics.openmetrics_files(known)


def agent_document_files(standings: Standings, context: PageContext, share: Partition) -> Iterator[tuple[str, bytes]]:
    """The documents of a part of the agents, and their badges where challenge.yml asks for them."""
    every = agents.entered_tasks(standings)
    own = dict(share.of(sorted(every.items(), key=lambda one: one[0])))
    known, found = api_inputs(standings, context, own), agents.gather_documents(standings, own)
    gone = [one for one in context.departed if (one.login.casefold(), one.agent) not in every]
    yield from agents.agent_files(known, found, share.of(gone))
    if standings.challenge.badges:
        yield from badges.badge_files(known, found, share.of(gone))
