"""The place that a preview would take is the place it takes."""

import dataclasses

import pytest

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.build_standings import RecordedLeaderboard, build_standings
from leaderboard.comments.comment_standings import official_report, official_state, preview_state
from leaderboard.comments.comment_states import CommentContext, RankReply
from leaderboard.comments.render_comment import render_comment
from leaderboard.core.entry import AgentName, Entry, Estimate
from leaderboard.core.standings import FinalDraws
from leaderboard.scoring import overall
from scripts.github.pull_request.label_and_status import StatusState, previewed_outcome
from tests.leaderboard.make import challenge, digest, entry, hypothetical_row, result, task

HEAD, EVALUATOR = "a" * 40, "b" * 40
ONE, TWO = task("one"), task("two")


def recorded(*pairs: tuple[Entry, Result | None], rules: Challenge | None = None) -> RecordedLeaderboard:
    entries = dict.fromkeys((who.login, who.agent) for who, _ in pairs)
    newest = {(who.login, who.agent): who for who, _ in pairs}
    return RecordedLeaderboard(
        challenge=rules or challenge(ONE),
        entries=tuple(newest[name] for name in entries),
        results=tuple(r for _, r in pairs if r),
    )


def spread(score: float) -> list[float]:
    return [score - 0.01, score + 0.01] * 20


def preview(*results: Result, skipped: tuple[str, ...] = ()) -> Preview:
    results_by_agent: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        results_by_agent.setdefault((one.login, one.agent), []).append(one)
    agents = tuple(
        PreviewedAgent(login=login, agent=agent, submission_digest=own[0].submission_digest, name="Name", results=tuple(own))
        for (login, agent), own in results_by_agent.items()
    )
    return Preview(schema=1, head_sha=HEAD, evaluator_sha=EVALUATOR, agents=agents, skipped=skipped)


def previewing(who: Entry, score: float, on: Task = ONE, **fields: object) -> Result:
    return result(who, spread(score), on=on, **{"class": "preview", **fields})


BOARD = recorded(*[(who, result(who, spread(score), on=ONE)) for who, score in
                   ((entry("ann"), 0.9), (entry("bob"), 0.6), (entry("cyd"), 0.3))])  # fmt: skip


def test_a_newcomer_gets_the_place_that_the_board_would_give() -> None:
    new = entry("zoe")
    played = previewing(new, 0.5)

    row = hypothetical_row(BOARD, played)

    official = played.model_copy(update={"tier": Tier.OFFICIAL})
    board = build_standings(BOARD.challenge, [*BOARD.entries, new], [*BOARD.results, official], official=True).tasks[0]
    expected = next(one for one in board.rows if one.entry.login == "zoe")
    assert row is not None
    assert (row.place, row.rank_low, row.rank_high, row.estimate) == (
        3,
        expected.rank_low,
        expected.rank_high,
        expected.estimate,
    )
    assert (row.entries, row.own_last, row.own_place) == (4, None, None)
    assert (row.leader_name, row.leader) == ("ann/agent", board.rows[0].estimate)


def test_a_newer_version_takes_the_place_of_the_older() -> None:
    row = hypothetical_row(BOARD, previewing(entry("BOB", version="2"), 0.95))

    assert row is not None
    assert (row.place, row.entries, row.own_place) == (1, 3, 2)
    assert row.own_last is not None
    assert round(row.own_last.score, 6) == 0.6
    assert row.leader_name == "ann/agent"


def test_earlier_versions_are_tries_of_the_next_one() -> None:
    first, second = (result(entry("bob", version=str(i)), spread(0.5), on=ONE, beacon=f"merge{i}") for i in (1, 2))
    board = recorded((entry("ann"), result(entry("ann"), spread(0.9), on=ONE)), (entry("bob", version="2"), second))
    board = dataclasses.replace(board, results=(*board.results, first))

    row = hypothetical_row(board, previewing(entry("bob", version="3"), 0.95))

    assert row is not None
    assert (row.place, row.tries) == (1, 3)


def test_once_submissions_have_ended_the_final_draws_alone_count_and_are_no_tries() -> None:
    who, other = entry("bob"), entry("ann")
    board = recorded(
        (who, result(who, spread(0.5), on=ONE, beacon="end")), (other, result(other, spread(0.4), on=ONE, beacon="end"))
    )
    board = dataclasses.replace(
        board, results=(*board.results, result(who, spread(0.9), on=ONE, beacon="old")), final=FinalDraws(beacon="end")
    )

    assert [(row.tries, round(row.estimate.score, 6)) for row in board.standings.tasks[0].rows] == [(1, 0.5), (1, 0.4)]


def ended(*others: Result) -> RecordedLeaderboard:
    """A board after the end: bob's two versions, and ann's, each with a final draw."""
    first, second, ann = entry("bob"), entry("bob", agent="second"), entry("ann")
    board = recorded(
        (first, result(first, spread(0.7), on=ONE, beacon="live")),
        (second, result(second, spread(0.6), on=ONE, beacon="live")),
        (ann, result(ann, spread(0.4), on=ONE, beacon="end")),
    )  # fmt: skip
    final = [result(who, spread(score), on=ONE, beacon="end") for who, score in ((first, 0.3), (second, 0.9))]
    return dataclasses.replace(board, results=(*board.results, *final, *others), final=FinalDraws(beacon="end"))


def test_a_comment_tells_which_version_of_an_owner_holds_its_place() -> None:
    second, first = (official_report(ended(), "bob", agent) for agent in ("second", "agent"))

    assert second is not None
    assert first is not None
    (row,), (own,) = second.rows, first.rows
    assert (row.place, row.rank_low, row.superseded_by, row.estimate and round(row.estimate.score, 6)) == (
        None, None, "bob/agent", 0.9,
    )  # fmt: skip
    assert (own.place, own.entries, own.superseded_by, own.leader_name) == (2, 2, None, "ann/agent")
    said = render_comment(RankReply(agents=(second,)), CommentContext(run_id=1, repository="https://github.com/a/b"))
    assert "one: no place. An owner holds one in the final ranks, and `bob/agent` had the best score" in said


def test_after_the_end_a_preview_takes_no_place_and_is_compared_with_the_final_draws() -> None:
    row = hypothetical_row(ended(), previewing(entry("zoe"), 0.8))

    assert row is not None
    assert (row.place, row.rank_low, row.tries, row.leader_name) == (None, None, 1, "bob/second")
    assert row.estimate is not None


@pytest.mark.parametrize("folder", ["agent", "renamed"])
def test_a_preview_of_a_version_with_a_failed_draw_says_that_it_has_no_score(folder: str) -> None:
    broken = result(entry("zoe"), on=ONE, beacon="first")
    again = result(entry("zoe"), spread(0.5), on=ONE, beacon="second", at="2026-05-01T00:00:00Z")
    board = dataclasses.replace(BOARD, results=(*BOARD.results, broken, again))
    played = previewing(entry("zoe"), 0.95).model_copy(update={"agent": folder})

    state = preview_state(preview(played), board, run_url=None)
    other = preview_state(preview(previewing(entry("zoe", version="2"), 0.95)), board, run_url=None)

    (row,), (fine,) = state.agents[0].rows, other.agents[0].rows
    assert (row.failed_before, row.place, row.rank_low, fine.failed_before, fine.place) == (
        Verdict.CRASHED, None, None, None, 1,
    )  # fmt: skip
    said = render_comment(state, CommentContext(run_id=1, repository="https://github.com/a/b"))
    assert "❌ No score on one" in said
    assert "An official evaluation of the same files ended as `crashed` before" in said
    assert previewed_outcome(state).status is StatusState.FAILURE
    assert previewed_outcome(other).status is StatusState.SUCCESS


def test_a_failure_of_ours_before_says_nothing_of_the_version() -> None:
    ours = result(entry("zoe"), on=ONE, beacon="first", verdict="internal_error")
    row = hypothetical_row(dataclasses.replace(BOARD, results=(*BOARD.results, ours)), previewing(entry("zoe"), 0.95))

    assert row is not None
    assert (row.failed_before, row.place) == (None, 1)


def test_the_same_version_is_measured_by_its_preview() -> None:
    row = hypothetical_row(BOARD, previewing(entry("bob"), 0.2, at="2025-01-01T00:00:00Z"))

    assert row is not None
    assert row.estimate is not None
    assert round(row.estimate.score, 6) == 0.2
    assert row.place == 3


def test_agents_of_one_pull_request_are_put_on_the_board_together() -> None:
    state = preview_state(
        preview(previewing(entry("zoe", agent="x"), 0.95), previewing(entry("zoe", agent="y"), 0.99)),
        BOARD,
        run_url="u",
        log="l",
    )

    assert [row.place for agent in state.agents for row in agent.rows] == [2, 1]
    assert [row.entries for agent in state.agents for row in agent.rows] == [5, 5]
    assert (state.head_sha, state.evaluator_sha, state.run_url, state.log) == (HEAD, EVALUATOR, "u", "l")


def test_a_failure_has_no_place_and_says_whether_a_retry_helps() -> None:
    late = result(entry("zoe"), on=ONE, **{"class": "preview", "verdict": "timeout"})

    row = hypothetical_row(BOARD, late)

    assert row is not None
    assert (row.estimate, row.place, row.result) == (None, None, late)


def test_an_empty_board_has_no_leader() -> None:
    row = hypothetical_row(recorded(), previewing(entry("zoe"), 0.5))

    assert row is not None
    assert (row.place, row.entries, row.leader, row.leader_name) == (1, 1, None, None)


def test_a_task_of_other_settings_is_left_out() -> None:
    assert hypothetical_row(BOARD, previewing(entry("zoe"), 0.5, on=task("one", episodes=7))) is None
    assert hypothetical_row(BOARD, previewing(entry("zoe"), 0.5, on=TWO)) is None


def test_what_the_process_sandbox_measured_is_taken_like_the_rest_and_never_stored() -> None:
    before = BOARD.results
    row = hypothetical_row(BOARD, previewing(entry("zoe"), 0.5, sandbox="process"))

    assert row is not None
    assert row.result.sandbox is SandboxKind.PROCESS
    assert row.result.tier is Tier.PREVIEW
    assert row.place == 3
    assert before == BOARD.results


@pytest.mark.parametrize(("skipped", "shown"), [((), True), (("a/b on c: later",), False)])
def test_the_overall_place_is_told_only_of_a_whole_preview(skipped: tuple[str, ...], shown: bool) -> None:
    rules = challenge(ONE, TWO)
    ann = entry("ann")
    board = recorded((ann, result(ann, spread(0.9), on=ONE)), rules=rules)
    zoe = entry("zoe")
    both = preview(previewing(zoe, 0.8), previewing(zoe, 0.8, on=TWO), skipped=skipped)

    overall = preview_state(both, board, run_url=None).agents[0].overall

    assert (overall is not None) == shown
    if overall:
        assert (overall.place, overall.entries) == (1, 2)


def test_a_comment_resamples_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    # It took two thirds of the time of a comment on a board of 1,500 agents, and no comment shows it.
    monkeypatch.setattr(overall, "stratified_iqm", lambda strata: pytest.fail(f"{len(strata)} entries were resampled"))
    rules, ann, zoe = challenge(ONE, TWO), entry("ann"), entry("zoe")
    board = recorded(*((ann, result(ann, spread(0.9), on=on)) for on in (ONE, TWO)), rules=rules)

    shown = preview_state(preview(previewing(zoe, 0.8), previewing(zoe, 0.8, on=TWO)), board, run_url=None).agents[0]
    official = official_state(board, [AgentName("ann", "agent")], HEAD)

    assert [one.overall.place if one.overall else None for one in (shown, official.agents[0])] == [2, 1]


def test_the_faults_of_a_manifest_pass_through() -> None:
    broken = Preview(
        schema=1,
        head_sha=HEAD,
        evaluator_sha=EVALUATOR,
        agents=(PreviewedAgent(login="zoe", agent="x", faults=("submission.yml:1: bad",)),),
    )

    agent = preview_state(broken, BOARD, run_url=None, removed=("zoe/y",)).agents[0]

    assert (agent.rows, agent.faults, agent.name) == ((), ("submission.yml:1: bad",), None)


def test_merged_agents_have_their_official_place_and_what_is_still_missing() -> None:
    rules = challenge(ONE, TWO)
    ann, older, bob = entry("ann"), entry("bob", version="1"), entry("bob", version="2")
    board = recorded(
        (ann, result(ann, spread(0.9), on=ONE)),
        (older, result(older, spread(0.2), on=ONE, at="2025-01-01T00:00:00Z")),
        (older, result(older, spread(0.1), on=ONE, at="2024-01-01T00:00:00Z")),
        (bob, result(bob, spread(0.5), on=ONE)),
        rules=rules,
    )
    board = dataclasses.replace(board, entries=(ann, bob))

    state = official_state(board, [("Bob", "agent"), ("gone", "agent")], HEAD, "u")

    assert state.pending == ("bob/agent on two",)
    (agent,) = state.agents
    (row,) = agent.rows
    assert (row.place, row.entries, row.leader_name) == (2, 2, "ann/agent")
    assert isinstance(row.own_last, Estimate)
    assert round(row.own_last.score, 6) == 0.2


def test_a_failed_official_result_is_shown_too() -> None:
    bob = entry("bob")

    shown = official_report(recorded((bob, result(bob, on=ONE))), "bob", "agent")

    assert shown is not None
    assert [row.result.verdict for row in shown.rows] == ["crashed"]
    assert shown.rows[0].estimate is None


def test_an_agent_that_is_not_on_main_has_no_standing() -> None:
    assert official_report(BOARD, "zoe", "agent") is None
    assert digest("x")
