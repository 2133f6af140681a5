"""Frames of games for which we have no board drawing: their environments render the recorded moves, as text or pictures."""

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image

from evaluator.host.envs.gym_task import import_entry_point
from evaluator.host.envs.pettingzoo_game import GamePosition, PettingZooGame, open_game
from evaluator.host.errors import EnvironmentFault
from evaluator.model import canonical_json
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from leaderboard.core.game_standings import shown_duels
from leaderboard.core.standings import Standings
from leaderboard.core.store import write_atomically
from leaderboard.games.game_drawings import drawing_of
from leaderboard.site_context import AllFrames, ReplayFrames
from scripts.console import progress_bar, say
from scripts.static_site.render_episodes import TERMINAL_ESCAPES

# Matches of each duel: its first opening from both sides, and the first two in which a rule was broken.
WATCHED, BROKEN = 2, 2
# Moves of a match, and the longer side of its pictures in pixels; longer matches have no pictures.
FRAME_SIZES = ((60, 400), (200, 240))
TEXT_PLIES = 400
# Version of the cached files.
CACHE_VERSION = "1"
T = TypeVar("T")


def rendered_frames(standings: Standings, cache: Path) -> AllFrames:
    """The frames of every duel with a page, a few matches each; rendered once, then kept in `cache` by the duel's key."""
    all_frames: dict[tuple[str, int], ReplayFrames] = {}
    for board in standings.games:
        if drawing_of(board.task) is not None:
            continue
        shown = list(shown_duels(board))
        renderer: _FrameRenderer | None = None
        with progress_bar(f"Rendering {board.task.id}", len(shown)) as done:
            for number, duel in enumerate(shown, 1):
                path = cache / f"{duel.key}-{CACHE_VERSION}.json"
                try:
                    if (kept := _read(path)) is None:
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
    return all_frames


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


def rendering_game(task: Task, modes: Sequence[str]) -> tuple[PettingZooGame, str | None]:
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
        self._game, self._mode = rendering_game(task, ("ansi", "rgb_array"))
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
                    rendered.append({"index": index, **self._match(duel.seeds[index // 2], moves, index % 2, side)})
        return rendered

    def _match(self, seed: str, moves: Sequence[int], first: int, side: int) -> dict[str, Any]:
        """Every position of a match, up to the first move that the game does not accept any more."""
        positions, players = replay_positions(self._game, seed, moves, lambda position, _: position.render())
        movers = [player ^ first for player in players]
        if self._mode == "ansi":
            return {"texts": [TERMINAL_ESCAPES.sub("", str(text)) for text in positions], "images": [], "movers": movers}
        return {"texts": [], "images": [png_data_url(downscaled(np.asarray(p), side)) for p in positions], "movers": movers}


def replay_positions(
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
    return sorted({*range(min(WATCHED, len(duel.matches))), *broken[:BROKEN]})


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
