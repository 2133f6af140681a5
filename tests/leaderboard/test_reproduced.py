"""Results that came out again."""

from leaderboard.site_context import reproduced
from tests.leaderboard import make

LATER, LATEST = "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"
WHO = make.entry("alice")


def test_the_same_returns_under_another_key_confirm_each_other():
    first, again = make.result(WHO, [1.0, 2.0]), make.result(WHO, [1.0, 2.0], at=LATER)

    assert first.key != again.key
    assert reproduced([first]) == frozenset()
    assert reproduced([first, again]) == {first.key, again.key}


def test_one_that_differs_takes_the_mark_from_all():
    first, again = make.result(WHO, [1.0, 2.0]), make.result(WHO, [1.0, 2.0], at=LATER)
    other = make.result(WHO, [1.0, 2.5], at=LATEST)

    assert reproduced([first, again, other]) == frozenset()


def test_other_seeds_failures_and_runs_at_home_confirm_nothing():
    first = make.result(WHO, [1.0, 2.0])
    elsewhere = make.result(WHO, [1.0, 2.0], at=LATER, beacon="other")
    at_home = make.result(WHO, [1.0, 2.0], at=LATER, **{"class": "local"})
    failed = [make.result(WHO, at=LATER), make.result(WHO, at=LATEST)]

    assert reproduced([first, elsewhere, at_home, *failed]) == frozenset()
