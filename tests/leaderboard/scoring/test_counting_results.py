"""Which version of an owner holds its place in the final ranks, and what becomes of the others."""

from dataclasses import replace

import pytest

from evaluator.model.config.moderation import Exclusion, Moderation
from evaluator.model.config.submission import Submission
from leaderboard.build_standings import build_standings
from leaderboard.core.standings import FinalDraws, Standings, TaskStandings
from tests.leaderboard import make

EARLY, LATE, END = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"
A, B, C = (make.entry("alice", agent=agent, version=agent) for agent in "abc")
BOB = make.entry("bob")
ONE, TWO = make.task("one", anchors=(0, 10)), make.task("two", anchors=(0, 10))


def spread(score):
    return [score - 1.0, score + 1.0] * 6


def live(entry, score, at=EARLY, on=ONE, beacon="merge"):
    """A draw before the end; a failed one where there is no score."""
    return make.result(entry, [] if score is None else spread(score), on=on, at=at, beacon=beacon)


def final(entry, score, on=ONE):
    return make.result(entry, [] if score is None else spread(score), on=on, at=END, beacon="final")


def standings(entries, results, *tasks, final_beacon="final") -> Standings:
    rules = make.challenge(*(tasks or (ONE,)))
    return build_standings(rules, entries, results, official=True, final=final_beacon and FinalDraws(beacon=final_beacon))


def board(entries, results) -> TaskStandings:
    return standings(entries, results).tasks[0]


def places(ranked) -> list[tuple[str, int | None, str | None]]:
    return [(row.entry.shown, None if row.is_unranked else row.place, row.superseded_by) for row in ranked.rows]


def test_the_best_live_score_holds_the_place_whatever_the_final_draws():
    results = [live(A, 3.0), live(B, 5.0), live(BOB, 1.0), final(A, 9.0), final(B, 2.0), final(BOB, 4.0)]

    ranked = board([A, B, BOB], results)

    assert places(ranked) == [("bob/agent", 1, None), ("alice/b", 2, None), ("alice/a", None, "alice/b")]
    assert [(row.rank_high, row.tries) for row in ranked.rows[:2]] == [(1, 1), (2, 1)]
    assert ranked.rows[2].estimate.score == pytest.approx(9.0)
    assert ranked.best == ranked.rows[0]


def test_the_others_change_no_number_of_a_row_with_a_place():
    results = [live(A, 3.0), live(B, 5.0), final(A, 9.0), final(B, 2.0), final(BOB, 4.0)]
    alone = [result for result in results if result.agent != "a"]

    held, apart = (
        {row.entry.shown: (row.place, row.rank_low, row.rank_high, row.with_leader, row.estimate) for row in ranked.rows}
        for ranked in (board([A, B, BOB], results), board([B, BOB], alone))
    )

    assert {name: held[name] for name in apart} == apart


def test_a_live_score_pools_its_draws_and_before_the_end_every_version_ranks():
    results = [live(A, 9.0, beacon="first"), live(A, 1.0, LATE, beacon="second"), live(B, 6.0), final(A, 5.0), final(B, 4.0)]

    assert places(board([A, B], results)) == [("alice/b", 1, None), ("alice/a", None, "alice/b")]
    assert [held for _, _, held in places(standings([A, B], results, final_beacon=None).tasks[0])] == [None, None]


@pytest.mark.parametrize(
    ("before", "holder"),
    [
        ([live(A, None), live(B, 1.0)], "alice/b"),
        ([live(A, 9.0, beacon="first"), live(A, None, LATE, beacon="second"), live(B, 1.0)], "alice/b"),
        ([live(B, 1.0)], "alice/b"),
        ([live(A, None, LATE), live(B, None, EARLY)], "alice/b"),
        ([live(B, None)], "alice/b"),
        ([live(A, 3.0, LATE), live(B, 3.0, EARLY)], "alice/b"),
        ([live(A, 3.0), live(B, 3.0)], "alice/a"),
        ([], "alice/a"),
    ],
    ids=[
        "failed",
        "one draw failed",
        "no draw",
        "both failed",
        "failed or none",
        "first recorded",
        "by name",
        "none at all",
    ],
)
def test_a_version_without_a_live_score_comes_after_one_with_a_score(before, holder):
    ranked = board([A, B], [*before, final(A, 5.0), final(B, 4.0)])

    (placed,) = (row for row in ranked.rows if not row.is_unranked)
    assert (placed.entry.shown, placed.place) == (holder, 1)


@pytest.mark.parametrize("ended", ["failed", "waits"])
def test_an_owner_has_no_place_where_the_final_draw_of_the_chosen_version_failed_or_is_missing(ended):
    """The next one would be chosen by a look at a final draw."""
    results = [live(A, 3.0), live(B, 5.0), final(A, 9.0), final(BOB, 1.0), *([final(B, None)] if ended == "failed" else [])]

    ranked = board([A, B, BOB], results)

    assert places(ranked) == [("bob/agent", 1, None), ("alice/a", None, "alice/b")]
    assert ([failure.entry for failure in ranked.failures], list(ranked.waiting)) == (
        ([B], []) if ended == "failed" else ([], [B])
    )


def test_baselines_and_hosts_own_take_no_place_and_hold_none():
    base, own = replace(A, baseline=True), replace(B, host=True)
    results = [live(entry, score) for entry, score in ((A, 9.0), (B, 8.0), (C, 1.0))]
    results += [final(entry, 5.0) for entry in (A, B, C)]

    assert {(name, place, held) for name, place, held in places(board([base, own, C], results))} == {
        ("alice/a", None, None), ("alice/b", None, None), ("alice/c", 1, None),
    }  # fmt: skip


def naming(entry, *others):
    submission = Submission(name=entry.agent, algorithm="test", tasks="all", authors=[f"@{other}" for other in others])
    return replace(entry, submission=submission)


def test_a_team_and_a_renamed_account_hold_one_place():
    team = [naming(A, "bob"), naming(BOB, "alice")]
    results = [live(A, 3.0), live(BOB, 5.0), final(A, 9.0), final(BOB, 2.0)]
    assert places(board(team, results)) == [("bob/agent", 1, None), ("alice/a", None, "bob/agent")]
    assert [held for *_, held in places(board([A, naming(BOB, "alice")], results))] == [None, None]

    known = [result.model_copy(update={"login_id": 7}) for result in results]
    assert places(board([A, BOB], known)) == [("bob/agent", 1, None), ("alice/a", None, "bob/agent")]


def test_across_tasks_the_best_live_overall_score_holds_the_place_with_all_its_scores():
    """Also on a task where another version holds the place: a version is measured as a whole."""
    results = [
        live(A, 6.0, on=ONE), live(A, 6.0, on=TWO), live(B, 8.0, on=ONE), live(B, 1.0, on=TWO),
        final(A, 3.0, on=ONE), final(A, 4.0, on=TWO), final(B, 9.0, on=ONE), final(B, 9.0, on=TWO),
        final(BOB, 1.0, on=ONE),
    ]  # fmt: skip

    whole = standings([A, B, BOB], results, ONE, TWO)

    assert [row.superseded_by for row in whole.tasks[0].rows] == [None, None, "alice/b"]
    assert [row.superseded_by for row in whole.tasks[1].rows] == [None, "alice/a"]
    assert [(row.entry.shown, row.superseded_by, row.place) for row in whole.overall if not row.is_unranked] == [
        ("alice/a", None, 1), ("bob/agent", None, 2),
    ]  # fmt: skip
    assert whole.overall[0].estimate.score == pytest.approx(0.35)
    assert (whole.overall[2].entry, whole.overall[2].superseded_by) == (B, "alice/a")


def test_in_a_revealed_season_the_best_score_holds_the_place_and_all_versions_stay_tries():
    beacon = "sealed-" + "a" * 64
    results = [
        live(A, 6.0, on=ONE, beacon=beacon), live(A, 6.0, on=TWO, beacon=beacon), live(B, 8.0, on=ONE, beacon=beacon),
        live(B, None, on=TWO, beacon=beacon), live(C, 1.0, on=ONE, beacon=beacon), live(BOB, 7.0, on=ONE, beacon=beacon),
    ]  # fmt: skip

    whole = standings([A, B, BOB], results, ONE, TWO, final_beacon=beacon)

    assert places(whole.tasks[0]) == [("alice/b", 1, None), ("bob/agent", 2, None), ("alice/a", None, "alice/b")]
    assert places(whole.tasks[1]) == [("alice/a", 1, None)]
    assert [row.tries for row in whole.tasks[0].rows] == [3, 1, 3]  # with one that left main
    assert [(row.entry.shown, row.superseded_by) for row in whole.overall] == [
        ("alice/a", None), ("bob/agent", None), ("alice/b", "alice/a"),
    ]  # fmt: skip


def test_a_version_that_scored_on_no_task_before_holds_no_overall_place():
    results = [live(A, None, on=ONE), live(B, 1.0, on=TWO), final(A, 9.0, on=ONE), final(B, 2.0, on=TWO)]

    (placed,) = (row for row in standings([A, B], results, ONE, TWO).overall if not row.is_unranked)

    assert placed.entry == B


def test_an_exclusion_follows_a_version_to_another_folder_of_its_login() -> None:
    moved, other, stranger = make.entry("Mallory", agent="new"), make.entry("mallory", agent="b"), make.entry("bob")
    out = Exclusion(
        login="mallory", agent="old", digest=moved.digest, since="2026-05-01", who="host", why="copied",
        link="https://x.example/",
    )  # fmt: skip
    results = [make.result(entry, [1.0, 2.0]) for entry in (moved, other, stranger)]

    rules = Moderation(exclusions=(out,))
    (table,) = build_standings(make.challenge(), [moved, other, stranger], results, official=True, moderation=rules).tasks

    assert [excluded.agent for excluded in table.excluded] == ["new"]
    assert {row.entry.agent for row in table.rows} == {"b", "agent"}
    assert rules.exclusion_of("mallory", "old") == out
