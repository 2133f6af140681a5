"""Rock, paper, scissors over many rounds: one tile for each round, one player above and the other below."""

from collections.abc import Sequence
from functools import lru_cache

from evaluator.model.records.duel_record import Side
from leaderboard.game_pictures.svg import REFUSED_SYMBOL, BoardKind, BoardMark, BoardStyle, SvgSymbol

_CHOICES = ("rock", "paper", "scissors")
_ICONS = ("m-.28 0a.28.28 0 1 0 .56 0a.28.28 0 1 0-.56 0", "m-.22-.3h.44v.6h-.44z", "m-.24-.3l.48.6m0-.6l-.48.6")
# Tiles in a row, and the distance of rows in cells.
_TILES, _PITCH = 10, 2.25
# Indices of symbols after the 3 choices of each player: the lights behind the winner's choice, the sign of a refusal.
_LIGHT, _REFUSAL = 6, 8


def _winner(first: int, second: int) -> int | None:
    """0 if the first choice wins, 1 if the second does, None for a draw."""
    if first == second:
        return None
    # As in the environment: of equal parities the lower number wins, of different ones the higher.
    return int((first > second) == ((first + second) % 2 == 0))


def _place(ply: int, side: int) -> tuple[float, float]:
    row, column = divmod(ply // 2, _TILES)
    return column + 0.5, _PITCH * row + side + 0.5


def _render(moves: Sequence[int], first: Side, refused: int | None) -> list[BoardMark]:
    lights, icons = [], []
    for ply, choice in enumerate(moves):
        side = first ^ ply % 2
        if 0 <= choice < len(_CHOICES):
            icons.append(BoardMark(3 * side + choice, *_place(ply, side), ply + 1))
        winner = _winner(moves[ply - 1], choice) if ply % 2 else None
        if winner is not None:
            light = first ^ winner
            lights.append(BoardMark(_LIGHT + light, *_place(ply, light), ply + 1))
    if refused is not None:
        icons.append(BoardMark(_REFUSAL, *_place(len(moves), first ^ len(moves) % 2), len(moves)))
    return lights + icons


def _text(moves: Sequence[int]) -> str:
    named = [_CHOICES[choice] if 0 <= choice < len(_CHOICES) else "?" for choice in moves]
    return "\n".join(" – ".join(named[ply : ply + 2]) for ply in range(0, len(named), 2)) or "no choices yet"


def _order(ply: int) -> int:
    return ply % 2


@lru_cache(maxsize=16)
def rounds_kind(count: int) -> BoardKind:
    """The kind of board for a match of `count` rounds."""
    rows = -(-count // _TILES)
    wide, high = min(_TILES, count), _PITCH * rows - (_PITCH - 2)
    tiles = "".join(
        f"M{column + 0.04:g} {_PITCH * row + 0.04:g}h.92v1.92h-.92z"
        for row in range(rows)
        for column in range(min(_TILES, count - _TILES * row))
    )
    return BoardKind(
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
        render=_render,
        order=_order,
        text=_text,
    )
