"""Tic-tac-toe and Connect Four as pictures and as text."""

from collections.abc import Sequence

from evaluator.model.records.duel_record import Side
from leaderboard.game_pictures.svg import (
    REFUSED_SYMBOL,
    BoardKind,
    BoardMark,
    BoardStyle,
    Cell,
    SvgSymbol,
    line_symbols,
    lines_of_equals,
)

_PLACES = ("top left", "left", "bottom left", "top", "centre", "bottom", "top right", "right", "bottom right")
_X_PATH = "m-.27-.27l.54.54m0-.54l-.54.54"
_O_PATH = "m-.29 0a.29.29 0 1 0 .58 0a.29.29 0 1 0-.58 0z"
_FOUR_COLUMNS, _FOUR_ROWS = 7, 6


def _alternate(ply: int) -> int:
    return ply % 2


def _marks(
    stones: Sequence[tuple[Cell, int, int]], owners: dict[Cell, int], length: int, first_line: int
) -> list[BoardMark]:
    """A mark for each stone (cell, symbol, ply), and a stroke through every line of stones with one owner."""
    marks = [BoardMark(symbol, x + 0.5, y + 0.5, ply + 1) for (x, y), symbol, ply in stones]
    strokes = [BoardMark(first_line + way, x + 0.5, y + 0.5, len(stones)) for (x, y), way in lines_of_equals(owners, length)]
    return marks + strokes


# The environment numbers its squares column by column.
def _square(action: int) -> Cell | None:
    return divmod(action, 3) if 0 <= action < 9 else None


def _render_tictactoe(moves: Sequence[int], first: Side, refused: int | None) -> list[BoardMark]:
    stones, owners = [], {}
    for ply, action in enumerate(moves):
        if cell := _square(action):
            owners[cell] = ply % 2
            # X begins; the colour shows the player.
            stones.append((cell, 2 * (ply % 2) + (first ^ ply % 2), ply))
    marks = _marks(stones, owners, 3, 4)
    if refused is not None and (cell := _square(refused)):
        marks.append(BoardMark(8, cell[0] + 0.5, cell[1] + 0.5, len(moves)))
    return marks


def _text_tictactoe(moves: Sequence[int]) -> str:
    signs = {_square(action): "XO"[ply % 2] for ply, action in enumerate(moves)}
    return "\n".join(" ".join(signs.get((x, y), ".") for x in range(3)) for y in range(3))


TICTACTOE = BoardKind(
    look=BoardStyle(
        width=3,
        height=3,
        board=(3, 3),
        ground=(SvgSymbol(style="pr-grid", path="m1 .1v2.8m1 0v-2.8m.9.9h-2.8m0 1h2.8"),),
        symbols=(
            SvgSymbol(style="pr-stroke pr-a", path=_X_PATH),
            SvgSymbol(style="pr-stroke pr-b", path=_X_PATH),
            SvgSymbol(style="pr-stroke pr-a", path=_O_PATH),
            SvgSymbol(style="pr-stroke pr-b", path=_O_PATH),
            *line_symbols(3),
            REFUSED_SYMBOL,
        ),
    ),
    words=tuple(f"plays {place}" for place in _PLACES),
    render=_render_tictactoe,
    order=_alternate,
    text=_text_tictactoe,
)


def _dropped(moves: Sequence[int]) -> list[Cell | None]:
    """The cell of each disc; None for a column that does not exist or is full."""
    heights, cells = [0] * _FOUR_COLUMNS, list[Cell | None]()
    for column in moves:
        fits = 0 <= column < _FOUR_COLUMNS and heights[column] < _FOUR_ROWS
        cells.append((column, _FOUR_ROWS - 1 - heights[column]) if fits else None)
        if fits:
            heights[column] += 1
    return cells


def _render_connect_four(moves: Sequence[int], first: Side, refused: int | None) -> list[BoardMark]:
    stones, owners = [], {}
    for ply, cell in enumerate(_dropped(moves)):
        if cell:
            owners[cell] = ply % 2
            stones.append((cell, first ^ ply % 2, ply))
    marks = _marks(stones, owners, 4, 2)
    # Only a full column refuses a disc, so the sign is drawn on its top cell.
    if refused is not None and 0 <= refused < _FOUR_COLUMNS:
        marks.append(BoardMark(6, refused + 0.5, 0.5, len(moves)))
    return marks


def _text_connect_four(moves: Sequence[int]) -> str:
    signs = {cell: "XO"[ply % 2] for ply, cell in enumerate(_dropped(moves)) if cell}
    return "\n".join(" ".join(signs.get((x, y), ".") for x in range(_FOUR_COLUMNS)) for y in range(_FOUR_ROWS))


CONNECT_FOUR = BoardKind(
    look=BoardStyle(
        width=_FOUR_COLUMNS,
        height=_FOUR_ROWS,
        board=(_FOUR_COLUMNS, _FOUR_ROWS),
        ground=(
            SvgSymbol(style="pr-ground", path=f"h{_FOUR_COLUMNS}v{_FOUR_ROWS}h-{_FOUR_COLUMNS}z"),
            SvgSymbol(style="pr-hole", path="m.5.5" + f"{'h0m1 0' * _FOUR_COLUMNS}m-{_FOUR_COLUMNS} 1" * _FOUR_ROWS),
        ),
        symbols=(
            SvgSymbol(style="pr-disc pr-a", path="h0"),
            SvgSymbol(style="pr-disc pr-b", path="h0"),
            *line_symbols(4),
            REFUSED_SYMBOL,
        ),
    ),
    words=tuple(f"drops into column {column + 1}" for column in range(_FOUR_COLUMNS)),
    render=_render_connect_four,
    order=_alternate,
    text=_text_connect_four,
)
