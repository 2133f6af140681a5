"""Draws cards as PNG, 1200 × 630, with Pillow and the one font that comes with it."""

import io
from collections.abc import Sequence
from functools import cache

from PIL import Image, ImageDraw, ImageFont

from leaderboard.cards import Card, Line
from leaderboard.text.format import MINUS

WIDTH, HEIGHT = 1200, 630
_MARGIN = 72
_GROUND, _INK, _QUIET, _ACCENT, _TRACK = "#141f30", "#ffffff", "#a9b8cc", "#4fd1bd", "#26364f"
_MEDALS = ("#f2c14e", "#c9d2db", "#d08f55")
_PLAIN = str.maketrans({MINUS: "-", "\N{NARROW NO-BREAK SPACE}": " ", "\N{EN DASH}": "-"})


def drawn(card: Card) -> bytes:
    """A card's picture."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), _GROUND)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, WIDTH, 10), fill=_ACCENT)
    inside = WIDTH - 2 * _MARGIN
    pen.text((_MARGIN, 56), fitted(drawable(card.above), 30, inside), font=_font(30), fill=_ACCENT)
    title = drawable(card.title)
    size = next((size for size in (76, 64, 54, 46) if _font(size).getlength(title) <= inside), 46)
    pen.text((_MARGIN, 150), fitted(title, size, inside), font=_font(size), fill=_INK, anchor="lm")
    for index, line in enumerate(card.lines):
        _list(pen, line, 222 + 80 * index)
    if not card.lines:
        pen.text((_MARGIN, 300), "The first place is free.", font=_font(40), fill=_QUIET)
    pen.text((_MARGIN, HEIGHT - 48), fitted(drawable((card.below,)), 26, inside), font=_font(26), fill=_QUIET, anchor="lm")
    return _png(picture)


def _list(pen: ImageDraw.ImageDraw, line: Line, top: int) -> None:
    middle = top + 26
    medal = _MEDALS[line.place - 1] if line.place <= len(_MEDALS) else _TRACK
    pen.ellipse((_MARGIN, middle - 24, _MARGIN + 48, middle + 24), fill=medal)
    ink = _GROUND if line.place <= len(_MEDALS) else _INK
    pen.text((_MARGIN + 24, middle), str(line.place), font=_font(26 if line.place < 100 else 18), fill=ink, anchor="mm")
    value = drawable((line.value,))
    pen.text((WIDTH - _MARGIN, middle - 6), value, font=_font(38), fill=_INK, anchor="rm")
    left, right = _MARGIN + 72, WIDTH - _MARGIN
    room = right - left - int(_font(38).getlength(value)) - 32
    pen.text((left, middle - 6), fitted(drawable(line.name), 34, room), font=_font(34), fill=_INK, anchor="lm")
    pen.rectangle((left, middle + 26, right, middle + 31), fill=_TRACK)
    pen.rectangle((left, middle + 26, left + max(8, int((right - left) * min(1.0, line.share))), middle + 31), fill=_ACCENT)


def drawable(names: Sequence[str]) -> str:
    """The first of these texts that the font has every letter of; else the last, without what it has not."""
    texts = [" ".join(name.translate(_PLAIN).split()) for name in names]
    found = next((text for text in texts if text and _is_known(text)), None)
    return found if found is not None else "".join(letter for letter in texts[-1] if _is_known(letter))


def _is_known(text: str) -> bool:
    """The built-in font holds the printable characters of ASCII, and the dot that parts our words."""
    return all(" " <= letter <= "~" or letter == "·" for letter in text)


def fitted(text: str, size: int, width: float) -> str:
    """The text, cut with three dots where it is wider than there is room."""
    font = _font(size)
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(text + "...") > width:
        text = text[:-1]
    return text.rstrip() + "..."


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType, so it can not draw cards; install its wheel from PyPI")
    return font


def _png(picture: Image.Image) -> bytes:
    """Few colours, so a palette: a third of the bytes."""
    out = io.BytesIO()
    picture.quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(out, "PNG", compress_level=6)
    return out.getvalue()
