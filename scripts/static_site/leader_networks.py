"""The networks of games' leaders that visitors of the site play."""

from collections.abc import Mapping

from leaderboard.core.standings import Standings
from leaderboard.game_pictures.onnx_reader import NetworkRefused
from leaderboard.game_pictures.opening_book import has_book
from leaderboard.game_pictures.playable_network import playable_document
from scripts.console import say
from scripts.repository.checkout import Checkout

_ADAPTER = "onnx"


def networks(checkout: Checkout, standings: Standings) -> Mapping[str, str]:
    """By task the leader's network as a document, where it has one and its manifest names a licence: it may be copied.

    An agent without a name is left out: its numbers would tell whose it is.
    """
    documents = {}
    for board in standings.games:
        if not has_book(board):
            continue
        leader = board.rows[0].entry
        if leader.submission.adapter != _ADAPTER or not leader.submission.license or leader.anonymous:
            continue
        # Read anew: a site is built from a lean checkout, which keeps no files.
        folders = [checkout.find(one.path).folder for one in checkout.read_all()[0] if one.folder.digest == leader.digest]
        files = [blob.content for folder in folders for blob in folder.blobs if blob.path == leader.submission.entry]
        try:
            if files:
                documents[board.task.id] = playable_document(files[0])
        except NetworkRefused as error:
            say(f"{leader.shown}: the page of {board.task.id} plays its recorded moves, not its network: {error}")
    return documents
