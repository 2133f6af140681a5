"""Parts of many agents, and of their memory."""

import contextlib
import gc

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.heap import growing
from leaderboard.share import WHOLE, Share


@given(st.integers(0, 40), st.integers(1, 7))
def test_the_parts_are_the_whole_in_its_order(size, count):
    parts = [Share(index, count).of(range(size)) for index in range(count)]

    assert [one for part in parts for one in part] == list(WHOLE.of(range(size))) == list(range(size))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_garbage_is_looked_for_again_even_after_a_fault():
    seen = []
    with contextlib.suppress(KeyError), growing():
        seen.append(gc.isenabled())
        raise KeyError

    assert (seen, gc.isenabled()) == ([False], True)
