"""The pictures that are shown where somebody shares a link to the site."""

from collections.abc import Iterator

from leaderboard.charts.social_cards import cards, drawn
from leaderboard.core.standings import Standings


def card_pictures(standings: Standings) -> Iterator[tuple[str, bytes]]:
    """Every card: its file below the site's root, and the PNG. Drawn one after the other, as they are asked for."""
    return ((card.file, drawn(card)) for card in cards(standings))
