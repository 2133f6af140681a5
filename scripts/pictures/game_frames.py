"""Recorded matches position by position: frames for the site, and a match as text or as a moving picture.

The games' environments render the moves; the site shows frames of the games for which we have no board drawing.
"""

import base64
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image

from evaluator.host.envs.gym_task import import_entry_point
from evaluator.host.envs.pettingzoo_game import GamePosition, PettingZooGame, open_game
from evaluator.host.errors import EnvironmentFault
from evaluator.model import canonical_json
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd, first_side
from evaluator.model.visible_text import printable_line
from leaderboard.core.game_standings import GameStandings, shown_duels
from leaderboard.core.standings import Standings
from leaderboard.core.store import write_atomically
from leaderboard.games.game_drawings import action_word, drawing_of, position_text
from leaderboard.games.match_replay import end_reason, match_outcome, side_names
from leaderboard.site_context import AllFrames, ReplayFrames
from scripts.console import say
from scripts.pictures.render_episodes import (
    ANIMATION_SIDE,
    TERMINAL_ESCAPES,
    draw_without_screen,
    save_animation,
    shrink_frame,
    text_picture,
)
from scripts.terminal.progress_display import progress_bar

# Matches of each duel: its first opening from both sides, and the first two in which a rule was broken.
RENDERED_MATCHES, BROKEN_MATCHES = 2, 2
# Moves of a match, and the longer side of its pictures in pixels; longer matches have no pictures.
FRAME_SIZES = ((60, 400), (200, 240))
TEXT_PLIES = 400
# For all games together: the job that builds the site ends after 50 minutes, and four matches of Go take 40 seconds.
FRAMES_SECONDS = 300.0
# Version of the cached files.
CACHE_VERSION = "1"
T = TypeVar("T")


def rendered_frames(standings: Standings, cache: Path) -> AllFrames:
    """The frames of duels with a page, a few matches each; rendered once, then kept in `cache` by the duel's key.

    Players decide how long their matches are: what there is no time for is shown without frames.
    """
    all_frames: dict[tuple[str, int], ReplayFrames] = {}
    boards = [board for board in standings.games if drawing_of(board.task) is None]
    for board in boards:
        shown = _leaders_first(board)
        renderer: _FrameRenderer | None = None
        late, until = 0, time.monotonic() + FRAMES_SECONDS / len(boards)
        with progress_bar(f"Rendering {board.task.id}", len(shown)) as done:
            for number, duel in enumerate(shown, 1):
                path = cache / f"{duel.key}-{CACHE_VERSION}.json"
                try:
                    if (kept := _read(path)) is None:
                        if time.monotonic() > until:
                            late += 1
                            continue
                        renderer = renderer or _FrameRenderer(board.task)
                        write_atomically(path, canonical_json.canonical(renderer.render(duel)))
                        kept = _read(path) or {}
                except EnvironmentFault as error:
                    say(f"{error}; its matches are shown without frames")
                    if renderer is None:  # the game cannot be rendered at all
                        break
                    continue
                all_frames |= {(duel.key, index): match for index, match in kept.items()}
                done(number)
        if late:
            say(f"There was no time to render {late} duels of {board.task.id}; they are shown without frames.")
    return all_frames


def _leaders_first(board: GameStandings) -> list[Duel]:
    """The duels with a page, in the order of the worse of both players."""
    places: dict[tuple[str, str], int] = {row.entry.name: place for place, row in enumerate(board.rows)}
    return sorted(shown_duels(board), key=lambda duel: max(places.get(each.name, len(places)) for each in duel.players))


def _read(path: Path) -> dict[int, ReplayFrames] | None:
    """The kept frames by match; None without any, or where the file is damaged."""
    try:
        document = canonical_json.parse_strict(path.read_bytes())
        if not isinstance(document, list):
            return None
        kept = {}
        for match in document:
            texts, images, movers = (tuple(match[name]) for name in ("texts", "images", "movers"))
            kept[match["index"]] = ReplayFrames(texts=texts, images=images, movers=movers)
        return kept
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _rendering_game(task: Task, modes: Sequence[str]) -> tuple[PettingZooGame, str | None]:
    """The game, made so that it renders by the first of the modes that it has; without a mode where it has none."""
    game = open_game(task)
    with import_entry_point(f"the game {task.game} cannot be rendered"):
        offered = game.make().metadata.get("render_modes") or ()
    mode = next((mode for mode in modes if mode in offered), None)
    if mode is None:
        return game, None
    return open_game(task.model_copy(update={"kwargs": {**task.kwargs, "render_mode": mode}})), mode


class _FrameRenderer:
    """Renders positions by a game's environment, as text where it can, else as pictures."""

    def __init__(self, task: Task) -> None:
        self._game, self._mode = _rendering_game(task, ("ansi", "rgb_array"))
        if self._mode is None:
            raise EnvironmentFault(f"the game {task.game} renders neither text (ansi) nor pictures (rgb_array)")

    def render(self, duel: Duel) -> list[dict[str, Any]]:
        """The watched matches of a duel, as they are cached."""
        every = duel.match_moves()
        rendered = []
        for index in rendered_matches(duel):
            moves = every[index]
            side = next((side for plies, side in FRAME_SIZES if len(moves) <= plies), 0)
            if len(moves) <= TEXT_PLIES if self._mode == "ansi" else side:
                with import_entry_point(f"the game {self._game.task.game} cannot be rendered"):
                    rendered.append({"index": index, **self._match(duel.seeds[index // 2], moves, first_side(index), side)})
        return rendered

    def _match(self, seed: str, moves: Sequence[int], first: int, side: int) -> dict[str, Any]:
        """Every position of a match, up to the first move that the game does not accept any more."""
        positions, players = _replay_positions(self._game, seed, moves, lambda position, _: position.render())
        movers = [player ^ first for player in players]
        if self._mode == "ansi":
            return {"texts": [TERMINAL_ESCAPES.sub("", str(text)) for text in positions], "images": [], "movers": movers}
        return {"texts": [], "images": [png_data_url(downscaled(np.asarray(p), side)) for p in positions], "movers": movers}


def _replay_positions(
    game: PettingZooGame, seed: str, moves: Sequence[int], show: Callable[[GamePosition, int], T]
) -> tuple[list[T], list[int]]:
    """What `show` makes of every position of a match and its ply, up to the first move that the game does not accept.

    Also which of the game's players made each move.
    """
    position = game.start(seed)
    shown, players = [show(position, 0)], []
    for ply, move in enumerate(moves, 1):
        if position.over or move not in game.legal(position.observe()):
            break
        players.append(position.mover)
        position.play(move)
        shown.append(show(position, ply))
    position.close()
    return shown, players


def rendered_matches(duel: Duel) -> list[int]:
    """The matches that are rendered."""
    broken = [i for i, match in enumerate(duel.matches) if match.offenders and match.end is not MatchEnd.FORFEIT]
    return sorted({*range(min(RENDERED_MATCHES, len(duel.matches))), *broken[:BROKEN_MATCHES]})


def downscaled(picture: np.ndarray[Any, Any], side: int) -> np.ndarray[Any, Any]:
    """A picture whose longer side has at most `side` pixels, each the mean of a square block."""
    step = -(-max(picture.shape[:2]) // side)
    height, width = (length // step * step for length in picture.shape[:2])
    blocks = picture[:height, :width, :3].reshape(height // step, step, width // step, step, 3)
    small: np.ndarray[Any, Any] = blocks.mean(axis=(1, 3)).astype(np.uint8)
    return small


def png_data_url(picture: np.ndarray[Any, Any]) -> str:
    """A picture as PNG in a `data:` address."""
    png = io.BytesIO()
    Image.fromarray(picture).save(png, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(png.getvalue()).decode()


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
    """Every position of a match, or that many of a long one as an animation may have.

    Raises:
        EnvironmentFault: the game cannot be opened or rendered here.
    """
    moves = duel.match_moves()[index]
    draw_without_screen()
    game, mode = _rendering_game(task, ("rgb_array", "ansi") if pictures else ("ansi",))
    every = max(1, -(-len(moves) // MAX_PICTURES)) if pictures else 1
    drawn = {*range(0, len(moves) + 1, every), len(moves)}
    with import_entry_point(f"the game {task.game} cannot be rendered"):
        shown, players = _replay_positions(game, duel.seeds[index // 2], moves, partial(_render, mode, drawn))
    captions = _captions(duel, index, task, [player ^ first_side(index) for player in players])
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
    return str(rendered) if mode == "ansi" else shrink_frame(np.asarray(rendered)[..., :3], ANIMATION_SIDE)


def _captions(duel: Duel, index: int, task: Task, movers: Sequence[int]) -> list[tuple[str, ...]]:
    """The lines about each position."""
    names, match = side_names(duel), duel.matches[index]
    captions: list[tuple[str, ...]] = [(f"{names[0]} against {names[1]}, {names[first_side(index)]} begins",)]
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


def save_match_animation(positions: Sequence[WatchedPosition], target: Path) -> None:
    """Save a match as an animation.

    Raises:
        OSError: it cannot be written.
    """
    boards = [position.picture or text_picture(position.text) for position in positions]
    lines = max(len(_wrapped(position.caption)) for position in positions)
    captions = [text_picture("\n".join(_padded(position.caption, lines))) for position in positions]
    size = (max(*(each.width for each in boards), captions[0].width), max(each.height for each in boards))
    save_animation(
        [_with_caption(board, caption, size) for board, caption in zip(boards, captions, strict=True)],
        target, _MOVE_MILLISECONDS,
    )  # fmt: skip


def _wrapped(caption: Sequence[str]) -> list[str]:
    return [
        line[begin : begin + _CAPTION_CHARACTERS] for line in caption for begin in range(0, len(line), _CAPTION_CHARACTERS)
    ]


def _padded(caption: Sequence[str], lines: int) -> list[str]:
    """So many lines of the full width, so that all captions of an animation have one size."""
    wrapped = _wrapped(caption)
    return [line.ljust(_CAPTION_CHARACTERS) for line in [*wrapped, *[""] * (lines - len(wrapped))]]


def _with_caption(board: Image.Image, caption: Image.Image, size: tuple[int, int]) -> Image.Image:
    """A board above its caption, on the caption's ground."""
    frame = Image.new("RGB", (size[0], size[1] + caption.height), caption.getpixel((0, 0)))
    frame.paste(board, ((size[0] - board.width) // 2, (size[1] - board.height) // 2))
    frame.paste(caption, (0, size[1]))
    return frame
