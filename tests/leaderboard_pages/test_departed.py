"""Entries that left the board: withdrawn or excluded, they stay visible and never rank."""

from dataclasses import replace

from evaluator.model.moderation import Moderation
from leaderboard.board import standings
from leaderboard.departed import departed
from tests.leaderboard_pages import samples
from tests.leaderboard_pages.everything import render
from tests.leaderboard_pages.samples import CONTEXT, POLE, challenge, entry, result
from tests.leaderboard_pages.test_pages import words

ALICE, BOB = entry(), entry("copycat", "Bob")
RESULTS = [result(ALICE, POLE, (9.0, 10.0)), result(BOB, POLE, (7.0, 8.0))]
RULED = Moderation.model_validate(
    {
        "exclusions": [
            {
                "login": "bob", "since": "2026-05-01", "who": "host", "why": "copies *weights* <b>",
                "link": "https://example.org/1",
            }
        ]
    }
)  # fmt: skip


def test_who_stands_and_is_not_excluded_has_not_departed() -> None:
    assert departed([ALICE, BOB], RESULTS, Moderation(), "2026") == ()


def test_who_was_measured_and_stands_no_more_has_withdrawn() -> None:
    (gone,) = departed([BOB], RESULTS, Moderation(), "2026")

    assert (gone.login, gone.agent, gone.exclusion) == ("alice", "angle-rule", None)
    assert gone.results == (RESULTS[0],)


def test_an_excluded_login_is_meant_without_regard_to_case_measured_or_not() -> None:
    (gone,) = departed([ALICE, BOB], RESULTS[:1], RULED, "2026")

    assert (gone.login, gone.results) == ("Bob", ())
    assert gone.exclusion == RULED.exclusions[0]


def test_another_seasons_results_leave_no_tombstone() -> None:
    assert departed([], RESULTS, Moderation(), "2027") == ()


def test_pages_say_why_and_escape_what_was_typed() -> None:
    gone = departed([BOB], RESULTS, RULED, "2026")
    pages = render(standings(challenge(POLE), [], RESULTS, official=True), replace(CONTEXT, departed=gone))

    assert "Withdrawn" in pages["agents/alice/angle-rule.md"]
    assert "Excluded" in pages["agents/Bob/copycat.md"]
    assert "<b>" not in pages["agents/Bob/copycat.md"].partition("copies")[2].partition("</p>")[0]
    assert "No longer ranked" in pages["index.md"]
    assert "withdrawn" in pages["index.md"]


def test_nothing_is_said_where_nobody_left() -> None:
    pages = render(standings(challenge(POLE), [ALICE], RESULTS, official=True), CONTEXT)

    assert "No longer ranked" not in pages["index.md"]


def test_a_tasks_page_lists_the_excluded_with_the_reason_and_a_link_but_no_place() -> None:
    board = samples.board(samples.task_board(POLE, excluded=(samples.excluded(ALICE),)))
    page = render(board, CONTEXT)["tasks/CartPole-v1.md"]

    assert "angle-rule alice 2026-05-01 host copies weights Discussion" in words(page)
    assert "issues&#47;1" in page
    assert "Nobody is entered now." in words(page)
    assert "pr-place" not in page


def test_a_tasks_page_lists_the_withdrawn_with_the_last_score_and_the_date() -> None:
    left = (samples.withdrawn(ALICE, POLE), samples.withdrawn(BOB, POLE, None))
    page = words(render(samples.board(samples.task_board(POLE, withdrawn=left)), CONTEXT)["tasks/CartPole-v1.md"])

    assert "angle-rule alice 480.0 2026-01-01 ok" in page
    assert "copycat Bob – 2026-01-01 crashed" in page


def test_the_page_of_who_left_is_linked_where_there_is_one() -> None:
    gone = departed([BOB], RESULTS, RULED, "2026")
    board = standings(challenge(POLE), [BOB], RESULTS, official=True, moderation=RULED)
    linked = render(board, replace(CONTEXT, departed=gone))["tasks/CartPole-v1.md"]
    bare = render(board, CONTEXT)["tasks/CartPole-v1.md"]

    assert "agents&#47;alice&#47;angle&#45;rule" in linked
    assert "agents&#47;Bob&#47;copycat" in linked
    assert "agents&#47;" not in bare


def test_the_page_of_who_left_shows_what_was_recorded() -> None:
    gone = departed([BOB], [*RESULTS, result(ALICE, samples.CAR, ())], Moderation(), "2026")
    board = standings(challenge(POLE), [BOB], RESULTS, official=False)
    page = words(render(board, replace(CONTEXT, departed=gone))["agents/alice/angle-rule.md"])

    assert "CartPole-v1 9.50 ok 2026-01-01" in page
    assert "MountainCar-v0 – crashed 2026-01-01" in page
    assert "This is a local board." in page
