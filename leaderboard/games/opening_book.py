"""The leader's recorded matches of a board game, for visitors who play against it: data only, no agent runs on a page."""

import json
from collections.abc import Iterator

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import first_side
from evaluator.model.visible_text import one_line
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.games.game_drawings import GAME_VERSION, moves_of

# Matches in a book: at 42 moves each some 100 kB.
BOOK_MATCHES = 2000
# Games whose rules site/assets/js/game-rules.js has; its keys are on the right.
_PLAYABLE = {"pettingzoo.classic.tictactoe": "tictactoe", "pettingzoo.classic.connect_four": "connect_four"}


def rules_name(task: Task) -> str | None:
    """What the page's script calls the rules of a game; None for a game that it does not have."""
    return None if task.kwargs else _PLAYABLE.get(GAME_VERSION.sub("", task.game or ""))


def has_book(game: GameStandings) -> bool:
    """Whether visitors can play the leader."""
    return rules_name(game.task) is not None and bool(game.rows) and next(_matches(game, game.rows[0]), None) is not None


def opening_book(game: GameStandings) -> str:
    """The JSON document of a game with a leader: each match as who the leader was (0 began) and a digit for each move."""
    leader = game.rows[0]
    matches = [match for match, _ in zip(_matches(game, leader), range(BOOK_MATCHES), strict=False)]
    name = one_line(leader.entry.submission.name)
    document = {"game": rules_name(game.task), "leader": name, "opening": game.task.opening, "matches": matches}
    return json.dumps(document, separators=(",", ":"))


def _matches(game: GameStandings, leader: GameRow) -> Iterator[tuple[int, str]]:
    for row in game.rows:
        meeting = game.crosstable.get((leader.entry.name, row.entry.name))
        if meeting is None:
            continue
        for index, moves in enumerate(moves_of(meeting.duel)):
            if moves and all(0 <= move <= 9 for move in moves):
                yield meeting.side ^ first_side(index), "".join(map(str, moves))
