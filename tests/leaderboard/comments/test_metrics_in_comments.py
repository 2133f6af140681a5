"""What a comment says where a task has metrics of its own."""

import dataclasses

from evaluator.model.config.metric import Metric
from evaluator.model.config.submission import SubmissionKind
from evaluator.model.config.training_script import ScriptRules
from leaderboard.build_standings import RecordedLeaderboard
from leaderboard.comments import phrases as words
from leaderboard.comments.comment_standings import official_state
from leaderboard.comments.comment_states import CommentContext
from leaderboard.comments.render_comment import render_comment
from tests.leaderboard.make import challenge, entry, hypothetical_row, result, task

OWN = "module:function"
COST = Metric(name="Cost", kind="mean_return", direction="lower", decimals=2)
HOSTILE = Metric(name="`@x` <b>", kind=OWN, direction="higher")
TASK = task("one", anchors=None, metrics=(COST, HOSTILE))
ANN, BOB = entry("ann"), entry("bob")


def board(on=TASK, **fields):
    results = (result(ANN, [5.0] * 4, on=on, **fields), result(BOB, [9.0] * 4, on=on, **fields))
    return RecordedLeaderboard(challenge=challenge(on), entries=(ANN, BOB), results=results)


def test_a_lower_cost_leads() -> None:
    better = hypothetical_row(board(), result(entry("zoe"), [1.0] * 4, on=TASK))
    worse = hypothetical_row(board(), result(entry("zoe"), [7.0] * 4, on=TASK))

    assert (better.place, worse.place) == (1, 2)
    assert "**leads**" in words.to_leader(better)
    assert "−4.00" in words.to_leader(better)
    assert "leads" not in words.to_leader(worse)
    assert "next" in words.score_chart(better)
    assert "leader" in words.score_chart(worse)


def test_every_metric_is_said_with_its_direction_and_harmlessly() -> None:
    state = official_state(board(metrics={OWN: 2.5}), [("ann", "agent")], "a" * 40)
    text = render_comment(state, CommentContext(run_id=1, repository="https://github.com/example/board"))

    assert "- one: Cost **5.00** (lower is better), " in text
    assert "**2.5** (higher is better)" in text
    assert "<b>" not in text.replace("`` `@x` <b> ``", "")


def test_without_a_value_there_is_no_place_and_no_number() -> None:
    own = task("two", anchors=None, metrics=(HOSTILE,))
    row = hypothetical_row(board(own, metrics={OWN: 2.5}), result(entry("zoe"), [1.0] * 4, on=own))

    assert (row.place, row.rank_low) == (None, None)
    assert (words.score(row), words.interval(row), words.place(row)) == ("–", "–", "–")
    assert words.to_leader(row) == "no value, so it ranks last"
    assert "nan" not in words.score_chart(row)


def test_a_task_without_metrics_says_nothing_more() -> None:
    plain = task("one")
    row = hypothetical_row(board(plain), result(entry("zoe"), [1.0] * 4, on=plain))

    assert words.metrics_line(row) == ""


def test_a_script_on_a_board_of_learning_curves_gets_its_place() -> None:
    steps = Metric(name="Steps", kind="steps_to_threshold", direction="lower", threshold=5)
    on = task("one", anchors=None, metrics=(steps,), script=ScriptRules(steps=100, last=2, worst=0, window=2))

    def played(who, length):
        return result(who, [9.0, 9.0], on=on, script={"returns": [9.0, 9.0], "lengths": [length] * 2})

    ann = dataclasses.replace(ANN, submission=ANN.submission.model_copy(update={"kind": SubmissionKind.SCRIPT}))
    row = hypothetical_row(
        RecordedLeaderboard(challenge=challenge(on), entries=(ann,), results=(played(ann, 20),)), played(entry("zoe"), 10)
    )

    assert (row.place, row.entries, row.estimate.score) == (1, 2, 20)
