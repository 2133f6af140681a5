"""Quarto: PettingZoo's own tests, and every ply of many games against rules written a second time."""

import itertools
import warnings

import numpy as np
import pytest
from pettingzoo.test import api_test, seed_test

from evaluator.environments import quarto

GAMES = 1500
A, B = "player_0", "player_1"


class Oracle:
    """The rules in the plainest words: pieces are words for four properties, lines are looked for everywhere."""

    PIECES = tuple(itertools.product(("short", "tall"), ("light", "dark"), ("round", "square"), ("solid", "hollow")))
    LINES = (
        "abcd", "efgh", "ijkl", "mnop", "aeim", "bfjn", "cgko", "dhlp", "afkp", "dgjm",
    )  # fmt: skip

    def __init__(self) -> None:
        self.board = dict.fromkeys("abcdefghijklmnop")
        self.hand: tuple[str, ...] | None = None
        self.box = set(self.PIECES)
        self.mover, self.waiting = A, B

    def legal(self) -> set[int]:
        if self.hand is None:
            return {self.PIECES.index(piece) for piece in self.box}
        return {16 + "abcdefghijklmnop".index(cell) for cell, piece in self.board.items() if piece is None}

    def play(self, action: int) -> None:
        if action < 16:
            self.hand = self.PIECES[action]
            self.box.remove(self.hand)
            self.mover, self.waiting = self.waiting, self.mover
        else:
            self.board["abcdefghijklmnop"[action - 16]] = self.hand
            self.hand = None

    def wins(self) -> set[tuple[str, str]]:
        """Each line with each word that its four pieces share."""
        won = set()
        for line in self.LINES:
            pieces = [self.board[cell] for cell in line]
            if None not in pieces:
                won |= {(line, word) for word in set.intersection(*map(set, pieces))}
        return won

    def seen(self) -> list[int]:
        return [-1 if piece is None else self.PIECES.index(piece) for piece in (*self.board.values(), self.hand)]


def test_pettingzoo_accepts_it() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(quarto.env(), num_cycles=500)
        api_test(quarto.raw_env(), num_cycles=500)
        seed_test(quarto.env, num_cycles=100)


def test_every_ply_of_many_games_is_what_the_oracle_says() -> None:
    rng = np.random.default_rng(4)
    game = quarto.raw_env()
    ways: set[tuple[str, str]] = set()
    draws = 0
    for _ in range(GAMES):
        oracle = Oracle()
        game.reset()
        won: set[tuple[str, str]] = set()
        while oracle.legal() and not won:
            mover, waiting = oracle.mover, oracle.waiting
            shown = game.observe(mover)
            assert game.agent_selection == mover
            assert shown["observation"].tolist() == oracle.seen()
            assert set(np.flatnonzero(shown["action_mask"])) == oracle.legal()
            assert not any(game.terminations.values())
            action = int(rng.choice(sorted(oracle.legal())))
            oracle.play(action)
            game.step(action)
            won = oracle.wins()

        assert all(game.terminations.values())
        assert game.rewards == ({mover: 1, waiting: -1} if won else {A: 0, B: 0})
        assert game.observe(A)["observation"].tolist() == oracle.seen()
        ways |= won if len(won) == 1 else set()
        draws += not won

    assert len(ways) == 10 * 8  # every line was won by every word alone
    assert draws > 0


def test_a_turn_is_to_place_and_then_to_give() -> None:
    game = quarto.raw_env()
    game.reset()
    movers = []
    for action in (3, 16, 5, 17, 9):
        movers.append(game.agent_selection)
        game.step(action)

    assert movers == [A, B, B, A, A]
    assert game.agent_selection == B


def test_who_is_not_to_move_has_no_legal_action_and_sees_the_same() -> None:
    game = quarto.raw_env()
    game.reset()
    game.step(7)

    assert game.observe(A)["action_mask"].sum() == 0
    assert game.observe(A)["observation"].tolist() == game.observe(B)["observation"].tolist()
    assert game.observation_space(A).contains(game.observe(A))


def test_what_is_shown_is_the_observers_own() -> None:
    game = quarto.raw_env()
    game.reset()
    shown = game.observe(A)
    shown["observation"][:] = 3
    shown["action_mask"][:] = 0

    assert game.observe(A)["observation"].tolist() == [-1] * 17
    assert game.observe(A)["action_mask"].sum() == 16


@pytest.mark.parametrize(
    ("moves", "wrong"),
    [((), 16), ((), -1), ((), 32), ((), None), ((4,), 4), ((4,), 5), ((4, 16), 4), ((4, 16), 17), ((4, 16, 5), 16)],
)
def test_what_the_rules_forbid_raises_and_changes_nothing(moves: tuple[int, ...], wrong: int | None) -> None:
    game = quarto.raw_env()
    game.reset()
    for move in moves:
        game.step(move)
    before = game.render()

    with pytest.raises(ValueError, match=r"cannot be given|can be placed|no action"):
        game.step(wrong)

    assert game.render() == before


def test_in_pettingzoos_guards_an_illegal_move_loses() -> None:
    game = quarto.env()
    game.reset()
    game.step(4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        game.step(4)

    assert game.rewards == {A: 0, B: -1}
    assert all(game.terminations.values())


def test_the_text_shows_board_and_hand() -> None:
    game = quarto.raw_env(render_mode="ansi")
    game.reset()
    for action in (5, 16 + 6, 15):
        game.step(action)

    free = "····"
    assert game.render().splitlines() == [
        f"{free} {free} {free} {free}", f"{free} {free} 0101 {free}", f"{free} {free} {free} {free}",
        f"{free} {free} {free} {free}", "in hand: 1111",
    ]  # fmt: skip
