"""The games that the site can draw, as pictures and as text, and the moves of a recorded duel."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, Side
from leaderboard.games.match_svg import (
    DIRECTIONS,
    REFUSED_SYMBOL,
    BoardMark,
    Cell,
    GameDrawing,
    SvgSymbol,
    line_symbols,
    lines_of_equals,
    squares_path,
)

_PLACES = ("top left", "left", "bottom left", "top", "centre", "bottom", "top right", "right", "bottom right")
_X_PATH = "m-.27-.27l.54.54m0-.54l-.54.54"
_O_PATH = "m-.29 0a.29.29 0 1 0 .58 0a.29.29 0 1 0-.58 0z"
_FOUR_COLUMNS, _FOUR_ROWS = 7, 6


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
    board=(3, 3),
    ground=(SvgSymbol("pr-grid", "m1 .1v2.8m1 0v-2.8m.9.9h-2.8m0 1h2.8"),),
    symbols=(
        *(SvgSymbol(f"pr-stroke pr-{side}", path) for path in (_X_PATH, _O_PATH) for side in "ab"),
        *line_symbols(3),
        REFUSED_SYMBOL,
    ),
    words=tuple(f"plays {place}" for place in _PLACES),
    render=_render_tictactoe,
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
    board=(_FOUR_COLUMNS, _FOUR_ROWS),
    ground=(
        SvgSymbol("pr-ground", f"h{_FOUR_COLUMNS}v{_FOUR_ROWS}h-{_FOUR_COLUMNS}z"),
        SvgSymbol("pr-hole", "m.5.5" + f"{'h0m1 0' * _FOUR_COLUMNS}m-{_FOUR_COLUMNS} 1" * _FOUR_ROWS),
    ),
    symbols=(
        *(SvgSymbol(f"pr-disc pr-{side}", "h0") for side in "ab"),
        *line_symbols(4),
        REFUSED_SYMBOL,
    ),
    words=tuple(f"drops into column {column + 1}" for column in range(_FOUR_COLUMNS)),
    render=_render_connect_four,
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
def rounds_drawing(count: int) -> GameDrawing:
    """The kind of board for a match of `count` rounds."""
    rows = -(-count // _TILES)
    wide, high = min(_TILES, count), _PITCH * rows - (_PITCH - 2)
    tiles = "".join(
        f"M{column + 0.04:g} {_PITCH * row + 0.04:g}h.92v1.92h-.92z"
        for row in range(rows)
        for column in range(min(_TILES, count - _TILES * row))
    )
    return GameDrawing(
        board=(wide, high),
        ground=(SvgSymbol("pr-tile", tiles),),
        symbols=(
            *(SvgSymbol(f"pr-i pr-{side}", icon) for side in "ab" for icon in _ICONS),
            *(SvgSymbol(f"pr-light pr-{side}", "m-.46-.46h.92v.92h-.92z") for side in "ab"),
            REFUSED_SYMBOL,
        ),
        words=tuple(f"shows {choice}" for choice in _CHOICES),
        render=_render_rounds,
        text=_text_rounds,
    )


# Quarto: the board, the piece in hand, and the remaining pieces.

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
    return SvgSymbol("pr-piece-dark" if piece & 1 else "pr-piece-light", outline + hole)


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
    height=6.55,
    board=(4, 4),
    ground=(
        SvgSymbol("pr-tile", squares_path([(x, y) for y in range(4) for x in range(4)], 0.94)),
        SvgSymbol("pr-tray", "m1.5 4.25h1v1h-1z"),
    ),
    symbols=_QUARTO_SYMBOLS,
    words=(
        *(f"gives the {_named(piece)} piece" for piece in range(_QUARTO_PIECES)),
        *(f"places it on row {cell // 4 + 1}, column {cell % 4 + 1}" for cell in range(_QUARTO_CELLS)),
    ),
    render=_render_quarto,
    order=_quarto_order,
    text=_text_quarto,
)


GAME_VERSION = re.compile(r"_v[0-9]+$")
_DRAWINGS = {
    "pettingzoo.classic.tictactoe": TICTACTOE,
    "pettingzoo.classic.connect_four": CONNECT_FOUR,
    "evaluator.environments.quarto": QUARTO,
}
_ROUNDS = "pettingzoo.classic.rps"
_DEFAULT_ROUNDS, _MOST_ROUNDS = 15, 200


def drawing_of(task: Task) -> GameDrawing | None:
    """How a game is drawn; None for a game that only its environment can render."""
    module = GAME_VERSION.sub("", (task.game or "").partition(":")[0])
    if module == _ROUNDS and task.kwargs.get("num_actions", 3) == 3:
        rounds = task.kwargs.get("max_cycles", _DEFAULT_ROUNDS)
        return rounds_drawing(rounds) if isinstance(rounds, int) and 0 < rounds <= _MOST_ROUNDS else None
    return _DRAWINGS.get(module)


def action_word(task: Task, action: int) -> str:
    """An action in words, such as `drops into column 1`."""
    kind = drawing_of(task)
    return kind.words[action] if kind and 0 <= action < len(kind.words) else f"plays {action}"


def position_text(task: Task, moves: Sequence[int]) -> str | None:
    """The position after these moves as text; None for a game that only its environment can render."""
    kind = drawing_of(task)
    return kind.text(moves) if kind else None


def moves_of(duel: Duel) -> list[list[int]]:
    """The moves of each match; no moves if the record is damaged, so that its page is still built."""
    try:
        return [[int(move) for move in moves] for moves in duel.match_moves()]
    except ValueError:
        return [[] for _ in duel.matches]


def milliseconds_of(duel: Duel) -> list[list[int]]:
    """The time of each move in milliseconds; empty lists if the record is damaged."""
    try:
        return [[int(time) for time in times] for times in duel.match_milliseconds()]
    except ValueError:
        return [[] for _ in duel.matches]
