"""Phases and people: what the plan leaves out, and what an edit of the rules makes to be run again."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.people import Ban, CustomField, People
from evaluator.model.config.phase import Phase
from evaluator.model.config.submission import Submission
from leaderboard.core.owners import participant_faults, team_conflicts
from leaderboard.planning.admission_rules import AdmissionContext, admit_work
from leaderboard.planning.missing_work import MeasurementContext
from leaderboard.planning.refusal_reasons import reason_in_words
from tests.leaderboard.make import challenge, digest, entry, result, task

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHERE = MeasurementContext(runtime_digest=digest("runtime"), beacon="test")
A, B = task("a"), task("b")
RULES = challenge(A, B)


def season(**fields):
    return RULES.model_copy(update=fields)


def phase(**fields):
    return Phase(**{"id": "one", "name": "One", "tasks": ("b",), **fields})


def planned(rules, entries, *, results=(), arrived=AT, members=None, now=AT):
    gate = AdmissionContext(
        now=now, arrived={e.name: arrived for e in entries}, members=members if members is not None else {}
    )
    admission = admit_work(rules, entries, results, [], WHERE, gate)
    return [item.task_id for item in admission.items], [reason_in_words(one.reason) for one in admission.deferred]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"start": "2026-03-01T14:00:00+01:00"}, "too early: phase 'one' begins 2026-03-01 13:00 UTC"),
        ({"end": "2026-03-01T12:00:00Z"}, "too late: phase 'one' ended 2026-03-01 12:00 UTC"),
        ({"active": False}, "closed: the hosts closed phase 'one'"),
        ({"allow": ("bob",)}, "not allowed: phase 'one' is for those on its list, and ann is none of them"),
        ({"teams": ("lab/rl",)}, "not allowed: phase 'one' is for the members of lab/rl"),
    ],
)
def test_a_version_outside_a_phase_is_left_out_of_its_tasks_only(fields: dict[str, object], words: str) -> None:
    tasks, reasons = planned(season(phases=(phase(**fields),)), [entry("ann")])

    assert tasks == ["a"]
    assert len(reasons) == 1
    assert reasons[0].startswith(words)


@pytest.mark.parametrize(
    "fields",
    [
        {"start": "2026-03-01T12:00:00Z"},
        {"end": "2026-03-01T12:00:01Z"},
        {"allow": ("ANN",)},
        {"teams": ("lab",)},
        {"allow": ("bob",), "teams": ("lab",)},
    ],
)
def test_a_version_inside_is_planned(fields: dict[str, object]) -> None:
    assert planned(season(phases=(phase(**fields),)), [entry("ann")], members={"lab": frozenset(["ann"])}) == (
        ["a", "b"],
        [],
    )


def test_what_came_in_time_is_evaluated_after_the_end_too() -> None:
    rules = season(phases=(phase(end="2026-03-01T13:00:00Z"),))

    assert planned(rules, [entry("ann")], now=datetime(2026, 4, 1, tzinfo=UTC))[0] == ["a", "b"]


def test_what_is_recorded_is_not_spoken_of_again() -> None:
    ann = entry("ann")
    done = [result(ann, [1.0], on=one, key=wanted(one, ann)) for one in (A, B)]

    assert planned(season(phases=(phase(end="2026-01-01T00:00:00Z"),)), [ann], results=done) == ([], [])


def wanted(one, of):
    gate = AdmissionContext(now=AT)
    return next(i.wanted.key() for i in admit_work(RULES, [of], [], [], WHERE, gate).items if i.task_id == one.id)


PEOPLE = People(
    ban=(Ban(login="Eve", why="ran a miner"),), team_size=2, one_team_each=True, terms="site/pages/terms.md",
    fields=(
        CustomField(name="Affiliation", required=True),
        CustomField(name="Student", kind="boolean"),
        CustomField(name="Track", kind="choice", options=("open", "closed")),
    ),
)  # fmt: skip
GOOD = {"terms": True, "meta": {"Affiliation": "Lab", "Student": False, "Track": "open"}, "authors": ("@bob",)}


@pytest.mark.parametrize(
    ("login", "fields", "key_path", "words"),
    [
        ("eve", {}, (), "eve may not take part: ran a miner"),
        ("ann", {"authors": ("@EVE",)}, ("authors", 0), "Eve may not take part"),
        ("ann", {"authors": ("@bob", "@cy")}, ("authors",), "3 people, with ann; a team has 2 at most"),
        ("ann", {"authors": ("Bob B.",)}, ("authors", 0), "is no login"),
        ("ann", {"terms": None}, ("terms",), "write 'terms: true'"),
        ("ann", {"terms": False}, ("terms",), "write 'terms: true'"),
        ("ann", {"meta": {}}, ("meta", "Affiliation"), "lacks an answer to 'Affiliation'"),
        ("ann", {"meta": {"Affiliation": True}}, ("meta", "Affiliation"), "in words"),
        ("ann", {"meta": {"Affiliation": "x", "Student": "yes"}}, ("meta", "Student"), "true or false"),
        ("ann", {"meta": {"Affiliation": "x", "Track": "other"}}, ("meta", "Track"), "one of open, closed"),
    ],
)
def test_people_that_are_not_taken(login: str, fields: dict[str, object], key_path: tuple[object, ...], words: str) -> None:
    submission = Submission(**{"name": "x", "algorithm": "x", **GOOD, **fields})

    faults = list(participant_faults(PEOPLE, login, submission))

    assert [fault.key_path for fault in faults] == [key_path]
    assert words in reason_in_words(faults[0])


def test_people_that_are_taken_and_those_that_are_not_reach_the_plan() -> None:
    rules = season(people=PEOPLE)
    good = replace(entry("ann"), submission=Submission(name="x", algorithm="x", **GOOD))

    assert planned(rules, [good]) == (["a", "b"], [])
    tasks, reasons = planned(rules, [entry("ann")])
    assert tasks == []
    assert "the terms are not accepted" in reasons[0]
    assert planned(season(people=PEOPLE.model_copy(update={"hosts": ("ann",)})), [entry("ann")])[0] == ["a", "b"]


@pytest.mark.attack(
    "team_theft", family="people", outcome="binds nobody",
    tries="Names a strong competitor as an author, to bar or bind them.",
)  # fmt: skip
def test_each_may_be_in_one_team_and_nobody_can_be_claimed_against_his_will() -> None:
    def by(login, *authors):
        return replace(entry(login), submission=Submission(name="x", algorithm="x", authors=authors))

    soon, late = {("ann", "agent"): AT}, datetime(2026, 3, 2, tzinfo=UTC)
    assert list(team_conflicts([by("ann", "@cy"), by("bob", "@cy")], soon, late)) == [("bob", "agent")]
    assert list(team_conflicts([by("ann", "@bob"), by("bob")], soon, late)) == [("ann", "agent")]
    assert team_conflicts([by("ann", "@bob"), by("bob", "@ann")], soon, late) == {}
    named = {("bob", "cy"): datetime(2026, 2, 1, tzinfo=UTC), ("ann", "cy"): AT}
    assert list(team_conflicts([by("ann", "@cy"), by("bob", "@cy")], soon, late, named)) == [("ann", "agent")]


EDITS = {
    "limits": {"limits": RULES.limits.model_copy(update={"cpu_seconds": 9})},
    "words": {"title": "Another", "description": "More words"},
    "dates": {"phases": (phase(start="2026-02-01T00:00:00Z", end="2026-12-01T00:00:00Z"),)},
    "people": {"people": People(team_size=5)},
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_limits_dates_words_or_people_runs_nothing_again(edit: str) -> None:
    ann = entry("ann")
    done = [result(ann, [1.0], on=one, key=wanted(one, ann)) for one in (A, B)]

    assert planned(season(**EDITS[edit]), [ann], results=done) == ([], [])


def test_an_added_task_runs_alone_and_a_changed_one_alone() -> None:
    ann = entry("ann")
    done = [result(ann, [1.0], on=one, key=wanted(one, ann)) for one in (A, B)]
    more = challenge(A, B, task("c"))
    other = challenge(A, task("b", episodes=7))

    gate = AdmissionContext(now=AT)
    assert [(i.task_id, i.reason) for i in admit_work(more, [ann], done, [], WHERE, gate).items] == [("c", "new")]
    assert [(i.task_id, i.reason) for i in admit_work(other, [ann], done, [], WHERE, gate).items] == [
        ("b", "the task's settings changed")
    ]


HEAD = b"""title: T
season: "1"
tasks: [{id: a}, {id: b}]
phases:
"""


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            b"  - id: one\n    name: One\n    start: 2026-03-02T00:00:00Z\n    end: 2026-03-01T00:00:00Z\n    tasks: [a]\n",
            "challenge.yml:8: phase 'one' ends (2026-03-01T00:00:00+00:00) before it starts",
        ),
        (
            b"  - id: one\n    name: One\n    tasks: [a]\n  - id: two\n    name: Two\n    tasks:\n    - b\n    - a\n",
            "challenge.yml:12: the task 'a' is in the phases 'one' and 'two'",
        ),
        (b"  - id: one\n    name: One\n    tasks: [c]\n", "challenge.yml:7: phase 'one' names the task 'c'"),
        (
            b"  - id: one\n    name: One\n    tasks: [a]\n  - id: one\n    name: Two\n    tasks: [b]\n",
            "challenge.yml:8: the phase id 'one' stands twice",
        ),
        (b"  - {id: one, name: One, start: '2026-03-02 10:00', tasks: [a]}\n", "challenge.yml:5: "),
        (
            b"  - {id: one, name: One, end: '9999-12-31T23:59:59-05:00', tasks: [a]}\n",
            "challenge.yml:5: 'phases.0.end' is beyond the year 9999 in UTC",
        ),
    ],
)
def test_contradictions_are_told_with_their_line(lines: bytes, words: str) -> None:
    with pytest.raises(LoadError) as refused:
        parse_challenge(HEAD + lines)

    assert refused.value.lines[0].startswith(words)
    assert len(refused.value.lines) == 1
