"""A recorded match position by position: as text, or as a moving picture with a line for each move."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from evaluator.host.envs.gym_task import import_entry_point
from evaluator.host.envs.pettingzoo_game import GamePosition
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.visible_text import printable_line
from leaderboard.games.game_drawings import action_word, position_text
from leaderboard.games.match_replay import end_reason, match_outcome, side_names
from scripts.static_site.game_frames import rendering_game, replay_positions
from scripts.static_site.render_episodes import (
    TERMINAL_ESCAPES,
    WATCHED_SIDE,
    draw_without_screen,
    save_film,
    shrink_frame,
    text_picture,
)

# Pictures of a match; of a longer one not every position is drawn.
MAX_PICTURES = 300
_MOVE_MILLISECONDS = 700
_CAPTION_CHARACTERS = 78


@dataclass(frozen=True, kw_only=True)
class WatchedPosition:
    """A position of a match, with the move that led to it."""

    caption: tuple[str, ...]
    """Lines about the move; of the last position also how the match ended."""
    text: str
    """Empty where neither the game nor we can write it."""
    picture: Image.Image | None


def watched_positions(duel: Duel, index: int, task: Task, *, pictures: bool) -> list[WatchedPosition]:
    """Every position of a match, or that many of a long one as a film may have.

    Raises:
        EnvironmentFault: the game cannot be opened or rendered here.
    """
    moves = duel.match_moves()[index]
    draw_without_screen()
    game, mode = rendering_game(task, ("rgb_array", "ansi") if pictures else ("ansi",))
    every = max(1, -(-len(moves) // MAX_PICTURES)) if pictures else 1
    drawn = {*range(0, len(moves) + 1, every), len(moves)}
    with import_entry_point(f"the game {task.game} cannot be rendered"):
        shown, players = replay_positions(game, duel.seeds[index // 2], moves, partial(_render, mode, drawn))
    captions = _captions(duel, index, task, [player ^ index % 2 for player in players])
    positions = []
    for ply in sorted(drawn & set(range(len(shown)))):
        rendered = shown[ply]
        text = TERMINAL_ESCAPES.sub("", rendered) if isinstance(rendered, str) else position_text(task, moves[:ply]) or ""
        picture = rendered if isinstance(rendered, Image.Image) else None
        positions.append(WatchedPosition(caption=captions[ply], text=text, picture=picture))
    return positions


def _render(mode: str | None, drawn: set[int], position: GamePosition, ply: int) -> Any:
    if mode is None or ply not in drawn:
        return None
    rendered = position.render()
    return str(rendered) if mode == "ansi" else shrink_frame(np.asarray(rendered)[..., :3], WATCHED_SIDE)


def _captions(duel: Duel, index: int, task: Task, movers: Sequence[int]) -> list[tuple[str, ...]]:
    """The lines about each position."""
    names, match = side_names(duel), duel.matches[index]
    captions: list[tuple[str, ...]] = [(f"{names[0]} against {names[1]}, {names[index % 2]} begins",)]
    for ply, (mover, move) in enumerate(zip(movers, duel.match_moves()[index], strict=False), 1):
        drawn_move = ", drawn for both" if ply <= task.opening else ""
        captions.append((f"move {ply}: {names[mover]} {action_word(task, move)}{drawn_move}",))
    captions[-1] += (f"{match_outcome(match, names)}: {end_reason(match, duel, task)}",)
    return captions


def match_text(positions: Sequence[WatchedPosition]) -> str:
    """A match for a terminal or a file: captions and positions, with an empty line between two."""
    blocks = []
    for position in positions:
        lines = [*position.caption, *position.text.rstrip().splitlines()]
        blocks.append("\n".join(printable_line(line) for line in lines))
    return "\n\n".join(blocks) + "\n"


def save_match(positions: Sequence[WatchedPosition], target: Path) -> None:
    """Save a match as a moving picture.

    Raises:
        OSError: it cannot be written.
    """
    boards = [position.picture or text_picture(position.text) for position in positions]
    lines = max(len(_wrapped(position.caption)) for position in positions)
    captions = [text_picture("\n".join(_padded(position.caption, lines))) for position in positions]
    size = (max(*(each.width for each in boards), captions[0].width), max(each.height for each in boards))
    save_film(
        [_with_caption(board, caption, size) for board, caption in zip(boards, captions, strict=True)],
        target, _MOVE_MILLISECONDS,
    )  # fmt: skip


def _wrapped(caption: Sequence[str]) -> list[str]:
    return [
        line[begin : begin + _CAPTION_CHARACTERS] for line in caption for begin in range(0, len(line), _CAPTION_CHARACTERS)
    ]


def _padded(caption: Sequence[str], lines: int) -> list[str]:
    """So many lines of the full width, so that all captions of a film have one size."""
    wrapped = _wrapped(caption)
    return [line.ljust(_CAPTION_CHARACTERS) for line in [*wrapped, *[""] * (lines - len(wrapped))]]


def _with_caption(board: Image.Image, caption: Image.Image, size: tuple[int, int]) -> Image.Image:
    """A board above its caption, on the caption's ground."""
    frame = Image.new("RGB", (size[0], size[1] + caption.height), caption.getpixel((0, 0)))
    frame.paste(board, ((size[0] - board.width) // 2, (size[1] - board.height) // 2))
    frame.paste(caption, (0, size[1]))
    return frame
