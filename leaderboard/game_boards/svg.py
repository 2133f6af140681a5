"""What a picture of a match is made of: marks that come, stay and go, move by move. Colours are the stylesheet's."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from evaluator.model.records.duel_record import Side
from leaderboard.text.escape_markdown import escape


@dataclass(frozen=True, kw_only=True)
class SvgSymbol:
    """A shape that marks have."""

    style: str
    """Its class in the stylesheet."""
    path: str
    """SVG path data, relative to where the mark stands."""


class BoardMark(NamedTuple):
    """One shape on the board, from one move to another."""

    symbol: int
    """Index of its symbol."""
    x: float
    """Where it stands, from the left; in quarters of a cell."""
    y: float
    """Where it stands, from the top; in quarters of a cell."""
    begin: int
    """After so many moves it is there."""
    end: int | None = None
    """After so many moves it is gone; None if it stays."""


@dataclass(frozen=True, kw_only=True)
class BoardStyle:
    """What all matches of a game share."""

    width: float
    """Of the whole picture, a cell being 1."""
    height: float
    """Of the whole picture."""
    board: tuple[float, float]
    """Width and height of what the small picture shows of it."""
    ground: tuple[SvgSymbol, ...]
    """What lies under the marks, from the upper left corner."""
    symbols: tuple[SvgSymbol, ...]
    """The shapes of its marks."""


@dataclass(frozen=True, kw_only=True)
class BoardKind:
    """How matches of one game are drawn and told; nothing here raises, whatever a record holds."""

    look: BoardStyle
    """Board and shapes."""
    words: tuple[str, ...]
    """What a player does with each action, `drops into column 1`."""
    draw: Callable[[Sequence[int], Side, int | None], list[BoardMark]]
    """Moves, who began, and a refused move at the end; marks that lie above others come later."""
    order: Callable[[int], int]
    """Whether a move is made by who began (0) or by the other (1)."""
    text: Callable[[Sequence[int]], str]
    """The last position in characters."""

    def movers(self, count: int, first: Side) -> list[int]:
        """Whose each of so many moves is."""
        return [first ^ self.order(ply) for ply in range(count)]


def final(kind: BoardKind, marks: Iterable[BoardMark], words: str) -> Markup:
    """The last position as a small picture: shapes of one style are one path."""
    look = kind.look
    wide, high = look.board
    paths: dict[str, list[str]] = {}
    for mark in marks:
        if mark.end is None and mark.x <= wide and mark.y <= high:
            symbol = look.symbols[mark.symbol]
            paths.setdefault(symbol.style, []).append(f"M{mark.x:g} {mark.y:g}{symbol.path}")
    drawn = "".join(f'<path class="{style}" d="{"".join(parts)}"/>' for style, parts in paths.items())
    head = f'<svg class="pr-final" viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="{escape(words)}">'
    # Our own shapes and numbers; the words are escaped.
    return Markup(f'{head}<use href="#{_GROUND}"/>{drawn}</svg>')


def shared_ground(kind: BoardKind) -> Markup:
    """What lies under all small pictures of a page, once for all of them."""
    paths = "".join(f'<path class="{symbol.style}" d="M0 0{symbol.path}"/>' for symbol in kind.look.ground)
    return Markup(f'<svg class="pr-shared" aria-hidden="true"><defs><g id="{_GROUND}">{paths}</g></defs></svg>')


def packed_marks(marks: Iterable[BoardMark]) -> str:
    """Marks for the replay script: symbol, place in quarters of a cell, and when it comes and goes, parted by spaces."""
    return ",".join(f"{m.symbol} {4 * m.x:g} {4 * m.y:g} {m.begin}" + ("" if m.end is None else f" {m.end}") for m in marks)


_GROUND = "pr-ground"
Cell = tuple[int, int]
DIRECTIONS: tuple[Cell, ...] = ((1, 0), (0, 1), (1, 1), (1, -1))


def svg_lines(values: Mapping[Cell, int], length: int) -> list[tuple[Cell, int]]:
    """Where so many equal values stand in a line: its beginning and the index of its direction."""
    found = []
    for (x, y), value in values.items():
        for index, (right, down) in enumerate(DIRECTIONS):
            # Nearly all fail at the first neighbour, and every match of every duel comes by here.
            if values.get((x + right, y + down)) == value and all(
                values.get((x + n * right, y + n * down)) == value for n in range(2, length)
            ):
                found.append(((x, y), index))
    return found


def line_symbols(length: int) -> tuple[SvgSymbol, ...]:
    """A stroke through a line of cells, for each direction."""
    return tuple(
        SvgSymbol(style="pr-line", path=f"l{right * (length - 1)} {down * (length - 1)}") for right, down in DIRECTIONS
    )


def boxed(cells: Sequence[Cell], size: float) -> str:
    """A square for each cell, as one relative path."""
    path, x, y = "", 0.0, 0.0
    for column, row in cells:
        left, top = column + (1 - size) / 2, row + (1 - size) / 2
        path += f"m{left - x:g} {top - y:g}h{size:g}v{size:g}h-{size:g}z"
        x, y = left, top
    return path


REFUSED = SvgSymbol(style="pr-refused", path="m-.3-.3l.6.6m0-.6l-.6.6")
