"""The bytes are the agent: another folder is neither another version nor another draw."""

from dataclasses import replace

import pytest

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import Submission
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Entry
from leaderboard.core.owners import person_index
from leaderboard.core.version_folders import version_folders, without_duplicates
from tests.leaderboard import make

TASK = make.task()
ALICE, BOB = make.entry("alice", agent="ppo"), make.entry("bob")
MOVED = replace(ALICE, agent="ppo2")
EARLY, LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


def board(entries: list[Entry], results: list) -> list[tuple[str, float, int]]:
    """Name, score and number of versions tried of each row."""
    rows = build_standings(make.challenge(TASK), entries, results, official=True).tasks[0].rows
    return [(row.entry.shown, row.estimate.score, row.versions_tried) for row in rows]


def test_a_folder_that_was_renamed_keeps_its_result() -> None:
    assert board([MOVED], [make.result(ALICE, [3.0])]) == [("alice/ppo2", 3.0, 1)]


def test_the_better_of_two_draws_cannot_be_chosen_by_a_folders_name() -> None:
    """Two results of one version, made in two folders: wherever it stands, the same one counts."""
    lucky, newer = make.result(ALICE, [9.0], at=EARLY), make.result(MOVED, [1.0], at=LATE)

    assert board([ALICE], [lucky, newer]) == [("alice/ppo", 1.0, 1)]
    assert board([MOVED], [lucky, newer]) == [("alice/ppo2", 1.0, 1)]


def test_another_owner_takes_nothing_over() -> None:
    copied = replace(ALICE, login="bob")

    assert board([copied], [make.result(ALICE, [3.0])]) == []


def test_one_version_stands_in_one_folder_of_its_login() -> None:
    duplicate = replace(ALICE, login="Alice", agent="a-first")
    other = replace(ALICE, login="bob")
    kept, duplicates = without_duplicates([ALICE, other, duplicate, BOB])

    assert (kept, duplicates) == ([other, duplicate, BOB], [(ALICE, duplicate)])
    assert version_folders([ALICE, other, duplicate]).of(make.result(ALICE, [1.0])) == ("alice", "a-first")


def test_examples_may_be_alike() -> None:
    examples = [make.entry("local", agent="a"), replace(make.entry("local", agent="a"), agent="b")]

    assert without_duplicates(examples) == (examples, [])
    assert version_folders(examples).of(make.result(examples[0], [1.0])) == ("local", "a")


def test_attempts_follow_the_account_and_not_the_folder() -> None:
    others = [make.entry("alice", agent=name, version=name) for name in ("x", "y")]
    results = [make.result(ALICE, [3.0], login_id=7), *(make.result(one, [1.0], login_id=7) for one in others)]
    renamed = make.entry("alicia", agent="z")

    assert board([ALICE], results) == [("alice/ppo", 3.0, 3)]
    assert board([MOVED], results) == [("alice/ppo2", 3.0, 3)]
    assert board([renamed], [*results, make.result(renamed, [2.0], login_id=7)]) == [("alicia/z", 2.0, 4)]
    assert board([renamed], [*results, make.result(renamed, [2.0], login_id=8)]) == [("alicia/z", 2.0, 1)]


def test_attempts_of_a_team_are_counted_together_and_nobody_is_dragged_in() -> None:
    def naming(entry: Entry, *authors: str) -> Entry:
        return replace(entry, submission=Submission(name="x", algorithm="x", authors=authors))

    results = [make.result(ALICE, [3.0]), make.result(BOB, [1.0])]

    both = [naming(ALICE, "@bob"), naming(BOB, "@alice")]
    assert [row[2] for row in board(both, results)] == [2, 2]
    assert [row[2] for row in board([naming(ALICE, "@bob"), BOB], results)] == [1, 1]


@pytest.mark.parametrize("baseline", [True, False])
def test_examples_and_baselines_are_counted_by_folder(baseline: bool) -> None:
    login = "host" if baseline else "local"
    one, other = (replace(make.entry(login, agent=name), baseline=True) for name in ("a", "b"))

    assert [row[2] for row in board([one, other], [make.result(one, [1.0]), make.result(other, [2.0])])] == [1, 1]


def test_the_newest_record_says_whose_a_login_is() -> None:
    known = person_index([make.result(ALICE, [1.0], at=LATE, login_id=8), make.result(ALICE, [1.0], at=EARLY, login_id=7)])

    assert (known.person_of("ALICE"), known.person_of("bob")) == ("#8", "bob")
    assert known.person_of_side(make.result(ALICE, [1.0], login_id=7)) == "#7"


def test_the_whole_challenge_agrees_whatever_the_order() -> None:
    rules: Challenge = make.challenge(TASK)
    results = [make.result(ALICE, [9.0], at=EARLY), make.result(MOVED, [1.0], at=LATE), make.result(BOB, [2.0])]

    assert build_standings(rules, [MOVED, BOB], results, official=True) == build_standings(
        rules, [BOB, MOVED], results[::-1], official=True
    )
