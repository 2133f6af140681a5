"""Parts of many agents."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.core.parallel import WHOLE, Partition


@given(st.integers(0, 40), st.integers(1, 7))
def test_the_parts_are_the_whole_in_its_order(size, count):
    parts = [Partition(index, count).of(range(size)) for index in range(count)]

    assert [one for part in parts for one in part] == list(WHOLE.of(range(size))) == list(range(size))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
