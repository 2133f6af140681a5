"""Quarto as pictures and as text: the board, the piece in hand, and the remaining pieces."""

from collections.abc import Iterator, Sequence

from evaluator.model.records.duel_record import Side
from leaderboard.games.match_svg import (
    DIRECTIONS,
    REFUSED_SYMBOL,
    BoardMark,
    BoardStyle,
    Cell,
    GameDrawing,
    SvgSymbol,
    line_symbols,
    squares_path,
)

_QUARTO_PIECES = _QUARTO_CELLS = 16
_HAND_POSITION = (2.0, 4.75)
_PROPERTY_NAMES = (("light", "dark"), ("round", "square"), ("short", "tall"), ("solid", "hollow"))


def _named(piece: int) -> str:
    """The four properties of a piece in words; each bit is one property."""
    return " ".join(_PROPERTY_NAMES[bit][piece >> bit & 1] for bit in (2, 0, 1, 3))


def _short(value: float) -> str:
    """A number between -1 and 1 without its leading zero, since a page has a hundred small pictures."""
    return f"{value:.3g}".replace("0.", ".", 1)


def _circle(radius: float) -> str:
    r, across = _short(radius), _short(2 * radius)
    return f"m-{r} 0a{r} {r} 0 1 0 {across} 0 {r} {r} 0 1 0-{across} 0z"


def _square_outline(half: float) -> str:
    h, across = _short(half), _short(2 * half)
    return f"m-{h}-{h}h{across}v{across}h-{across}z"


def _piece(piece: int, scale: float) -> SvgSymbol:
    half = scale * (0.4 if piece & 4 else 0.27)
    outline = (
        _square_outline(half * 0.9) + f"m{_short(half * 0.9)} {_short(half * 0.9)}"
        if piece & 2
        else _circle(half) + f"m{_short(half)} 0"
    )
    hole = _circle(half * 0.45) if piece & 8 else ""
    return SvgSymbol(style="pr-piece-dark" if piece & 1 else "pr-piece-light", path=outline + hole)


# Indices of the first symbol of each kind; those of large pieces begin at 0.
_SMALL_PIECES = _QUARTO_PIECES
_FIRST_STROKE = 2 * _QUARTO_PIECES
_REFUSED_SIGN = _FIRST_STROKE + len(DIRECTIONS)
_QUARTO_SYMBOLS = (
    *(_piece(piece, 1) for piece in range(_QUARTO_PIECES)),
    *(_piece(piece, 0.5) for piece in range(_QUARTO_PIECES)),
    *line_symbols(4),
    REFUSED_SYMBOL,
)


def _stored(piece: int) -> tuple[float, float]:
    """The position of a piece that was not given yet."""
    return 0.25 + 0.5 * (piece % 8), 5.75 + 0.5 * (piece // 8)


def _centre(cell: int) -> tuple[float, float]:
    return cell % 4 + 0.5, cell // 4 + 0.5


def _turns(moves: Sequence[int]) -> Iterator[tuple[int, int, int | None, int | None]]:
    """Each given piece: ply and piece, and the ply and the cell of its placement, or None."""
    for ply, action in enumerate(moves):
        if 0 <= action < _QUARTO_PIECES:
            placed = moves[ply + 1] - _QUARTO_PIECES if ply + 1 < len(moves) else -1
            is_placed = 0 <= placed < _QUARTO_CELLS
            yield ply, action, ply + 1 if is_placed else None, placed if is_placed else None


def _render_quarto(moves: Sequence[int], first: Side, refused: int | None) -> list[BoardMark]:
    marks, on_board = [], dict[Cell, int]()
    stored = dict.fromkeys(range(_QUARTO_PIECES), -1)
    for given, piece, placed, cell in _turns(moves):
        stored[piece] = given + 1
        marks.append(BoardMark(piece, *_HAND_POSITION, given + 1, None if placed is None else placed + 1))
        if placed is not None and cell is not None:
            marks.append(BoardMark(piece, *_centre(cell), placed + 1))
            on_board[cell % 4, cell // 4] = piece
    marks += [
        BoardMark(_SMALL_PIECES + piece, *_stored(piece), 0, None if end < 0 else end) for piece, end in stored.items()
    ]
    marks += [BoardMark(_FIRST_STROKE + way, x + 0.5, y + 0.5, len(moves)) for (x, y), way in _shared_lines(on_board)]
    if refused is not None and 0 <= refused < _QUARTO_PIECES + _QUARTO_CELLS:
        at = _stored(refused) if refused < _QUARTO_PIECES else _centre(refused - _QUARTO_PIECES)
        marks.append(BoardMark(_REFUSED_SIGN, *at, len(moves)))
    return marks


def _shared_lines(on_board: dict[Cell, int]) -> list[tuple[Cell, int]]:
    """The lines of four pieces that share a property: the first cell and the index of the direction."""
    lines = []
    for (x, y), piece in on_board.items():
        for way, (right, down) in enumerate(DIRECTIONS):
            having, lacking = piece, ~piece & 15
            for n in range(1, 4):
                other = on_board.get((x + n * right, y + n * down))
                having, lacking = (0, 0) if other is None else (having & other, lacking & ~other)
                if not having and not lacking:
                    break
            if having or lacking:
                lines.append(((x, y), way))
    return lines


def _quarto_order(ply: int) -> int:
    """The first side gives a piece; then each side places and gives."""
    return (ply + 1) // 2 % 2


def _text_quarto(moves: Sequence[int]) -> str:
    cells, hand = ["····"] * _QUARTO_CELLS, "nothing"
    for _, piece, placed, cell in _turns(moves):
        hand = f"{piece:04b}" if placed is None else "nothing"
        if cell is not None:
            cells[cell] = f"{piece:04b}"
    rows = [" ".join(cells[row : row + 4]) for row in range(0, _QUARTO_CELLS, 4)]
    return "\n".join([*rows, f"in hand: {hand}"])


QUARTO = GameDrawing(
    look=BoardStyle(
        width=4,
        height=6.55,
        board=(4, 4),
        ground=(
            SvgSymbol(style="pr-tile", path=squares_path([(x, y) for y in range(4) for x in range(4)], 0.94)),
            SvgSymbol(style="pr-tray", path="m1.5 4.25h1v1h-1z"),
        ),
        symbols=_QUARTO_SYMBOLS,
    ),
    words=(
        *(f"gives the {_named(piece)} piece" for piece in range(_QUARTO_PIECES)),
        *(f"places it on row {cell // 4 + 1}, column {cell % 4 + 1}" for cell in range(_QUARTO_CELLS)),
    ),
    render=_render_quarto,
    order=_quarto_order,
    text=_text_quarto,
)
