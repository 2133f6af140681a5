"""The order in which missing work is played."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName
from leaderboard.planning.missing_work import DuelWorkItem, WorkItem

# Of each owner, so many new or changed agents are played before all that is measured again.
AGENTS_FIRST = 3


def in_turns(items: Iterable[WorkItem | DuelWorkItem]) -> list[WorkItem | DuelWorkItem]:
    """A few new or changed agents of each owner first, then the rest; owners take turns, so that nobody waits for a hundred.

    Within an owner, the order stays. A match uses up a turn of only one of its two owners: of the one with more players, or
    else of the one with fewer turns so far, since others' many players make many matches with it. The examples use up none.
    """
    items = list(items)
    # What of a new agent does not come first still comes before what is measured again of its owner.
    ordered = sorted(zip(_coming_first(items), items, strict=True), key=lambda pair: (not pair[0], not pair[1].is_awaited))
    players = Counter(
        login for login, _ in {player.name for item in items for player in item.players} if login != EXAMPLES_LOGIN
    )
    taken = Counter[str]()
    turns: list[tuple[bool, int, int]] = []
    for index, (is_first, item) in enumerate(ordered):
        owner = min((player.name.login for player in item.players), key=lambda login: (-players[login], taken[login]))
        turns.append((not is_first, taken[owner], index))
        taken[owner] += 1
    return [ordered[index][1] for _, _, index in sorted(turns)]


def _coming_first(items: Sequence[WorkItem | DuelWorkItem]) -> Iterator[bool]:
    """For each item whether it comes first: it is awaited, of one of the first agents of its owner.

    In a match of a new agent with one that is measured again, only the new one's owner counts.
    """
    measured_again = {player.name for item in items if not item.is_awaited for player in item.players}
    first: defaultdict[str, set[AgentName]] = defaultdict(set)
    for item in items:
        names = {player.name for player in item.players if player.name.login != EXAMPLES_LOGIN}
        names = names - measured_again or names
        is_first = item.is_awaited and all(
            name in first[name.login] or len(first[name.login]) < AGENTS_FIRST for name in names
        )
        if is_first:
            for name in names:
                first[name.login].add(name)
        yield is_first
