"""From files to standings."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.board import standings
from tests.leaderboard import make

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
ALICE, BOB, CAROL = (make.entry(login) for login in ("alice", "bob", "carol"))


def board(entries, results, *, official=True, task=None):
    """The board of the only task."""
    return standings(make.challenge(*[task] if task else []), entries, results, official=official).tasks[0]


def test_a_scored_entry_has_a_row():
    own = make.result(ALICE, [1.0, 3.0])
    found = board([ALICE], [own])

    (row,) = found.rows
    assert (row.entry, row.result, row.estimate.score, row.attempts) == (ALICE, own, 2, 1)
    assert (row.place, row.rank_low, row.rank_high, row.with_leader) == (1, 1, 1, True)
    assert (found.failures, found.waiting) == ((), ())


def test_an_empty_board_is_a_board():
    empty = standings(make.challenge(), [], [], official=True)

    assert (empty.overall, empty.tasks[0].rows) == ((), ())


def test_failed_entries_are_listed_by_name_and_never_ranked():
    failed = board([CAROL, BOB, ALICE], [make.result(CAROL), make.result(ALICE), make.result(BOB, [1.0])])

    assert [one.entry.login for one in failed.failures] == ["alice", "carol"]
    assert [(row.entry.login, row.rank_high) for row in failed.rows] == [("bob", 1)]


def test_an_entry_without_a_result_waits():
    assert board([BOB, ALICE], []).waiting == (ALICE, BOB)


def test_an_entry_stands_only_on_the_boards_it_enters():
    one, other = make.task("one"), make.task("other")
    picky = make.entry("alice", tasks=("other",))
    results = [make.result(picky, [1.0], on=task) for task in (one, other)]

    boards = standings(make.challenge(one, other), [picky], results, official=True).tasks

    assert [len(found.rows) for found in boards] == [0, 1]
    assert boards[0].waiting == ()


def test_results_of_anything_else_do_not_count():
    others = [
        make.result(make.entry("alice", version="0"), [9.0]),
        make.result(make.entry("alice", agent="other"), [9.0]),
        make.result(BOB, [9.0], submission_digest=ALICE.digest),
        make.result(ALICE, [9.0], season="0"),
        make.result(ALICE, [9.0], task_digest=make.digest("another setting")),
        make.result(ALICE, [9.0], on=make.task("unknown")),
    ]

    assert board([ALICE], others).waiting == (ALICE,)


def test_an_official_board_counts_only_what_was_jailed_and_official():
    unofficial = [
        make.result(ALICE, [9.0], **{"class": "local"}),
        make.result(ALICE, [9.0], **{"class": "preview"}),
        make.result(ALICE, [9.0], sandbox="process"),
    ]

    assert board([ALICE], unofficial).waiting == (ALICE,)
    assert len(board([ALICE], unofficial, official=False).rows) == 1
    assert len(board([ALICE], [*unofficial, make.result(ALICE, [9.0], sandbox="gvisor")]).rows) == 1


def test_logins_are_compared_without_capitals():
    assert len(board([ALICE], [make.result(ALICE, [1.0], login="Alice")]).rows) == 1


def test_the_latest_of_several_results_counts_then_the_greater_key():
    early, late = make.result(ALICE, [9.0], at=EARLY), make.result(ALICE, [1.0], at=LATE)
    low, high = (make.result(ALICE, [float(key)], at=LATE, key=str(key) * 64) for key in (1, 2))

    assert board([ALICE], [late, early]).rows[0].result == late
    assert board([ALICE], [high, low]).rows[0].result == high
    assert len(board([ALICE], [late, make.result(ALICE, at="2026-03-01T00:00:00Z")]).failures) == 1


def test_a_failure_of_ours_never_hides_what_was_measured():
    measured, ours = make.result(ALICE, [1.0], at=EARLY), make.result(ALICE, at=LATE, verdict="internal_error")

    assert board([ALICE], [measured, ours]).rows[0].result == measured
    assert board([ALICE], [ours]).failures[0].result == ours


def test_attempts_are_versions_evaluated_on_the_task():
    older = [make.entry("Alice", version=version) for version in ("a", "b")]
    results = [
        make.result(ALICE, [1.0], at=EARLY),
        make.result(ALICE, [1.0], at=LATE),
        make.result(older[0], [1.0]),
        make.result(older[1]),
        make.result(make.entry("alice", version="c"), [1.0], season="0"),
        make.result(BOB, [1.0]),
    ]

    assert board([ALICE], results).rows[0].attempts == 3


def test_equal_scores_share_a_place_and_the_earlier_entry_stands_first():
    results = [
        make.result(ALICE, [1.0, 3.0], at=LATE),
        make.result(CAROL, [2.0, 2.0], at=EARLY),
        make.result(BOB, [3.0, 1.0], at=EARLY),
    ]

    rows = board([ALICE, BOB, CAROL], results).rows

    assert [(row.entry.login, row.place) for row in rows] == [("bob", 1), ("carol", 1), ("alice", 1)]


def test_iqm_ranks_where_the_task_says_so():
    outlier, steady = [100.0, 1.0, 1.0, 1.0], [2.0] * 4
    orders = [
        [
            row.entry.login
            for row in board(
                [ALICE, BOB],
                [make.result(ALICE, outlier, on=task), make.result(BOB, steady, on=task)],
                task=task,
            ).rows
        ]
        for task in (make.task(score="mean"), make.task(score="iqm"))
    ]

    assert orders == [["alice", "bob"], ["bob", "alice"]]


def test_an_interval_is_the_same_whatever_else_is_on_the_board():
    random = np.random.default_rng(1)
    entries = [make.entry(f"user{i}") for i in range(70)]
    results = [make.result(entry, random.normal(size=7 + i % 3).tolist()) for i, entry in enumerate(entries)]
    together = {row.entry.login: row.estimate for row in board(entries, results).rows}

    alone = board(entries[-1:], results[-1:]).rows[0]

    assert together[alone.entry.login] == alone.estimate


RETURNS = st.lists(st.sampled_from([0.0, 0.25, 1.0]), max_size=5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(RETURNS, RETURNS, st.sampled_from([EARLY, LATE])), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_order_of_input_never_matters(rows, random):
    one, other = make.task("one", bounds=(0, 1)), make.task("other", score="iqm")
    entries = [make.entry(f"user{i}") for i in range(len(rows))]
    results = [
        make.result(entry, returns, on=task, at=at)
        for entry, (first, second, at) in zip(entries, rows, strict=True)
        for task, returns in ((one, first), (other, second))
    ]
    again = [random.sample(values, k=len(values)) for values in (entries, results)]

    expected = standings(make.challenge(one, other), entries, results, official=True)

    assert standings(make.challenge(one, other), *again, official=True) == expected
