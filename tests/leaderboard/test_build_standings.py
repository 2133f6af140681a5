"""From files to standings."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.model.config.moderation import Moderation
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Excluded
from leaderboard.core.standings import FinalDraws
from leaderboard.scoring.intervals import estimates
from tests.leaderboard import make

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
ALICE, BOB, CAROL = (make.entry(login) for login in ("alice", "bob", "carol"))


def board(entries, results, *, official=True, task=None, moderation=None):
    """The board of the only task."""
    rules = make.challenge(*[task] if task else [])
    return build_standings(rules, entries, results, official=official, moderation=moderation).tasks[0]


def excluding(*who):
    """A moderation of logins, or of logins and agents."""
    fields = {"since": "2026-05-01", "who": "host", "why": "copies weights", "link": "https://example.org/1"}
    named = [dict(zip(("login", "agent"), one.split("/"), strict=False)) for one in who]
    return Moderation.model_validate({"exclusions": [{**one, **fields} for one in named]})


def test_an_excluded_version_makes_no_team():
    """The official run and comments leave it out: with its team, the board had other players and places than they."""
    named = make.entry("mallory", agent="excluded", authors=("@anna",))
    entries = [named, make.entry("mallory"), make.entry("anna", authors=("@mallory",)), BOB]
    game, others = make.game(), entries[1:]
    results = [make.result(entry, [float(score)] * 12) for score, entry in enumerate(entries)]
    duels = [make.duel(entry, on=game) for entry in entries]
    duels += [make.duel(one, other, "ww", on=game) for one, other in itertools.combinations(others, 2)]
    rules = make.challenge(make.task(), game)

    def places(entries, moderation=None):
        made = build_standings(rules, entries, results, official=True, moderation=moderation, duels=duels)
        return [[(row.entry.name, row.place) for row in board.rows] for board in (*made.tasks, *made.games)]

    assert places(entries, excluding("mallory/excluded")) == places(others)
    assert [len(rows) for rows in places(others)] == [3, 3]


def test_a_scored_entry_has_a_row():
    own = make.result(ALICE, [1.0, 3.0])
    standings = board([ALICE], [own])

    (row,) = standings.rows
    assert (row.entry, row.result, row.estimate.score, row.versions_tried) == (ALICE, own, 2, 1)
    assert (row.place, row.rank_low, row.rank_high, row.with_leader) == (1, 1, 1, True)
    assert (standings.failures, standings.waiting) == ((), ())


def test_an_empty_board_is_a_board():
    empty = build_standings(make.challenge(), [], [], official=True)

    assert (empty.overall, empty.tasks[0].rows) == ((), ())


def test_failed_entries_are_listed_by_name_and_never_ranked():
    failed = board([CAROL, BOB, ALICE], [make.result(CAROL), make.result(ALICE), make.result(BOB, [1.0])])

    assert [one.entry.login for one in failed.failures] == ["alice", "carol"]
    assert [(row.entry.login, row.rank_high) for row in failed.rows] == [("bob", 1)]


def test_an_entry_without_a_result_waits():
    assert board([BOB, ALICE], []).waiting == (ALICE, BOB)


def test_a_person_who_was_erased_waits_for_nothing():
    assert board([dataclasses.replace(BOB, erased=True), ALICE], []).waiting == (ALICE,)


def test_an_entry_stands_only_on_the_boards_it_enters():
    one, other = make.task("one"), make.task("other")
    picky = make.entry("alice", tasks=("other",))
    results = [make.result(picky, [1.0], on=task) for task in (one, other)]

    boards = build_standings(make.challenge(one, other), [picky], results, official=True).tasks

    assert [len(standings.rows) for standings in boards] == [0, 1]
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

    assert board([ALICE], results).rows[0].versions_tried == 3


@pytest.mark.parametrize("again", ["merge", "final"])
def test_of_equals_the_first_to_have_been_evaluated_leads_whatever_was_evaluated_again_first(again: str) -> None:
    """In a round of final draws, or of a new evaluator, the order would follow from names, runtimes and slow hosts."""
    early, late = make.entry("zed"), make.entry("amy")
    results = [
        make.result(entry, [1.0] * 10, at=f"2026-0{month}-01T00:00:00Z", beacon=beacon)
        for entry, months in ((early, (1, 6)), (late, (2, 5)))
        for month, beacon in zip(months, ("merge", again), strict=True)
    ]

    ranked = build_standings(
        make.challenge(),
        [early, late],
        results,
        official=True,
        final=FinalDraws(beacon="final") if again == "final" else None,
    )

    for rows in (ranked.tasks[0].rows, ranked.overall):
        assert [(row.entry.login, row.place) for row in rows] == [("zed", 1), ("amy", 1)]


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


def test_an_excluded_entry_is_listed_and_neither_ranked_nor_waiting_nor_failed():
    moderation = excluding("alice", "BOB/agent", "carol/other")
    rules, results = make.challenge(), [make.result(BOB, [9.0]), make.result(CAROL, [1.0])]
    entries = [make.entry("bob", agent="other"), BOB, ALICE, CAROL]

    whole = build_standings(rules, entries, results, official=True, moderation=moderation)

    (standings,) = whole.tasks
    assert standings.excluded == (
        Excluded(login="alice", agent="agent", exclusion=moderation.exclusions[0]),
        Excluded(login="bob", agent="agent", exclusion=moderation.exclusions[1]),
    )
    assert [(row.entry, row.place, row.rank_high) for row in standings.rows] == [(CAROL, 1, 1)]
    assert [row.entry for row in whole.overall] == [CAROL]
    assert (standings.failures, standings.waiting, standings.withdrawn) == ((), (entries[0],), ())


def test_an_exclusion_stands_only_on_the_boards_that_the_entry_enters():
    one, other = make.task("one"), make.task("other")
    rules, picky = make.challenge(one, other), make.entry("alice", tasks=("other",))

    boards = build_standings(rules, [picky], [], official=True, moderation=excluding("alice")).tasks

    assert [len(standings.excluded) for standings in boards] == [0, 1]


def test_an_agent_without_a_folder_is_withdrawn_with_its_last_official_result():
    results = [
        make.result(ALICE, [1.0, 2.0], at=LATE),
        make.result(ALICE, [9.0], at=EARLY),
        make.result(ALICE, at="2026-03-01T00:00:00Z", verdict="internal_error"),
        make.result(CAROL, [1.0]),
        make.result(BOB),
    ]

    standings = board([CAROL], results)

    assert [(one.login, one.agent, one.result, one.score) for one in standings.withdrawn] == [
        ("alice", "agent", results[0], 1.5),
        ("bob", "agent", results[4], None),
    ]
    assert [row.entry for row in standings.rows] == [CAROL]
    assert (standings.failures, standings.waiting, standings.excluded) == ((), (), ())


def test_the_last_score_of_a_withdrawn_agent_is_the_tasks_own():
    task = make.task(score="iqm")

    assert board([], [make.result(ALICE, [100.0, 1.0, 1.0, 1.0], on=task)], task=task).withdrawn[0].score == 1


def test_what_was_never_measured_officially_leaves_no_tombstone():
    unofficial = [
        make.result(ALICE, [9.0], **{"class": "local"}),
        make.result(ALICE, [9.0], sandbox="process"),
        make.result(ALICE, verdict="internal_error"),
        make.result(ALICE, [9.0], season="0"),
    ]

    assert board([], unofficial).withdrawn == ()
    assert board([], unofficial, official=False).withdrawn == ()


def test_an_agent_that_only_left_a_task_or_changed_is_not_withdrawn():
    picky = make.entry("Alice", tasks=("elsewhere",), version="2")

    assert board([picky], [make.result(ALICE, [1.0])]).withdrawn == ()


def test_who_was_excluded_stays_so_without_a_folder():
    standings = board([], [make.result(ALICE, [1.0]), make.result(BOB, [1.0])], moderation=excluding("alice"))

    assert [one.login for one in standings.excluded] == ["alice"]
    assert [one.login for one in standings.withdrawn] == ["bob"]


def test_the_examples_take_part_only_in_a_local_board():
    example = make.entry("local")
    result = make.result(example, [1.0], **{"class": "local"})

    official, local = board([example, ALICE], [result]), board([example, ALICE], [result], official=False)

    assert (official.rows, official.waiting, official.withdrawn) == ((), (ALICE,), ())
    assert [row.entry for row in local.rows] == [example]


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

    again[0] = [entry for entry in again[0] if entry.login != "user0"]
    rules, moderation = make.challenge(one, other), excluding("user1")

    expected = build_standings(rules, entries[1:], results, official=True, moderation=moderation)

    assert build_standings(rules, *again, official=True, moderation=moderation) == expected


def drawn(login: str, returns: list[float], beacon: str, version: str = "1", **fields: object) -> Result:
    who = make.entry(login, version=version)
    return make.result(who, returns, beacon=beacon, key=make.digest(f"{login} {version} {beacon}"), **fields)


def test_the_draws_of_a_version_are_pooled():
    results = [drawn("alice", [1.0, 2.0], "first", at=EARLY), drawn("alice", [6.0], "second", at=LATE)]

    (row,) = board([ALICE], results).rows

    assert [result.beacon for result in row.pooled_results] == ["first", "second"]
    assert (row.result.beacon, row.estimate.score, row.versions_tried, row.tries) == ("second", 3.0, 1, 2)


def test_going_back_to_the_best_of_twelve_versions_is_thirteen_tries():
    random = np.random.default_rng(1)
    versions = [drawn("alice", random.normal(size=20).tolist(), f"merge{i}", version=str(i)) for i in range(12)]
    again = drawn("alice", random.normal(size=20).tolist(), "merge12", version="7", at="2026-03-01T00:00:00Z")

    (row,) = board([make.entry("alice", version="7")], [*versions, again]).rows

    assert (len(row.pooled_results), row.versions_tried, row.tries) == (2, 12, 13)
    alone = estimates([[value for result in row.pooled_results for value in result.returns]], make.task())
    assert row.estimate.high - row.estimate.score > 1.5 * (alone.high[0] - alone.score[0])


def test_tries_count_in_all_folders_of_an_account_and_not_for_previews_or_others():
    second = make.entry("alice", agent="other", version="2")
    results = [
        drawn("alice", [1.0, 2.0], "first"),
        make.result(second, [1.0, 2.0], beacon="second"),
        make.result(make.entry("alice", version="3"), [5.0, 6.0], beacon=PREVIEW_BEACON, **{"class": "preview"}),
        drawn("bob", [1.0, 2.0], "first"),
    ]

    rows = board([ALICE, second, BOB], results).rows

    assert {row.entry.name: row.tries for row in rows} == {ALICE.name: 2, second.name: 2, BOB.name: 1}


def test_final_ranks_use_the_final_draw_alone():
    results = [
        drawn("alice", [9.0] * 12, "lucky", at=EARLY),
        drawn("alice", [1.0, 2.0] * 6, "final", at=LATE),
        drawn("bob", [2.0, 3.0] * 6, "final", at=LATE),
        drawn("carol", [7.0] * 12, "lucky"),
    ]
    entries = [ALICE, BOB, make.entry("carol")]

    final = build_standings(make.challenge(), entries, results, official=True, final=FinalDraws(beacon="final")).tasks[0]

    assert [(row.entry.login, row.estimate.score, row.tries) for row in final.rows] == [("bob", 2.5, 1), ("alice", 1.5, 1)]
    assert [entry.login for entry in final.waiting] == ["carol"]


@pytest.mark.parametrize("failed", ["first", "second"])
def test_a_version_with_a_failed_draw_has_no_score(failed):
    """Else an agent could fail whenever a draw goes badly, and come back until one does not."""
    results = [
        drawn("alice", [] if failed == "first" else [9.0] * 12, "first", at=EARLY),
        drawn("alice", [] if failed == "second" else [9.0] * 12, "second", at=LATE),
    ]

    found = board([ALICE], results)

    assert (found.rows, [failure.result.beacon for failure in found.failures]) == ((), [failed])


def test_a_draw_that_succeeds_when_it_is_measured_again_did_not_fail():
    results = [drawn("alice", [], "first", at=EARLY), drawn("alice", [9.0] * 12, "first", at=LATE)]

    assert [len(row.pooled_results) for row in board([ALICE], results).rows] == [1]


def test_entries_without_a_place_are_listed_by_their_scores_not_by_their_dates():
    """Of two baselines that nobody is between, the one measured first stood above a better one."""
    entries = [dataclasses.replace(make.entry(login), baseline=True) for login in ("random", "rule", "none")]
    random, rule, none = entries
    on = make.task(anchors=(0, 500))
    results = [
        make.result(random, [23.0] * 4, on=on, at=EARLY), make.result(rule, [495.0] * 4, on=on, at=LATE),
        make.result(none, [1.0] * 4, on=on, at="2025-01-01T00:00:00Z"),
    ]  # fmt: skip

    found = build_standings(make.challenge(on), entries, results, official=True)

    assert [row.entry.login for row in found.tasks[0].rows] == ["rule", "random", "none"]
    assert [row.entry.login for row in found.overall] == ["rule", "random", "none"]


def test_an_account_number_that_only_a_duel_has_joins_the_tries_of_both_logins():
    old, new = make.entry("ann"), make.entry("anna")
    results = [make.result(old, [1.0], login_id=7), make.result(new, [1.0])]
    document = make.duel(new).document()
    duel = Duel.with_self_hash({**document, "players": [{**one, "login_id": 7} for one in document["players"]]})

    standings = build_standings(make.challenge(), [old, new], results, official=True, duels=[duel])

    assert [row.tries for row in standings.tasks[0].rows] == [2, 2]
