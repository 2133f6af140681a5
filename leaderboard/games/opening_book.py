"""The leader's recorded matches of a board game, for visitors who play against it: data only, no agent runs on a page."""

import json
from collections.abc import Iterator

from evaluator.model.config.task import Task
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


def has_book(board: GameStandings) -> bool:
    """Whether visitors can play the leader."""
    return rules_name(board.task) is not None and bool(board.rows) and next(_matches(board, board.rows[0]), None) is not None


def opening_book(board: GameStandings) -> str:
    """The JSON document of a board with a leader: each match as who the leader was (0 began) and a digit for each move."""
    leader = board.rows[0]
    matches = [match for match, _ in zip(_matches(board, leader), range(BOOK_MATCHES), strict=False)]
    name = one_line(leader.entry.submission.name)
    document = {"game": rules_name(board.task), "leader": name, "opening": board.task.opening, "matches": matches}
    return json.dumps(document, separators=(",", ":"))


def _matches(board: GameStandings, leader: GameRow) -> Iterator[tuple[int, str]]:
    for row in board.rows:
        meeting = board.crosstable.get((leader.entry.name, row.entry.name))
        if meeting is None:
            continue
        for index, moves in enumerate(moves_of(meeting.duel)):
            if moves and all(0 <= move <= 9 for move in moves):
                # Sides take turns in beginning.
                yield meeting.side ^ index % 2, "".join(map(str, moves))
