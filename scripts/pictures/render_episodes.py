"""Episodes of the best entries as sprite sheets, rendered once from their traces and stored by the result's key."""

import hashlib
import importlib
import io
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from multiprocessing import TimeoutError as SilenceError
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Literal

from PIL import Image, ImageDraw, ImageFont
from pydantic import Field, StringConstraints

from evaluator import signals
from evaluator.host.envs.custom_metrics import RecordedEpisode
from evaluator.host.envs.gym_task import GymTask, load_gym_task
from evaluator.host.envs.render import Picture, RenderLimits, render_episode, with_rendering
from evaluator.host.errors import EnvironmentFault
from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo.verify_result import checked_actions
from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.config.task import Task
from evaluator.model.identifiers import Digest
from evaluator.model.records.parse import parse_trace
from evaluator.model.records.result import Result
from evaluator.model.validation_messages import error_in_words
from leaderboard.core.standings import Standings
from leaderboard.core.store import write_atomically
from leaderboard.pages.episode_replays import EPISODES_FOLDER, chosen_episodes, shown_replays
from leaderboard.site_context import EpisodeReplay, Episodes
from scripts.console import say
from scripts.repository.checkout import Checkout
from scripts.terminal.progress_display import progress_bar

# Pixels of a frame's longer side.
FRAME_SIDE = 240
# Bytes that a sheet should have at most. Until it does, these are tried: WebP quality, and n, where each n-th frame is kept.
TARGET_SHEET_BYTES = 60_000
SHEET_TRIES = ((60, 1), (40, 1), (50, 2), (30, 2), (30, 4))
# Bytes beyond which the smallest sheet is not used.
MAX_SHEET_BYTES = 200_000
TERMINAL_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TEXT_INK, _PAPER = "#22303f", "#f4f6f8"
# Pillow's own bitmap font: the only monospaced font that every machine has.
_LETTER, _LINE, _MARGIN = 6, 11, 6
_CHARACTERS, _TEXT_LINES = 80, 50


@dataclass(frozen=True, kw_only=True)
class SpriteSheet:
    """All frames of an episode in one picture."""

    content: bytes
    """WebP."""
    columns: int
    """Frames in a row; the last row is filled with the last frame, so that it holds still for a moment."""
    width: int
    height: int
    kept: tuple[int, ...]


def shrink_frame(shown: Picture | str, side: int = FRAME_SIDE) -> Image.Image:
    """A frame of at most that many pixels a side."""
    picture = text_picture(shown) if isinstance(shown, str) else Image.fromarray(shown)
    scale = min(1.0, side / max(picture.size))
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture if size == picture.size else picture.resize(size, Image.Resampling.BOX)


def text_picture(text: str) -> Image.Image:
    """Text as a picture; characters that the font lacks become question marks."""
    lines = [
        line.encode("latin-1", "replace").decode("latin-1")
        for line in TERMINAL_ESCAPES.sub("", text).expandtabs().split("\n")
    ]
    lines = [line[:_CHARACTERS] for line in lines[:_TEXT_LINES]]
    size = (_LETTER * max(1, *map(len, [*lines, ""])) + 2 * _MARGIN, _LINE * max(1, len(lines)) + 2 * _MARGIN)
    picture = Image.new("RGB", size, _PAPER)
    drawing, font = ImageDraw.Draw(picture), ImageFont.load_default_imagefont()
    for number, line in enumerate(lines):
        drawing.text((_MARGIN, _MARGIN + _LINE * number), line, fill=_TEXT_INK, font=font)
    return picture


def sprite_sheet(frames: Sequence[Image.Image]) -> SpriteSheet | None:
    """The frames by the first try within TARGET_SHEET_BYTES, else the smallest sheet; None where that is too large.

    All frames get the size of the first one.
    """
    tried: list[tuple[bytes, tuple[int, ...]]] = []
    for quality, every in SHEET_TRIES:
        kept = tuple(sorted({*range(0, len(frames), every), len(frames) - 1}))
        tried.append((_encode_webp(_sheet_picture([frames[index] for index in kept]), quality), kept))
        if len(tried[-1][0]) <= TARGET_SHEET_BYTES:
            break
    content, kept = min(tried, key=lambda sheet: len(sheet[0]))
    if len(content) > MAX_SHEET_BYTES:
        return None
    width, height = frames[0].size
    return SpriteSheet(content=content, columns=_columns(len(kept)), width=width, height=height, kept=kept)


def _columns(count: int) -> int:
    return math.isqrt(count - 1) + 1


def _sheet_picture(frames: Sequence[Image.Image]) -> Image.Image:
    width, height = frames[0].size
    columns = _columns(len(frames))
    rows = -(-len(frames) // columns)
    sheet = Image.new("RGB", (width * columns, height * rows))
    for place in range(columns * rows):
        frame = frames[min(place, len(frames) - 1)]
        sheet.paste(
            frame.resize((width, height)) if frame.size != (width, height) else frame,
            (place % columns * width, place // columns * height),
        )
    return sheet


def _encode_webp(picture: Image.Image, quality: int) -> bytes:
    """As WebP, lossless or lossy, whichever is smaller: flat drawings are smaller lossless, landscapes lossy."""
    exact, near = io.BytesIO(), io.BytesIO()
    picture.save(exact, "WEBP", lossless=True, quality=70, method=4)
    picture.save(near, "WEBP", quality=quality, method=4)
    return min(exact.getvalue(), near.getvalue(), key=len)


SHEET_LIMITS = RenderLimits(frames=60, steps=20_000, seconds=20)
# Seconds until a result's episodes are given up: an environment may hang or end its process inside a library.
RESULT_TIMEOUT_SECONDS = 120
# In which rendering a task begins. The workflow's step ends after 25 minutes, and what it has not pushed by then is lost.
RENDER_SECONDS = 1000.0
# Larger traces are not read.
TRACE_BYTES = 64 << 20
# Digits of the key in file names.
KEY_DIGITS = 20
_STORED_NAME = re.compile(rf"[0-9a-f]{{{KEY_DIGITS}}}(?:\.json|-(?:best|median|worst)\.webp)")
_WEBP = (b"RIFF", b"WEBP")


class RenderedEpisode(Frozen):
    """One rendered episode: `total` is its return, `width` and `height` are those of one frame in pixels."""

    which: Annotated[str, StringConstraints(pattern=r"^(best|median|worst)$")]
    number: int = Field(ge=0)
    total: float
    length: int = Field(ge=0)
    columns: int = Field(ge=1, le=100)
    width: int = Field(ge=1, le=1000)
    height: int = Field(ge=1, le=1000)
    steps: tuple[int, ...] = Field(min_length=1, max_length=1000)
    """After how many steps each frame was taken."""
    sha256: Digest
    """Of the picture's file."""


class RenderedResult(Frozen):
    """What is stored for one result; `reason` says why it has no episodes."""

    form: Literal[1] = 1
    """Version of this format."""
    key: Digest
    reason: str = ""
    episodes: tuple[RenderedEpisode, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RenderRequest:
    """A result whose episodes are to be shown; small, since it travels to another process."""

    task: Task
    key: str
    result: Path
    trace: Path
    path: str
    """Of both files below their roots, without endings."""
    chosen: tuple[tuple[str, int], ...]
    """`best`, `median` or `worst`, and the index of that episode."""
    totals: tuple[float, ...] = ()
    """The return of each."""
    secret: SeasonSecret | None = None
    """Of its season, if that was sealed and has been revealed."""


def render_requests(checkout: Checkout, standings: Standings) -> list[RenderRequest]:
    """Every result whose episodes are to be shown; none of anonymous entries, whose files are named after their owner."""
    by_key: dict[str, RenderRequest] = {}
    for table, row in shown_replays(standings):
        result = row.result
        path, chosen = checkout.store.path_of(result), chosen_episodes(result, table.task)
        if not row.entry.anonymous and path.exists():
            by_key[result.key] = RenderRequest(
                task=table.task, key=result.key, result=path, trace=checkout.store.trace_of(path), path=result.path(),
                chosen=chosen, totals=tuple(result.returns[index] for _, index in chosen),
                secret=checkout.seasons.secret_of(result.season, result.beacon),
            )  # fmt: skip
    return list(by_key.values())


def episodes_folder(root: Path) -> Path:
    """The folder of the rendered episodes: below build/, as on the site."""
    return root / "build" / EPISODES_FOLDER


def rendered_replays(checkout: Checkout, standings: Standings) -> Episodes:
    """The rendered episodes of a board; those that are missing are rendered, where their traces are in this checkout."""
    requests = render_requests(checkout, standings)
    render_new(requests, episodes_folder(checkout.root))
    return rendered_episodes(requests, episodes_folder(checkout.root))


def picture_files(replays: Episodes, built: Path) -> Iterator[tuple[str, bytes]]:
    """The pictures of episodes, as files below the site's root."""
    names = (episode.file for every in replays.values() for episode in every)
    return ((name, (built / name).read_bytes()) for name in names if (built / name).is_file())


def poster_files(replays: Iterable[EpisodeReplay], built: Path) -> Iterator[tuple[str, bytes]]:
    """The first frame of each of these episodes, as files below the site's root."""
    for episode in replays:
        if (built / episode.file).is_file():
            with Image.open(built / episode.file) as sheet:
                yield episode.poster, _encode_webp(sheet.convert("RGB").crop((0, 0, episode.width, episode.height)), 60)


def middle_frame(episode: EpisodeReplay, built: Path) -> Image.Image | None:
    """The frame in the middle of an episode; None where its picture is missing."""
    if not (built / episode.file).is_file():
        return None
    row, column = divmod(len(episode.steps) // 2, episode.columns)
    left, top = column * episode.width, row * episode.height
    with Image.open(built / episode.file) as sheet:
        return sheet.convert("RGB").crop((left, top, left + episode.width, top + episode.height))


def rendered_episodes(requests: Iterable[RenderRequest], cache_folder: Path) -> Episodes:
    """Those that are rendered, for pages."""
    rendered = ((request.key, stored_rendering(cache_folder, request)) for request in requests)
    return {key: tuple(_episode(key, kept) for kept in result.episodes) for key, result in rendered if result}


def _episode(key: str, kept: RenderedEpisode) -> EpisodeReplay:
    fields = kept.model_dump(exclude={"sha256"})
    return EpisodeReplay(**{**fields, "steps": kept.steps}, file=f"{EPISODES_FOLDER}/{_picture_file(key, kept.which)}")


def _picture_file(key: str, which: str) -> str:
    return f"{key[:KEY_DIGITS]}-{which}.webp"


def _list_file(key: str) -> str:
    return f"{key[:KEY_DIGITS]}.json"


def stored_rendering(folder: Path, request: RenderRequest) -> RenderedResult | None:
    """What is stored for a result; None where nothing is, or where a file is damaged.

    After a quarantine another result has the same key: its episodes are other ones.
    """
    try:
        rendered = RenderedResult.model_validate(
            canonical_json.parse_strict((folder / _list_file(request.key)).read_bytes())
        )
        pictures = [(kept, (folder / _picture_file(request.key, kept.which)).read_bytes()) for kept in rendered.episodes]
    except (OSError, ValueError):
        return None
    shown = [(kept.which, kept.number, kept.total) for kept in rendered.episodes]
    asked = [(*chosen, total) for chosen, total in zip(request.chosen, request.totals, strict=True)]
    if rendered.key != request.key or (shown and shown != asked):
        return None
    for kept, content in pictures:
        if hashlib.sha256(content).hexdigest() != kept.sha256 or (content[:4], content[8:12]) != _WEBP:
            return None
    return rendered


def stored_files(requests: Iterable[RenderRequest], cache_folder: Path) -> Iterator[Path]:
    """The stored files of these episodes, and no others."""
    for request in requests:
        if rendered := stored_rendering(cache_folder, request):
            yield cache_folder / _list_file(request.key)
            yield from (cache_folder / _picture_file(request.key, kept.which) for kept in rendered.episodes)


def store_file(folder: Path, name: str, content: bytes) -> bool:
    """Store a file from elsewhere if its name is one that this module writes; returns whether it is."""
    if not _STORED_NAME.fullmatch(name):
        return False
    write_atomically(folder / name, content)
    return True


def not_rendered(requests: Iterable[RenderRequest], cache_folder: Path) -> list[RenderRequest]:
    """Those that are not rendered yet."""
    return [request for request in requests if stored_rendering(cache_folder, request) is None]


def render_new(
    requests: Sequence[RenderRequest], cache_folder: Path, *, quiet: bool = False, patience: float = RESULT_TIMEOUT_SECONDS
) -> int:
    """Render what is missing and has its trace in this checkout; returns how many. A failure costs only pictures.

    What there is no time for is left to the next build.
    """
    todo = [request for request in not_rendered(requests, cache_folder) if request.trace.exists()]
    by_task: dict[str, list[RenderRequest]] = {}
    for request in todo:
        by_task.setdefault(request.task.id, []).append(request)
    number, until = 0, time.monotonic() + RENDER_SECONDS
    with progress_bar("Rendering episodes", len(todo), quiet=quiet) as done:
        for task_id, part in by_task.items():
            if number and time.monotonic() > until:
                say(f"There was no time to render {len(todo) - number} more results; the next build does it.")
                break
            reasons = _render_in_pool(part, cache_folder, patience)
            number += len(part)
            done(number)
            if reason := next(filter(None, reasons), ""):
                say(f"{task_id}: {reason}; it is shown without moving pictures")
    return number


def _render_in_pool(part: Sequence[RenderRequest], folder: Path, patience: float) -> list[str]:
    """Render the results of one task; returns a reason for each, empty where it worked.

    An environment that hangs or ends its process costs the pictures of all of them.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with signals.signals_deferred():
        pool = get_context("fork").Pool(max(1, min(len(part), cores)), _set_up_worker)
    with pool:
        running = pool.imap_unordered(_render_and_store, [(request, folder) for request in part])
        try:
            return [running.next(patience) for _ in part]
        except SilenceError:
            return [f"no answer came within {patience:g} s"]


def _set_up_worker() -> None:
    """Set up a worker: no screen, and signals end it at once, even inside a library that hangs."""
    signals.restore_default_handlers()
    draw_without_screen()


def draw_without_screen() -> None:
    """Let environments that draw by SDL do so in memory."""
    os.environ["SDL_VIDEODRIVER"] = os.environ["SDL_AUDIODRIVER"] = "dummy"


def _render_and_store(job: tuple[RenderRequest, Path]) -> str:
    """Render a result's episodes and store them; returns why there are none."""
    request, folder = job
    try:
        rendered = _render_result(request, folder, time.monotonic)
    except OSError as error:  # such as a full disk, which the next run may not find
        return error_in_words(error, 300)
    except (EnvironmentFault, ValueError) as error:
        rendered = RenderedResult(key=request.key, reason=error_in_words(error, 300))
    write_atomically(folder / _list_file(request.key), canonical_json.canonical(rendered.model_dump(mode="json")))
    return rendered.reason


def _render_result(request: RenderRequest, folder: Path, clock: Callable[[], float]) -> RenderedResult:
    rendering = _rendering(request.task.model_dump_json())
    if rendering is None:
        return RenderedResult(key=request.key, reason="its environment renders nothing")
    result, recorded = _recorded_episodes(request, rendering)
    kept = []
    for (which, index), played in zip(request.chosen, recorded, strict=True):
        watched = [(step, shrink_frame(picture)) for step, picture in render_episode(rendering, played, SHEET_LIMITS, clock)]
        sheet = sprite_sheet([picture for _, picture in watched])
        if sheet is None:
            return RenderedResult(key=request.key, reason="its pictures are too large")
        write_atomically(folder / _picture_file(request.key, which), sheet.content)
        episode = RenderedEpisode(
            which=which, number=index, total=result.returns[index], length=played.length, columns=sheet.columns,
            width=sheet.width, height=sheet.height, steps=tuple(watched[i][0] for i in sheet.kept),
            sha256=hashlib.sha256(sheet.content).hexdigest(),
        )  # fmt: skip
        kept.append(episode)
    return RenderedResult(key=request.key, episodes=tuple(kept), reason="" if kept else "no episode was played to its end")


# Of an animation that somebody asked for, with the milliseconds of a frame and of the last one.
ANIMATION_LIMITS = RenderLimits(frames=600, steps=1_000_000, seconds=600)
ANIMATION_SIDE, _FRAME_MILLISECONDS, _LAST_FRAME_MILLISECONDS = 480, 33, 1500


def save_episode_animation(request: RenderRequest, target: Path) -> int:
    """Draw the one chosen episode as an animation; returns the number of frames. The file's ending is its format.

    Raises:
        EnvironmentFault: its environment renders nothing, or fails.
        ValueError: the files do not belong together.
        OSError: a file is missing, or cannot be written.
    """
    draw_without_screen()
    rendering = _rendering(request.task.model_dump_json())
    if rendering is None:
        raise EnvironmentFault("its environment renders nothing")
    _, (played,) = _recorded_episodes(request, rendering)
    shown = [
        shrink_frame(frame, ANIMATION_SIDE)
        for _, frame in render_episode(rendering, played, ANIMATION_LIMITS, time.monotonic)
    ]
    save_animation(shown, target, _FRAME_MILLISECONDS * max(1, 60 // len(shown)))
    return len(shown)


def save_animation(shown: Sequence[Image.Image], target: Path, milliseconds: int) -> None:
    """Save frames as an animation, each for that long and the last one longer. The file's ending is its format.

    Raises:
        OSError: it cannot be written.
    """
    frames = [frame.resize(shown[0].size) if frame.size != shown[0].size else frame for frame in shown]
    target.parent.mkdir(parents=True, exist_ok=True)
    times = [milliseconds] * (len(frames) - 1) + [max(milliseconds, _LAST_FRAME_MILLISECONDS)]
    if target.suffix.lower() == ".mp4":
        _save_video(frames, times, target)
    else:
        frames[0].save(target, save_all=True, append_images=frames[1:], duration=times, loop=0)


def _save_video(frames: list[Image.Image], times: list[int], target: Path) -> None:
    """Encode frames as H.264; the last one stands as long as in the other formats.

    Raises:
        OSError: the encoder fails.
    """
    encoder = importlib.import_module("imageio_ffmpeg")  # an extra: requirements/notebook.in
    # H.264 takes even sizes only.
    width, height = (side - side % 2 for side in frames[0].size)
    shown = [frame.convert("RGB").crop((0, 0, width, height)) for frame in frames]
    shown += [shown[-1]] * (times[-1] // times[0])
    writer = encoder.write_frames(
        str(target), (width, height), fps=1000 / times[0], macro_block_size=2, ffmpeg_log_level="fatal"
    )
    writer.send(None)
    for frame in shown:
        writer.send(frame.tobytes())
    writer.close()


def _recorded_episodes(request: RenderRequest, gym_task: GymTask) -> tuple[Result, list[RecordedEpisode]]:
    """The result as it was measured, and the episodes that are to be shown.

    Raises:
        ValueError: the files do not belong together, or they are sealed.
    """
    result = Result.model_validate(canonical_json.parse_strict(request.result.read_bytes()))
    if request.trace.stat().st_size > TRACE_BYTES:
        raise ValueError("its trace is too large")
    content = request.trace.read_bytes()
    if hashlib.sha256(content).hexdigest() != result.trace_sha256:
        raise ValueError("the trace is not the one that the result names")
    if result.sealed is not None:
        if request.secret is None:
            raise ValueError("its episodes are secret until the reveal")
        result, content = decrypt_result(result, request.secret), decrypt_trace(content, result, request.secret)
    trace = parse_trace(content)
    actions = checked_actions(trace, gym_task)
    first = result.script.first(len(result.seeds)) if result.script else 0
    begins = [0, *accumulate(episode.length for episode in trace.episodes)]
    recorded = []
    for _, index in request.chosen:
        begin, end = begins[first + index], begins[first + index + 1]
        part = [array[begin:end] for array in actions]
        recorded.append(
            RecordedEpisode(
                seed=result.seeds[index], total=result.returns[index], length=end - begin, gym_task=gym_task, recorded=part
            )
        )
    return result, recorded


@cache
def _rendering(task: str) -> GymTask | None:
    """The task's environment with rendering, loaded once in each process; None where it renders nothing."""
    return with_rendering(load_gym_task(Task.model_validate_json(task)))
