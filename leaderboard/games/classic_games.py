"""PettingZoo's classic games as pictures and as text: Tic-tac-toe, Connect Four, and rock, paper, scissors."""

from collections.abc import Sequence
from functools import lru_cache

from evaluator.model.records.duel_record import Side
from leaderboard.games.match_svg import (
    REFUSED_SYMBOL,
    BoardMark,
    BoardStyle,
    Cell,
    GameDrawing,
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


TICTACTOE = GameDrawing(
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


CONNECT_FOUR = GameDrawing(
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


_CHOICES = ("rock", "paper", "scissors")
_ICONS = ("m-.28 0a.28.28 0 1 0 .56 0a.28.28 0 1 0-.56 0", "m-.22-.3h.44v.6h-.44z", "m-.24-.3l.48.6m0-.6l-.48.6")
# Tiles in a row, and the distance of rows in cells.
_TILES, _PITCH = 10, 2.25
# Indices of symbols after the 3 choices of each player: the lights behind the winner's choice, the sign of a refusal.
_LIGHT, _REFUSAL = 6, 8


def _round_winner(first: int, second: int) -> int | None:
    """0 if the first choice wins, 1 if the second does, None for a draw."""
    if first == second:
        return None
    # As in the environment: of equal parities the lower number wins, of different ones the higher.
    return int((first > second) == ((first + second) % 2 == 0))


def _tile_place(ply: int, side: int) -> tuple[float, float]:
    row, column = divmod(ply // 2, _TILES)
    return column + 0.5, _PITCH * row + side + 0.5


def _render_rounds(moves: Sequence[int], first: Side, refused: int | None) -> list[BoardMark]:
    lights, icons = [], []
    for ply, choice in enumerate(moves):
        side = first ^ ply % 2
        if 0 <= choice < len(_CHOICES):
            icons.append(BoardMark(3 * side + choice, *_tile_place(ply, side), ply + 1))
        winner = _round_winner(moves[ply - 1], choice) if ply % 2 else None
        if winner is not None:
            light = first ^ winner
            lights.append(BoardMark(_LIGHT + light, *_tile_place(ply, light), ply + 1))
    if refused is not None:
        icons.append(BoardMark(_REFUSAL, *_tile_place(len(moves), first ^ len(moves) % 2), len(moves)))
    return lights + icons


def _text_rounds(moves: Sequence[int]) -> str:
    named = [_CHOICES[choice] if 0 <= choice < len(_CHOICES) else "?" for choice in moves]
    return "\n".join(" – ".join(named[ply : ply + 2]) for ply in range(0, len(named), 2)) or "no choices yet"


@lru_cache(maxsize=16)
def rounds_kind(count: int) -> GameDrawing:
    """The kind of board for a match of `count` rounds."""
    rows = -(-count // _TILES)
    wide, high = min(_TILES, count), _PITCH * rows - (_PITCH - 2)
    tiles = "".join(
        f"M{column + 0.04:g} {_PITCH * row + 0.04:g}h.92v1.92h-.92z"
        for row in range(rows)
        for column in range(min(_TILES, count - _TILES * row))
    )
    return GameDrawing(
        look=BoardStyle(
            width=wide,
            height=high,
            board=(wide, high),
            ground=(SvgSymbol(style="pr-tile", path=tiles),),
            symbols=(
                *(SvgSymbol(style="pr-i pr-a", path=icon) for icon in _ICONS),
                *(SvgSymbol(style="pr-i pr-b", path=icon) for icon in _ICONS),
                SvgSymbol(style="pr-light pr-a", path="m-.46-.46h.92v.92h-.92z"),
                SvgSymbol(style="pr-light pr-b", path="m-.46-.46h.92v.92h-.92z"),
                REFUSED_SYMBOL,
            ),
        ),
        words=tuple(f"shows {choice}" for choice in _CHOICES),
        render=_render_rounds,
        order=_alternate,
        text=_text_rounds,
    )
