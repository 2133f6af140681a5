"""Entries that left the board: withdrawn or excluded, they stay visible and never rank."""

from dataclasses import replace

from evaluator.model.config.moderation import Moderation
from leaderboard.build_standings import build_standings
from leaderboard.site_context import former_entries
from tests.leaderboard.pages import samples
from tests.leaderboard.pages.everything import render
from tests.leaderboard.pages.samples import CONTEXT, POLE, challenge, entry, result
from tests.leaderboard.pages.test_render_pages import words

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


def test_of_several_versions_the_last_one_says_whether_its_agent_is_excluded() -> None:
    """As leaderboards list it, whatever the order in which records are read."""
    older = result(ALICE, samples.CAR, (1.0,), provenance={"evaluated_at": "2026-01-01T00:00:00Z"})
    newer = result(
        replace(ALICE, digest=samples.digest("newer")),
        samples.CAR,
        (1.0,),
        provenance={"evaluated_at": "2026-01-02T00:00:00Z"},
    )
    for digest, is_excluded in ((older.submission_digest, False), (newer.submission_digest, True)):
        ruled = Moderation(exclusions=(RULED.exclusions[0].model_copy(update={"login": "alice", "digest": digest}),))
        for order in ([older, newer], [newer, older]):
            (gone,) = former_entries([BOB], order, ruled, "2026")
            assert bool(gone.exclusion) == is_excluded


def test_who_stands_and_is_not_excluded_has_not_departed() -> None:
    assert former_entries([ALICE, BOB], RESULTS, Moderation(), "2026") == ()


def test_who_was_measured_and_stands_no_more_has_withdrawn() -> None:
    (gone,) = former_entries([BOB], RESULTS, Moderation(), "2026")

    assert (gone.login, gone.agent, gone.exclusion) == ("alice", "angle-rule", None)
    assert gone.results == (RESULTS[0],)


def test_an_excluded_login_is_meant_without_regard_to_case_measured_or_not() -> None:
    (gone,) = former_entries([ALICE, BOB], RESULTS[:1], RULED, "2026")

    assert (gone.login, gone.results) == ("Bob", ())
    assert gone.exclusion == RULED.exclusions[0]


def test_another_seasons_results_leave_no_tombstone() -> None:
    assert former_entries([], RESULTS, Moderation(), "2027") == ()


def test_pages_say_why_and_escape_what_was_typed() -> None:
    gone = former_entries([BOB], RESULTS, RULED, "2026")
    pages = render(build_standings(challenge(POLE), [], RESULTS, official=True), replace(CONTEXT, former_entries=gone))

    assert "Withdrawn" in pages["agents/alice/angle-rule.md"]
    assert "Excluded" in pages["agents/Bob/copycat.md"]
    assert "<b>" not in pages["agents/Bob/copycat.md"].partition("copies")[2].partition("</p>")[0]
    assert "No longer ranked" in pages["index.md"]
    assert "withdrawn" in pages["index.md"]


def test_nothing_is_said_where_nobody_left() -> None:
    pages = render(build_standings(challenge(POLE), [ALICE], RESULTS, official=True), CONTEXT)

    assert "No longer ranked" not in pages["index.md"]


def test_a_tasks_page_lists_the_excluded_with_the_reason_and_a_link_but_no_place() -> None:
    board = samples.board(samples.task_board(POLE, excluded=(samples.excluded(ALICE),)))
    page = render(board, CONTEXT)["tasks/CartPole-v1.md"]

    assert "angle-rule alice 2026-05-01 host copies weights Discussion" in words(page)
    assert "issues&#47;1" in page
    assert "No agent is entered now." in words(page)
    assert "pr-place" not in page


def test_a_tasks_page_lists_the_withdrawn_with_the_last_score_and_the_date() -> None:
    left = (samples.withdrawn(ALICE, POLE), samples.withdrawn(BOB, POLE, None))
    page = words(render(samples.board(samples.task_board(POLE, withdrawn=left)), CONTEXT)["tasks/CartPole-v1.md"])

    assert "angle-rule alice 480.0 2026-01-01 ok" in page
    assert "copycat Bob – 2026-01-01 crashed" in page


def test_the_page_of_who_left_is_linked_where_there_is_one() -> None:
    gone = former_entries([BOB], RESULTS, RULED, "2026")
    board = build_standings(challenge(POLE), [BOB], RESULTS, official=True, moderation=RULED)
    linked = render(board, replace(CONTEXT, former_entries=gone))["tasks/CartPole-v1.md"]
    bare = render(board, CONTEXT)["tasks/CartPole-v1.md"]

    assert "agents&#47;alice&#47;angle&#45;rule" in linked
    assert "agents&#47;Bob&#47;copycat" in linked
    assert "agents&#47;" not in bare


def test_the_page_of_who_left_shows_what_was_recorded() -> None:
    gone = former_entries([BOB], [*RESULTS, result(ALICE, samples.CAR, ())], Moderation(), "2026")
    board = build_standings(challenge(POLE), [BOB], RESULTS, official=False)
    page = words(render(board, replace(CONTEXT, former_entries=gone))["agents/alice/angle-rule.md"])

    assert "CartPole-v1 9.50 ok 2026-01-01" in page
    assert "MountainCar-v0 – crashed 2026-01-01" in page
    assert "This is a local board." in page


def test_a_rehearsal_is_labelled_and_nothing_of_it_is_hidden() -> None:
    mark = {"login": "Alice", "agent": "angle-rule", "digest": ALICE.digest, "since": "2026-05-01"}
    moderation = Moderation.model_validate({"rehearsals": [mark]})
    (gone,) = former_entries([BOB], RESULTS, moderation, "2026")
    plain = former_entries([BOB], RESULTS, Moderation(), "2026")
    board = build_standings(challenge(POLE), [BOB], RESULTS, official=True, moderation=moderation)
    pages = render(board, replace(CONTEXT, former_entries=(gone,)))
    without = render(board, replace(CONTEXT, former_entries=plain))

    assert gone.is_rehearsal
    assert (gone.results, gone.exclusion) == (plain[0].results, None)
    assert "A rehearsal: the host entered it" in words(pages["agents/alice/angle-rule.md"])
    assert "A rehearsal" not in words(without["agents/alice/angle-rule.md"])
    assert "CartPole-v1 9.50 ok 2026-01-01" in words(pages["agents/alice/angle-rule.md"])
    assert "withdrawn, a rehearsal by the host" in words(pages["index.md"])
    assert "a rehearsal by the host" in words(pages["ledger.md"])


def test_a_version_that_is_no_rehearsal_keeps_the_whole_from_being_called_one() -> None:
    other = replace(ALICE, digest=samples.digest("real"))
    mark = {"login": "alice", "agent": "angle-rule", "digest": ALICE.digest, "since": "2026-05-01"}
    moderation = Moderation.model_validate({"rehearsals": [mark]})
    (gone,) = former_entries([BOB], [*RESULTS, result(other, POLE, (1.0, 2.0))], moderation, "2026")
    page = words(
        render(build_standings(challenge(POLE), [BOB], [], official=True), replace(CONTEXT, former_entries=(gone,)))[
            "agents/alice/angle-rule.md"
        ]
    )

    assert not gone.is_rehearsal
    assert "A rehearsal" not in page
    assert page.count(" rehearsal ") == 1


def test_a_mark_takes_nobody_off_the_board() -> None:
    mark = {"login": "alice", "agent": "angle-rule", "digest": ALICE.digest, "since": "2026-05-01"}
    moderation = Moderation.model_validate({"rehearsals": [mark]})
    plain, marked = (
        build_standings(challenge(POLE), [ALICE, BOB], RESULTS, official=True, moderation=one)
        for one in (Moderation(), moderation)
    )

    assert former_entries([ALICE, BOB], RESULTS, moderation, "2026") == ()
    assert [(row.entry.name, row.place) for row in marked.tasks[0].rows] == [
        (row.entry.name, row.place) for row in plain.tasks[0].rows
    ]
    assert len(marked.tasks[0].rows) == 2
