"""The order in which missing work is played."""

from collections import Counter
from collections.abc import Iterable

from leaderboard.core.exclusions import EXAMPLES_LOGIN
from leaderboard.planning.missing_work import DuelWorkItem, WorkItem


def in_turns(items: Iterable[WorkItem | DuelWorkItem]) -> list[WorkItem | DuelWorkItem]:
    """New and changed agents first, measuring again last, and owners in turns: nobody's hundred agents keep another waiting.

    Within an owner, the order stays. A match uses up a turn of only one of its two owners: of the one with more players, or
    else of the one with fewer turns so far, since others' many players make many matches with it. The examples use up none.
    """
    taken = Counter[str]()
    turns: list[tuple[bool, int, int]] = []
    ordered = sorted(items, key=lambda item: not item.is_awaited)
    players = Counter(
        login for login, _ in {player.name for item in ordered for player in item.players} if login != EXAMPLES_LOGIN
    )
    for index, item in enumerate(ordered):
        owner = min((player.name.login for player in item.players), key=lambda login: (-players[login], taken[login]))
        turns.append((not item.is_awaited, taken[owner], index))
        taken[owner] += 1
    return [ordered[index] for _, _, index in sorted(turns)]
