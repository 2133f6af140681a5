"""Graphs of players against those of scipy, which keeps them in another form."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from leaderboard.ratings.connectivity import has_negative_cycle, row_masks, set_bits, strong_parts


@st.composite
def edges(draw):
    """Players, and edges of length −1 or 1 between two of them, each at most once."""
    players = draw(st.integers(2, 12))
    player = st.integers(0, players - 1)
    pairs = st.tuples(player, player).filter(lambda pair: pair[0] != pair[1])
    signs = draw(st.dictionaries(pairs, st.sampled_from([-1, 1]), min_size=1, max_size=40))
    begin, end = np.array(list(signs), dtype=np.intp).T
    return players, begin, end, np.array(list(signs.values()), dtype=np.intp)


def of_scipy(players, begin, end, length):
    return sparse.csr_array((length.astype(float), (begin, end)), shape=(players, players))


@given(st.sets(st.integers(0, 200)))
def test_a_row_is_the_set_of_its_columns(columns):
    table = np.zeros((3, 201), dtype=np.bool_)
    table[1, list(columns)] = True

    assert [set_bits(row) for row in row_masks(table)] == [[], sorted(columns), []]


@settings(max_examples=300, deadline=None)
@given(edges())
def test_strong_parts_are_those_of_scipy(graph):
    players, begin, end, _ = graph
    table = np.zeros((players, players), dtype=np.bool_)
    table[begin, end] = True
    _, expected = csgraph.connected_components(of_scipy(*graph), directed=True, connection="strong")

    part = strong_parts(table)

    assert (np.equal.outer(part, part) == np.equal.outer(expected, expected)).all()
    assert sorted(set(part.tolist())) == list(range(part.max() + 1))


@settings(max_examples=300, deadline=None)
@given(edges())
def test_a_way_round_is_below_zero_where_scipy_finds_one(graph):
    try:
        csgraph.bellman_ford(of_scipy(*graph))
        expected = False
    except csgraph.NegativeCycleError:
        expected = True
    players, begin, end, length = graph

    assert has_negative_cycle(begin, end, length, players) is expected


def test_the_longest_way_without_return_is_not_below_zero():
    chain = np.arange(50)

    assert not has_negative_cycle(chain, chain + 1, np.full(50, -1), 51)
    assert has_negative_cycle(np.append(chain, 50), np.append(chain + 1, 0), np.full(51, -1), 51)
