"""The ledger names who left and why, and what was scored again."""

import dataclasses

import pytest

from evaluator.model.config.moderation import VerifiedEntry
from leaderboard.pages.ledger import LISTED_CHANGES, build_ledger, rescore_reason, rescores
from leaderboard.site_context import FormerEntry
from tests.leaderboard.pages import game_samples, samples

WHO = samples.entry()


def measured(score: float | None, day: str, who=WHO, **fields):
    """A result of one episode, or a crash; another runtime than usual where none is named."""
    seen = {"commit": None, "run_url": None, "evaluated_at": f"2026-{day}T00:00:00Z"}
    key = samples.digest(f"{who.digest} {day} {fields.get('runtime_digest')}")
    plain = {"key": key, "provenance": seen, "runtime_digest": samples.digest(day), **fields}
    return samples.result(who, samples.POLE, () if score is None else (score,), **plain)


def one_board(*rows, **gone):
    return samples.board(samples.task_board(samples.POLE, rows, **gone))


def test_nothing_happened():
    log = build_ledger(samples.empty(), samples.CONTEXT)

    assert (log.exclusions, log.withdrawals, log.verified, log.rescores) == ((), (), (), ())


def test_an_exclusion_is_named_once_whatever_the_number_of_boards():
    out = samples.excluded(WHO)
    other = samples.excluded(samples.entry("late", "zoe"), since="2026-06-01")
    board = samples.board(
        samples.task_board(samples.POLE, excluded=(out, other)), samples.task_board(samples.CAR, excluded=(out,))
    )
    gone = FormerEntry(login="alice", agent="angle-rule", exclusion=out.exclusion, results=())
    log = build_ledger(board, dataclasses.replace(samples.CONTEXT, former_entries=(gone,)))

    assert [(one.login, one.agent, one.exclusion.since) for one in log.exclusions] == [
        ("zoe", "late", "2026-06-01"), ("alice", "angle-rule", "2026-05-01"),
    ]  # fmt: skip


def test_a_player_is_excluded_from_games_too():
    out = samples.excluded(WHO)
    left = game_samples.board(game_samples.CONNECT_FOUR, [], excluded=(out,))

    assert [one.login for one in build_ledger(game_samples.of(left), samples.CONTEXT).exclusions] == ["alice"]


def test_a_withdrawal_names_its_tasks_and_when_it_was_measured_last():
    gone = FormerEntry(login="alice", agent="angle-rule", exclusion=None, results=(measured(None, "02-01"),))
    board = one_board(withdrawn=(samples.withdrawn(WHO, samples.POLE),))
    (withdrawal,) = build_ledger(board, dataclasses.replace(samples.CONTEXT, former_entries=(gone,))).withdrawals

    assert (withdrawal.login, withdrawal.tasks, withdrawal.measured_at) == (
        "alice",
        ("CartPole-v1",),
        "2026-02-01T00:00:00Z",
    )


def test_whom_the_hosts_vouch_for_is_named_once():
    verified = VerifiedEntry(login="alice", since="2026-05-01", who="host", why="read the code")
    who = dataclasses.replace(WHO, verified=verified)
    board = samples.board(
        samples.task_board(samples.POLE, [samples.row(who, samples.POLE, 1, 1.0)]),
        samples.task_board(samples.CAR, [], [samples.failure(who, samples.CAR)]),
    )

    assert build_ledger(board, samples.CONTEXT).verified == ((who, verified),)


def test_a_version_measured_again_is_told_with_both_scores():
    (rescore,) = rescores(one_board(), [measured(5.0, "02-01"), measured(3.0, "03-01")])

    assert (rescore.day, rescore.task, rescore.why) == ("2026-03-01", samples.POLE, "the evaluator changed")
    assert (rescore.count, rescore.changed) == (1, 1)
    assert [(one.login, one.before, one.after) for one in rescore.named] == [("alice", 5.0, 3.0)]


def test_what_came_out_the_same_is_counted_and_not_named():
    (rescore,) = rescores(one_board(), [measured(5.0, "02-01"), measured(5.0, "03-01")])

    assert (rescore.count, rescore.changed, rescore.named) == (1, 0, ())


def test_a_score_that_became_a_failure_comes_first():
    others = [samples.entry(f"agent-{i}", "bob") for i in range(LISTED_CHANGES + 3)]
    results = [measured(float(i), "02-01", who) for i, who in enumerate(others)]
    results += [measured(100.0 + 3 * i, "03-01", who) for i, who in enumerate(others)]
    results += [measured(9.0, "02-01"), measured(None, "03-01")]
    (rescore,) = rescores(one_board(), results)

    assert (rescore.count, rescore.changed, len(rescore.named)) == (LISTED_CHANGES + 4, LISTED_CHANGES + 4, LISTED_CHANGES)
    assert (rescore.named[0].login, rescore.named[0].before, rescore.named[0].after) == ("alice", 9.0, None)
    assert rescore.named[1].agent == f"agent-{LISTED_CHANGES + 2}"


def test_what_is_no_measurement_is_no_rescore():
    ours = measured(None, "02-01", verdict="internal_error")
    preview = measured(1.0, "02-02", **{"class": "preview"})
    elsewhere = samples.result(WHO, samples.CAR, (1.0,))

    assert rescores(one_board(), [ours, preview, elsewhere, measured(3.0, "03-01")]) == []


def test_the_same_key_twice_is_one_measurement():
    same = {"key": samples.digest("same")}

    assert rescores(one_board(), [measured(3.0, "03-01", **same), measured(3.0, "03-02", **same)]) == []


def test_a_local_board_counts_what_it_ranks():
    local = dataclasses.replace(one_board(), official=False)
    results = [measured(1.0, "02-01", **{"class": "local"}), measured(2.0, "03-01", **{"class": "local"})]

    assert len(rescores(local, results)) == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "measured again"),
        ({"season": "2027"}, "another season"),
        ({"beacon": "c" * 40}, "the seeds come from another commit"),
        ({"task_digest": "0" * 64, "runtime_digest": "0" * 64}, "the task’s settings changed, the evaluator changed"),
    ],
)
def test_a_reason_names_all_that_changed(changed, words):
    before = samples.result(WHO, samples.POLE, (1.0,))

    assert rescore_reason(before, before.model_copy(update=changed)) == words
