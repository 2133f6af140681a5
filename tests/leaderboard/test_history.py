"""History is told from the dates of results, and ends where the board is."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.model.config.metric import Metric
from evaluator.model.config.moderation import Exclusion, Moderation
from evaluator.model.config.people import People
from leaderboard.build_standings import build_standings
from leaderboard.charts.history_charts import best_score_chart, places_chart, ticks
from leaderboard.core.game_standings import RatingSnapshot
from leaderboard.core.standings import FinalDraws
from leaderboard.history import BestScore, LeaderboardHistory
from tests.leaderboard import make
from tests.leaderboard.pages import game_samples, samples

TASK = make.task()
ALICE, BOB, CAROL = (make.entry(name) for name in ("alice", "bob", "carol"))
FIRST, SECOND, THIRD, FOURTH = (f"2026-01-0{day}T12:00:00Z" for day in range(1, 5))


def board(entries, results, *, official=True, moderation=None, task=TASK):
    return build_standings(make.challenge(task), entries, results, official=official, moderation=moderation)


def best_scores(standings, results):
    return LeaderboardHistory(standings, results).best_scores(standings.tasks[0])


def places_by_login(standings, results):
    return {t.entry.login: t.places for t in rank_histories(standings, results)}


def rank_histories(standings, results):
    return LeaderboardHistory(standings, results).places_over_time(standings.tasks[0])


def test_the_best_score_over_time_only_rises():
    results = [make.result(ALICE, [1.0], at=FIRST), make.result(BOB, [0.5], at=SECOND), make.result(CAROL, [2.0], at=THIRD)]
    found = best_scores(board([ALICE, BOB, CAROL], results), results)

    assert found == (
        BestScore(login="alice", agent="agent", at=FIRST, score=1.0),
        BestScore(login="carol", agent="agent", at=THIRD, score=2.0),
    )


def test_what_chooses_no_place_after_the_end_leads_nothing():
    """A live draw that was under way: its owner could know by then whether it is a lucky one."""
    end = FinalDraws(beacon="final", ended_at=THIRD)
    live = [make.result(ALICE, [0.5], at=FIRST), make.result(BOB, [0.6], at=SECOND)]
    last = [make.result(who, [score], at=FOURTH, beacon="final") for who, score in ((ALICE, 0.3), (BOB, 0.5))]
    late = make.result(ALICE, [0.9], at=THIRD, beacon="late")

    def told(results):
        standings = build_standings(make.challenge(TASK), [ALICE, BOB], results, official=True, final=end)
        history = LeaderboardHistory(standings, results)
        return history.leads(), history.best_scores(standings.tasks[0]), history.places_over_time(standings.tasks[0])

    assert told([*live, late, *last]) == told([*live, *last])


@pytest.mark.attack(
    "record_of_an_excluded_version", family="people", outcome="neither a record nor a lead",
    tries="Enters another version in the folder of one that is excluded by its digest, whose score beats all records.",
)  # fmt: skip
def test_what_is_excluded_by_its_digest_sets_no_record_whatever_stands_in_its_folder():
    """Who had set a record before or after it would be listed no more."""
    results = [make.result(BOB, [0.5], at=FIRST), make.result(ALICE, [9.0], at=SECOND), make.result(CAROL, [0.6], at=THIRD)]
    newer = make.entry("alice", version="2")
    results.append(make.result(newer, [0.7], at=FOURTH))
    out = Exclusion(
        login="Alice",
        digest=ALICE.digest,
        since="2026-01-03",
        who="host",
        why="cheated",
        link="https://example.com/issues/1",
    )
    standings = board([newer, BOB, CAROL], results, moderation=Moderation(exclusions=(out,)))
    history = LeaderboardHistory(standings, results)

    assert [(one.login, one.score) for one in best_scores(standings, results)] == [
        ("bob", 0.5),
        ("carol", 0.6),
        ("alice", 0.7),
    ]
    assert [(one.entry.login, one.score) for one in history.leads()] == [("alice", 0.7), ("carol", 0.6), ("bob", 0.5)]
    assert 9.0 not in {event.score for event in history.events(9)}


def test_where_lower_is_better_the_best_only_falls():
    task = make.task(anchors=None, metrics=(Metric(name="Length", kind="mean_length", direction="lower"),))
    results = [
        make.result(who, [0.0], on=task, at=at, lengths=[length])
        for who, at, length in [(ALICE, FIRST, 5), (BOB, SECOND, 9), (CAROL, THIRD, 2)]
    ]
    standings = board([ALICE, BOB, CAROL], results, task=task)

    assert [one.score for one in best_scores(standings, results)] == [5.0, 2.0]
    assert places_by_login(standings, results)["alice"] == ((FIRST, 1), (THIRD, 2))


def test_an_equal_score_is_no_record():
    results = [make.result(ALICE, [1.0], at=FIRST), make.result(BOB, [1.0], at=SECOND)]

    assert len(best_scores(board([ALICE, BOB], results), results)) == 1


def test_who_was_withdrawn_keeps_a_record_and_who_is_excluded_has_none():
    results = [make.result(ALICE, [9.0], at=FIRST), make.result(BOB, [5.0], at=SECOND), make.result(CAROL, [7.0], at=THIRD)]
    out = Exclusion(login="alice", since="2026-01-01", who="host", why="copied", link="https://example.org")
    standings = board([ALICE, BOB], results, moderation=Moderation(exclusions=(out,)))

    assert [one.login for one in best_scores(standings, results)] == ["bob", "carol"]
    assert places_by_login(standings, results) == {"bob": ((SECOND, 1),)}


def test_a_baseline_sets_no_record_and_takes_no_place():
    base = replace(ALICE, baseline=True)
    results = [make.result(base, [9.0], at=FIRST), make.result(BOB, [1.0], at=SECOND)]
    standings = board([base, BOB], results)

    assert [one.login for one in best_scores(standings, results)] == ["bob"]
    assert places_by_login(standings, results) == {"bob": ((SECOND, 1),)}


def test_places_change_when_others_come_and_when_a_new_version_is_measured():
    better = make.entry("alice", version="2")
    results = [
        make.result(ALICE, [1.0], at=FIRST), make.result(BOB, [2.0], at=SECOND), make.result(better, [3.0], at=THIRD)
    ]  # fmt: skip
    standings = board([better, BOB], results)

    assert places_by_login(standings, results) == {
        "alice": ((FIRST, 1), (SECOND, 2), (THIRD, 1)),
        "bob": ((SECOND, 1), (THIRD, 2)),
    }


def test_a_version_that_failed_has_no_place_but_a_failure_of_ours_says_nothing():
    broken, again = make.entry("alice", version="2"), make.entry("alice", version="3")
    results = [
        make.result(ALICE, [1.0], at=FIRST),
        make.result(ALICE, at=SECOND, verdict="internal_error"),
        make.result(broken, at=THIRD),
        make.result(again, [2.0], at=FOURTH),
    ]

    assert places_by_login(board([again], results), results) == {"alice": ((FIRST, 1), (THIRD, None), (FOURTH, 1))}


def test_draws_of_one_version_are_pooled_at_every_moment_as_on_the_board():
    results = [
        make.result(ALICE, [returned], at=at, beacon=at[:10]) for returned, at in ((9.0, FIRST), (1.0, SECOND), (2.0, THIRD))
    ]
    results.append(make.result(BOB, [4.5], at=FIRST))

    for draws, place in ((1, 1), (2, 1), (3, 2)):
        recorded = [*results[:draws], results[-1]]
        standings = board([ALICE, BOB], recorded)
        (alice,) = (row for row in standings.tasks[0].rows if row.entry == ALICE)
        assert (alice.place, alice.estimate.score) == (place, sum(result.returns[0] for result in results[:draws]) / draws)
        assert places_by_login(standings, recorded)["alice"][-1][1] == place
    newer = make.entry("alice", version="2")
    later = [*results, make.result(newer, [7.0], at=FOURTH)]
    assert places_by_login(board([newer, BOB], later), later)["alice"] == ((FIRST, 1), (THIRD, 2), (FOURTH, 1))


def test_a_version_that_comes_back_after_a_failed_draw_has_no_score_as_on_the_board():
    results = [
        make.result(ALICE, [1.0], at=FIRST, beacon="first"),
        make.result(ALICE, at=SECOND, beacon="second"),
        make.result(ALICE, [9.0], at=THIRD, beacon="third"),
    ]
    standings = board([ALICE], results)

    assert [score.score for score in best_scores(standings, results)] == [1.0]
    assert places_by_login(standings, results) == {}


def test_other_seasons_settings_and_previews_do_not_count():
    results = [
        make.result(ALICE, [1.0], at=FIRST),
        make.result(BOB, [9.0], at=SECOND, season="0"),
        make.result(BOB, [9.0], at=SECOND, task_digest="0" * 64),
        make.result(BOB, [9.0], at=SECOND, **{"class": "preview"}),
    ]
    standings = board([ALICE, BOB], results)

    assert [one.login for one in best_scores(standings, results)] == ["alice"]
    assert [event.entry.login for event in LeaderboardHistory(standings, results).events(9)] == ["alice"]


def test_places_end_where_the_board_is_even_when_an_earlier_version_came_back():
    worse = make.entry("alice", version="2")
    results = [make.result(ALICE, [3.0], at=FIRST), make.result(BOB, [2.0], at=SECOND), make.result(worse, [1.0], at=THIRD)]

    assert places_by_login(board([ALICE, BOB], results), results)["alice"][-1] == (THIRD, 1)


def test_events_tell_the_place_and_the_one_before_newest_first():
    better = make.entry("alice", version="2")
    results = [
        make.result(ALICE, [1.0], at=FIRST), make.result(BOB, [2.0], at=SECOND), make.result(better, [3.0], at=THIRD)
    ]  # fmt: skip
    events = LeaderboardHistory(board([better, BOB], results), results).events(2)

    assert [(e.entry.login, e.at, e.score, e.place, e.place_before) for e in events] == [
        ("alice", THIRD, 3.0, 1, 2),
        ("bob", SECOND, 2.0, 1, None),
    ]


def test_an_entry_without_a_score_now_has_no_events():
    results = [make.result(ALICE, [1.0], at=FIRST)]

    assert LeaderboardHistory(board([make.entry("alice", version="2")], results), results).events(9) == ()


def test_a_player_is_news_when_it_is_rated_first():
    one, two = samples.entry("a", "alice"), samples.entry("b", "bob")
    moments = (
        RatingSnapshot(day="2025-12-30", elo={one.name: 0.0}),
        RatingSnapshot(day="2026-01-01", elo={one.name: 10.0, two.name: 50.0}),
    )
    game = game_samples.board(game_samples.TICTACTOE, [one, two], history=moments)
    events = LeaderboardHistory(replace(samples.empty(), games=(game,)), []).events(9)

    assert [(e.entry.login, e.at, e.score, e.place) for e in events] == [
        ("bob", samples.NOON, 50.0, 1),
        ("alice", "2025-12-30T00:00:00Z", 0.0, 1),
    ]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(1, 28)), min_size=1, max_size=14))
def test_the_last_places_are_those_of_the_board(submitted):
    versions = {}
    results = []
    for who, score, day in sorted(submitted, key=lambda one: one[2]):
        entry = make.entry(f"user-{who}", version=str(day))
        versions[who] = entry
        at = f"2026-01-{day:02}T00:00:{len(results):02}Z"
        results.append(make.result(entry, [float(score)] if score else (), at=at))
    standings = board(versions.values(), results)
    ends = {login: places[-1][1] for login, places in places_by_login(standings, results).items()}

    assert ends == {row.entry.login: row.place for row in standings.tasks[0].rows[:8]}
    assert all(event.place >= 1 for event in LeaderboardHistory(standings, results).events(99))


def test_pictures_hold_every_step():
    results = [make.result(ALICE, [1.0], at=FIRST), make.result(BOB, [2.0], at=SECOND)]
    standings = board([ALICE, BOB], results)
    ends = (FIRST, SECOND)
    best = best_score_chart(best_scores(standings, results), ends, 1)
    places = places_chart(rank_histories(standings, results), ends)

    assert "from 1.0 to 2.0" in best.replace("&#46;", ".")
    assert best.count("<path") == 1
    assert places.count("<path") == 2


def test_a_gap_parts_a_line():
    broken, again = make.entry("alice", version="2"), make.entry("alice", version="3")
    results = [make.result(ALICE, [1.0], at=FIRST), make.result(broken, at=SECOND), make.result(again, [1.0], at=THIRD)]
    shown = rank_histories(board([again], results), results)

    assert places_chart(shown, (FIRST, FOURTH)).count("<path") == 2


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (-200, -100, [-200, -180, -160, -140, -120, -100])]
)
def test_ticks_are_round(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_many_places_have_few_marks():
    entries = [make.entry(f"user-{i:02}") for i in range(30)]
    results = [make.result(who, [float(i)], at=f"2026-01-01T00:00:{i:02}Z") for i, who in enumerate(entries)]
    shown = rank_histories(board(entries, results), results)
    first = [replace(shown[0], places=(*shown[0].places, (SECOND, 30)))]

    assert places_chart(first, (FIRST, SECOND)).count("<text") <= 10


def test_equal_agents_of_two_owners_keep_a_score_each():
    """Results of the same bytes on the same seeds have one key; which of them counts differs all the same."""
    first = make.result(ALICE, [5.0], at=FIRST)
    twin = make.result(replace(BOB, digest=ALICE.digest), [3.0], at=SECOND, key=first.key)
    bob = replace(BOB, digest=ALICE.digest)
    standings = board([ALICE, bob], [first, twin])

    assert [(one.login, one.score) for one in best_scores(standings, [twin, first])] == [("alice", 5.0)]
    assert places_by_login(standings, [first, twin])["bob"] == ((SECOND, 2),)


def test_who_was_listed_for_comparison_only_sets_no_record_after_leaving():
    """A host's rehearsal is withdrawn at once, and may be the best agent that there is."""
    ours, example = make.entry("Hosty", agent="rehearsal"), make.entry("local", agent="rule")
    entries = [ALICE, replace(ours, host=True), replace(example, baseline=True)]
    results = [
        make.result(ours, [9.0], at=FIRST), make.result(example, [8.0], at=SECOND), make.result(ALICE, [5.0], at=THIRD)
    ]  # fmt: skip
    rules = make.challenge(TASK).model_copy(update={"people": People(hosts=("hosty",))})

    for standing in (entries, entries[:1]):
        standings = build_standings(rules, standing, results, official=True)
        assert [one.login for one in best_scores(standings, results)] == ["alice"]
