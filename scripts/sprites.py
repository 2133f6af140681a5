"""Frames as one small picture: shrunk, laid out row by row, and packed as tightly as a limit asks for."""

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from evaluator.host.envs.render import Picture

SIDE = 240
# What a picture of all frames should weigh at most, and what is tried until it does: quality of the packing, and whether
# only every second frame is kept. The last one is taken whatever it weighs.
AIM = 60_000
TRIES = ((60, 1), (40, 1), (50, 2), (30, 2), (30, 4))
# Beyond this even the last one is too much.
MOST = 200_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_INK, _PAPER = "#22303f", "#f4f6f8"
# Pillow's own bitmap letters: the one font of equal widths that every machine has.
_LETTER, _LINE, _MARGIN = 6, 11, 6
_CHARACTERS, _LINES = 80, 50


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """All frames of an episode in one picture."""

    content: bytes
    """WebP."""
    columns: int
    """Frames in a row; the last row is filled with the last frame, so that it holds still for a moment."""
    width: int
    """Of one frame."""
    height: int
    """Of one frame."""
    kept: tuple[int, ...]
    """Which of the frames are in it."""


def small(shown: Picture | str) -> Image.Image:
    """A frame of at most so many pixels a side."""
    picture = written(shown) if isinstance(shown, str) else Image.fromarray(shown)
    scale = min(1.0, SIDE / max(picture.size))
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture if size == picture.size else picture.resize(size, Image.Resampling.BOX)


def written(text: str) -> Image.Image:
    """Text as a picture; what the font has not is a question mark."""
    lines = [line.encode("latin-1", "replace").decode("latin-1") for line in _ESCAPES.sub("", text).expandtabs().split("\n")]
    lines = [line[:_CHARACTERS] for line in lines[:_LINES]]
    size = (_LETTER * max(1, *map(len, [*lines, ""])) + 2 * _MARGIN, _LINE * max(1, len(lines)) + 2 * _MARGIN)
    picture = Image.new("RGB", size, _PAPER)
    drawing, font = ImageDraw.Draw(picture), ImageFont.load_default_imagefont()
    for number, line in enumerate(lines):
        drawing.text((_MARGIN, _MARGIN + _LINE * number), line, fill=_INK, font=font)
    return picture


def sheet(frames: Sequence[Image.Image]) -> Sheet | None:
    """The frames, packed the first way that is within the limit; None where none is. Of unlike sizes the first counts."""
    found: tuple[bytes, tuple[int, ...]] | None = None
    for quality, every in TRIES:
        kept = tuple(sorted({*range(0, len(frames), every), len(frames) - 1}))
        content = _packed(_laid_out([frames[index] for index in kept]), quality)
        found = min(found or (content, kept), (content, kept), key=lambda one: len(one[0]))
        if len(found[0]) <= AIM:
            break
    if found is None or len(found[0]) > MOST:
        return None
    width, height = frames[0].size
    return Sheet(content=found[0], columns=_columns(len(found[1])), width=width, height=height, kept=found[1])


def _columns(count: int) -> int:
    return math.isqrt(count - 1) + 1


def _laid_out(frames: Sequence[Image.Image]) -> Image.Image:
    width, height = frames[0].size
    columns = _columns(len(frames))
    rows = -(-len(frames) // columns)
    whole = Image.new("RGB", (width * columns, height * rows))
    for place in range(columns * rows):
        frame = frames[min(place, len(frames) - 1)]
        whole.paste(
            frame.resize((width, height)) if frame.size != (width, height) else frame,
            (place % columns * width, place // columns * height),
        )
    return whole


def _packed(picture: Image.Image, quality: int) -> bytes:
    """Lossless or not, whichever is smaller: flat drawings are smaller without loss, landscapes are not."""
    exact, near = io.BytesIO(), io.BytesIO()
    picture.save(exact, "WEBP", lossless=True, quality=70, method=4)
    picture.save(near, "WEBP", quality=quality, method=4)
    return min(exact.getvalue(), near.getvalue(), key=len)
