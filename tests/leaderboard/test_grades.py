"""The gradebook: who handed in what, and when."""

import csv
import io
from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import Phase
from evaluator.model.records.result import Result
from leaderboard.core.entry import Entry
from leaderboard.grades import grade_rows, handed_in
from leaderboard.text.serialise import csv_text
from tests.leaderboard.pages import samples

HOMEWORK = Phase(id="hw1", name="HW 1", end="2026-02-01T00:00:00Z", tasks=("CartPole-v1",))
COURSE = samples.challenge(samples.POLE, samples.CAR, phases=(HOMEWORK,), people={"fields": [{"name": "student"}]})
BEFORE, AFTER = datetime(2026, 1, 31, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)


def version(login: str, number: int, **fields: Any) -> Entry:
    return samples.entry(f"net-{number}", login, **fields)


def table(challenge: Challenge, handed: list[tuple[Entry, Any, float | None, datetime]]) -> list[dict[str, Any]]:
    results, arrivals = [], {}
    for entry, task, score, at in handed:
        results.append(samples.result(entry, task, () if score is None else (score,) * 10))
        arrivals[entry.login.casefold(), entry.digest, task.id] = at
    head, *rows = grade_rows(challenge, [entry for entry, *_ in handed], handed_in(challenge, results, arrivals))
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def test_the_best_before_the_deadline_counts_and_late_is_marked() -> None:
    ada = [
        (version("ada", n), samples.POLE, score, at) for n, score, at in ((1, 50, BEFORE), (2, 90, BEFORE), (3, 400, AFTER))
    ]
    bob = [(version("bob", 1), samples.POLE, 70, AFTER), (version("bob", 2), samples.CAR, -120, AFTER)]
    [first, second] = table(COURSE, [*ada, *bob])

    assert (first["people"], first["CartPole-v1"], first["CartPole-v1 state"]) == ("ada", 90, "ok")
    assert (first["CartPole-v1 agent"], first["CartPole-v1 late"]) == ("ada/net-2", 400)
    assert (first["MountainCar-v0"], first["MountainCar-v0 state"]) == ("", "missing")
    assert (second["CartPole-v1"], second["CartPole-v1 state"], second["CartPole-v1 late"]) == ("", "late", 70)
    assert (second["MountainCar-v0"], second["MountainCar-v0 state"]) == (-120, "ok")


def test_a_team_has_one_row_and_answers_stand_in_it() -> None:
    ada = version("Ada", 1, authors=("@bob",), meta={"student": "11"})
    bob = version("bob", 1, authors=("@ada",), meta={"student": "22"})
    [row] = table(COURSE, [(ada, samples.POLE, 10, BEFORE), (bob, samples.POLE, 20, BEFORE)])

    assert (row["people"], row["student"], row["CartPole-v1 agent"]) == ("ada bob", "11 / 22", "bob/net-1")


def test_a_crash_is_no_zero() -> None:
    [row] = table(COURSE, [(version("ada", 1), samples.POLE, None, BEFORE)])

    assert (row["CartPole-v1"], row["CartPole-v1 state"]) == ("", "crashed")


@pytest.mark.attack(
    "formula_in_a_gradebook", family="people", outcome="text, with an apostrophe before it",
    tries="Answers a course's question with a formula that a spreadsheet runs.",
)  # fmt: skip
@pytest.mark.parametrize("answer", ["=1+1", "+cmd|'/c calc'!A0", "-2+3", "@SUM(A1)", "＝1+1", '=HYPERLINK("https://x")'])
def test_an_answer_is_never_a_formula(answer: str) -> None:
    entry = version("mallory", 1, meta={"student": answer})
    rows = grade_rows(COURSE, [entry], [])
    [_, row] = csv.reader(io.StringIO(csv_text(rows).decode(), newline=""))

    assert row[1] == f"'{answer}"
    assert [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []


@pytest.mark.attack(
    "formula_as_a_column_of_a_gradebook", family="people", outcome="text, with an apostrophe before it",
    tries="A formula in the answers of one half of a team, so that it begins the joined cell.",
)  # fmt: skip
def test_joined_answers_are_no_formula() -> None:
    ada = version("ada", 1, authors=("@bob",), meta={"student": "=A1"})
    bob = version("bob", 1, authors=("@ada",), meta={"student": "7"})
    text = csv_text(grade_rows(COURSE, [ada, bob], [])).decode()

    assert ",'=A1 / 7," in text


@pytest.mark.attack(
    "row_break_in_a_gradebook", family="people", outcome="one row, the characters shown",
    tries="Puts a line break, quotes and commas into an answer, to write a row of another student.",
)  # fmt: skip
def test_an_answer_writes_no_second_row() -> None:
    entry = version("mallory", 1, meta={"student": 'x"\r\nada,100,ok\r\n"'})
    rows = list(csv.reader(io.StringIO(csv_text(grade_rows(COURSE, [entry], [])).decode(), newline="")))

    assert [row[0] for row in rows] == ["people", "mallory"]


@pytest.mark.attack(
    "team_by_naming_a_student", family="people", outcome="two rows: both must name each other",
    tries="Names a better student as author, to share that student's grade.",
)  # fmt: skip
def test_naming_somebody_makes_no_team() -> None:
    mallory = version("mallory", 1, authors=("@ada",))
    rows = table(COURSE, [(version("ada", 1), samples.POLE, 400, BEFORE), (mallory, samples.POLE, 10, BEFORE)])

    assert [(row["people"], row["CartPole-v1"]) for row in rows] == [("ada", 400), ("mallory", 10)]


@pytest.mark.attack(
    "deadline_by_an_own_date", family="people", outcome="late: the merge into main counts",
    tries="Was measured again before the deadline's record, though it came to main after it.",
)  # fmt: skip
def test_the_arrival_on_main_counts_and_not_the_evaluation() -> None:
    entry = version("mallory", 1)
    early = samples.result(entry, samples.POLE, (400.0,) * 10)
    assert early.provenance.evaluated_at < "2026-02"
    [_, row] = grade_rows(COURSE, [entry], handed_in(COURSE, [early], {("mallory", entry.digest, "CartPole-v1"): AFTER}))

    assert (row[2:4], row[6]) == (["", "late"], 400)


@pytest.mark.attack(
    "grade_of_the_luckiest_return", family="people", outcome="the mean over all draws; none if one failed",
    tries="Takes a version off main and brings it back, also after the deadline, until its newest draw is a lucky one.",
)  # fmt: skip
def test_returning_until_a_draw_is_lucky_gives_no_grade() -> None:
    entry = version("mallory", 1)

    def drawn(number: int, returns: tuple[float, ...]) -> Result:
        result = samples.result(entry, samples.POLE, returns)
        at = result.provenance.model_copy(update={"evaluated_at": f"2026-01-1{number}T00:00:00Z"})
        return result.model_copy(update={"beacon": f"{number}" * 40, "provenance": at})

    def grade(*draws: Result) -> list[object]:
        arrivals = {("mallory", entry.digest, "CartPole-v1"): BEFORE}
        [_, row] = grade_rows(COURSE, [entry], handed_in(COURSE, draws, arrivals))
        return row[2:4]

    assert grade(drawn(1, (100.0,) * 10), drawn(2, (400.0,) * 10)) == [250, "ok"]
    assert grade(drawn(1, ()), drawn(2, (400.0,) * 10)) == ["", "crashed"]


@pytest.mark.attack(
    "grade_by_final_draws_beyond_the_quota", family="people", outcome="the version that the quota let in is graded",
    tries="Leaves nineteen copies beside the one that its quota allows, which are drawn in the end without a charge.",
)  # fmt: skip
@pytest.mark.parametrize(("evaluated", "graded"), [(1, 55), (0, 60)])
def test_versions_that_only_the_final_draw_evaluated_give_no_choice_of_grades(evaluated: int, graded: float) -> None:
    """The final draw waits for no quota, so the best of those versions would be the luckiest of any number."""
    copies = [version("ada", number) for number in range(20)]
    arrivals = {("ada", entry.digest, "CartPole-v1"): BEFORE for entry in copies}
    results = [
        *(samples.result(e, samples.POLE, (60.0 + number,) * 10, beacon="f" * 40) for number, e in enumerate(copies)),
        *(samples.result(e, samples.POLE, (50.0,) * 10, beacon="a" * 40, key="1" * 64) for e in copies[:evaluated]),
    ]

    head, row = grade_rows(COURSE, copies, handed_in(COURSE, results, arrivals, final_beacon="f" * 40))

    assert dict(zip(map(str, head), row, strict=True))["CartPole-v1"] == graded
