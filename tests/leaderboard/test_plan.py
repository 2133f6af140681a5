"""Planning is a difference of sets, and says why."""

import dataclasses

from evaluator.model.challenge import Challenge, Task
from evaluator.model.submission import Submission
from evaluator.model.verdict import Verdict
from leaderboard.plan import Item, Where, plan
from leaderboard.standings import Entry
from tests.leaderboard.recorded import recorded

CHALLENGE = Challenge(title="T", season="s", tasks=(Task(id="A"), Task(id="B")))
WHERE = Where(runtime_digest="0" * 64, beacon="preview")
ENTRY = Entry(login="alice", agent="x", submission=Submission(name="X", algorithm="y"), digest="1" * 64)


def reasons(items: list[Item]) -> list[tuple[str, str]]:
    return [(item.task_id, item.reason) for item in items]


def test_everything_is_wanted_where_nothing_is_recorded() -> None:
    assert reasons(plan(CHALLENGE, [ENTRY], [], WHERE)) == [("A", "new"), ("B", "new")]


def test_what_is_recorded_is_not_wanted_again() -> None:
    done = [recorded(CHALLENGE, ENTRY, "A", WHERE)]

    assert reasons(plan(CHALLENGE, [ENTRY], done, WHERE)) == [("B", "new")]


def test_a_failure_of_the_agent_is_a_record_and_one_of_ours_is_not() -> None:
    failed = recorded(CHALLENGE, ENTRY, "A", WHERE, Verdict.CRASHED)
    ours = recorded(CHALLENGE, ENTRY, "B", WHERE, Verdict.INTERNAL_ERROR)

    assert reasons(plan(CHALLENGE, [ENTRY], [failed, ours], WHERE)) == [("B", "new")]


def test_each_change_is_named() -> None:
    done = [recorded(CHALLENGE, ENTRY, task, WHERE) for task in ("A", "B")]
    edited = CHALLENGE.model_copy(update={"tasks": (Task(id="A", episodes=7), Task(id="B", description="other words"))})
    other = dataclasses.replace(ENTRY, digest="2" * 64)
    newer = Where(runtime_digest="3" * 64, beacon="preview")

    assert reasons(plan(edited, [ENTRY], done, WHERE)) == [("A", "the task's settings changed")]
    assert reasons(plan(CHALLENGE, [other], done, WHERE)) == [("A", "the agent changed"), ("B", "the agent changed")]
    assert reasons(plan(CHALLENGE, [ENTRY], done, newer)) == [("A", "the evaluator changed"), ("B", "the evaluator changed")]


def test_going_back_to_an_earlier_version_needs_no_run() -> None:
    other = dataclasses.replace(ENTRY, digest="2" * 64)
    done = [recorded(CHALLENGE, entry, task, WHERE) for entry in (ENTRY, other) for task in ("A", "B")]

    assert plan(CHALLENGE, [ENTRY], done, WHERE) == []


def test_a_task_that_is_not_entered_is_not_wanted() -> None:
    narrow = dataclasses.replace(ENTRY, submission=Submission(name="X", algorithm="y", tasks=("B",)))

    assert reasons(plan(CHALLENGE, [narrow], [], WHERE)) == [("B", "new")]
