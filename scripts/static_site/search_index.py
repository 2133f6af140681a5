"""What the search of the site looks through: pages as plain text, every agent, and some duels of each game."""

import html
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypedDict

from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import shown_duels
from leaderboard.core.standings import Standings
from leaderboard.games.match_replay import side_names
from leaderboard.pages.agent_list import agent_lines
from leaderboard.text import urls

INDEX_FILE = Path("search") / "search_index.json"
# Of each game: thousands of players have a hundred thousand duels, and the page of each player lists its own.
SEARCHED_DUELS = 300
_TAG = re.compile("<[^>]*>")


class SearchEntry(TypedDict):
    """One thing that can be looked for."""

    location: str
    """Address below the site's root."""
    title: str
    text: str
    """Plain text."""


def write(path: Path, standings: Standings) -> None:
    """Replace the index of MkDocs by one of plain text with agents and duels; without one there is no search."""
    if not path.exists():
        return
    pages = [_plain(entry) for entry in json.loads(path.read_text("utf-8"))["docs"]]
    entries = [*_agents(standings), *_duels(standings), *pages]
    path.write_text(json.dumps({"docs": entries}, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def _plain(entry: SearchEntry) -> SearchEntry:
    """MkDocs keeps some tags; a blank in the place of each keeps words apart."""
    title, text = (" ".join(html.unescape(_TAG.sub(" ", entry[key])).split()) for key in ("title", "text"))
    return {"location": entry["location"], "title": title, "text": text}


def _agents(standings: Standings) -> Iterator[SearchEntry]:
    for line in agent_lines(standings):
        entry = line.entry
        places = ", ".join(f"{place} in {task.title or task.id}" for place, task in line.named)
        owner = "" if entry.anonymous else f"by {entry.login}, {entry.shown}, "
        words = f"Agent {owner}{entry.submission.algorithm}{f'. Place {places}' if places else ''}"
        address = urls.address(urls.agent_page(entry.login, entry.agent))
        yield {"location": address, "title": entry.submission.name, "text": words}


def _duels(standings: Standings) -> Iterator[SearchEntry]:
    for game in standings.games:
        names = {row.entry.name: row.entry.submission.name for row in game.rows}
        for duel in islice(shown_duels(game), SEARCHED_DUELS):
            first, second = side_names(duel, [names.get(AgentName(*player.name)) for player in duel.players])
            address = urls.address(urls.duel_page(game.task.id, duel))
            text = f"Duel in {game.task.title or game.task.id}, {len(duel.matches)} matches"
            yield {"location": address, "title": f"{first} v {second}", "text": text}
