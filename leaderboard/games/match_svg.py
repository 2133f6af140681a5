"""The parts of a match's picture: marks that appear and disappear with moves. The stylesheet sets the colours."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from evaluator.model.records.duel_record import Side
from leaderboard.text.escape_markdown import escape

_GROUND_ID = "pr-ground"
Cell = tuple[int, int]
"""Column and row."""
DIRECTIONS: tuple[Cell, ...] = ((1, 0), (0, 1), (1, 1), (1, -1))


class SvgSymbol(NamedTuple):
    """The shape of a mark."""

    style: str
    """Its CSS class."""
    path: str
    """SVG path data, relative to the position of the mark."""


class BoardMark(NamedTuple):
    """One shape on the board, from one move to another."""

    symbol: int
    """Index into the symbols of the board."""
    x: float
    """Distance from the left in cells, in steps of 0.25."""
    y: float
    """Distance from the top in cells, in steps of 0.25."""
    begin: int
    """The number of moves after which it appears."""
    end: int | None = None
    """The number of moves after which it disappears; None if it stays."""


def _alternate(ply: int) -> int:
    return ply % 2


@dataclass(frozen=True, kw_only=True)
class GameDrawing:
    """How matches of one game are drawn and described; a cell has width and height 1.

    Nothing here raises on damaged records.
    """

    board: tuple[float, float]
    """Width and height of the part that the small picture shows."""
    height: float | None = None
    """Of the whole picture, where it is higher than the board."""
    ground: tuple[SvgSymbol, ...]
    """The shapes below the marks, from the upper left corner."""
    symbols: tuple[SvgSymbol, ...]
    words: tuple[str, ...]
    """Each action in words, such as `drops into column 1`."""
    render: Callable[[Sequence[int], Side, int | None], list[BoardMark]]
    """From the moves, the side that began and a refused last move; marks on top of others come later."""
    order: Callable[[int], int] = _alternate
    """Whether the side that began makes a move (0) or the other side (1)."""
    text: Callable[[Sequence[int]], str]
    """The last position as text."""

    def movers(self, count: int, first: Side) -> list[int]:
        """The side that makes each of the first `count` moves."""
        return [first ^ self.order(ply) for ply in range(count)]


def final_position_svg(kind: GameDrawing, marks: Iterable[BoardMark], words: str) -> Markup:
    """The last position as a small picture; shapes of one style are joined to one path."""
    wide, high = kind.board
    paths: dict[str, list[str]] = {}
    for mark in marks:
        if mark.end is None and mark.x <= wide and mark.y <= high:
            symbol = kind.symbols[mark.symbol]
            paths.setdefault(symbol.style, []).append(f"M{mark.x:g} {mark.y:g}{symbol.path}")
    drawn = "".join(f'<path class="{style}" d="{"".join(parts)}"/>' for style, parts in paths.items())
    head = f'<svg class="pr-final" viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="{escape(words)}">'
    # Our own shapes and numbers; the words are escaped.
    return Markup(f'{head}<use href="#{_GROUND_ID}"/>{drawn}</svg>')


def shared_ground(kind: GameDrawing) -> Markup:
    """The ground of all small pictures of a page, defined once."""
    return Markup(
        f'<svg class="pr-shared" aria-hidden="true"><defs><g id="{_GROUND_ID}">{ground_paths(kind)}</g></defs></svg>'
    )


def ground_paths(kind: GameDrawing) -> str:
    """The shapes of the ground."""
    return "".join(f'<path class="{symbol.style}" d="M0 0{symbol.path}"/>' for symbol in kind.ground)


def packed_marks(marks: Iterable[BoardMark]) -> str:
    """Marks for the replay script: symbol, x and y in quarters of a cell, begin and end, separated by spaces."""
    return ",".join(f"{m.symbol} {4 * m.x:g} {4 * m.y:g} {m.begin}" + ("" if m.end is None else f" {m.end}") for m in marks)


def lines_of_equals(values: Mapping[Cell, int], length: int) -> list[tuple[Cell, int]]:
    """The lines of `length` equal values: the first cell and the index of the direction."""
    lines = []
    for (x, y), value in values.items():
        for index, (right, down) in enumerate(DIRECTIONS):
            # Tested first because nearly all fail at the first neighbour, and this runs for every match of every duel.
            if values.get((x + right, y + down)) == value and all(
                values.get((x + n * right, y + n * down)) == value for n in range(2, length)
            ):
                lines.append(((x, y), index))
    return lines


def line_symbols(length: int) -> tuple[SvgSymbol, ...]:
    """A stroke through a line of `length` cells, for each direction."""
    return tuple(SvgSymbol("pr-line", f"l{right * (length - 1)} {down * (length - 1)}") for right, down in DIRECTIONS)


def squares_path(cells: Sequence[Cell], size: float) -> str:
    """A square with sides of `size` in each cell, as one relative path."""
    path, x, y = "", 0.0, 0.0
    for column, row in cells:
        left, top = column + (1 - size) / 2, row + (1 - size) / 2
        path += f"m{left - x:g} {top - y:g}h{size:g}v{size:g}h-{size:g}z"
        x, y = left, top
    return path


REFUSED_SYMBOL = SvgSymbol("pr-refused", "m-.3-.3l.6.6m0-.6l-.6.6")
