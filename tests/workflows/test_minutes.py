"""What a quiet month costs a private board, whose machines are billed by the minute that each job begins."""

import calendar
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.engine import Expressions
from tests.workflows.files import NAMES, ROOT, WORKFLOWS, jobs, workflow

# GitHub gives a private repository 2,000 minutes a month in the Free plan; most of them are for playing.
MOST = 750
# What plan hands on in a quiet hour, should a schedule ever begin with it.
QUIET = {"here": "true", "count": "0", "unasked": "0", "site": "false", "announce": "false", "shards": "[]"}


def strikes(cron: str, year: int, month: int) -> int:
    """How often a schedule strikes in a month."""
    begin = datetime(year, month, 1, tzinfo=UTC)
    moments = (begin + timedelta(minutes=i) for i in range(calendar.monthrange(year, month)[1] * 24 * 60))
    return sum(is_struck(cron, moment) for moment in moments)


def is_struck(cron: str, moment: datetime) -> bool:
    """Whether a schedule strikes at a minute; of two restricted days either is enough, as in any cron."""
    minute, hour, day, month, weekday = cron.split()
    days = [_fits(day, moment.day, 1), _fits(weekday, moment.isoweekday() % 7, 0)]
    is_day = any(days) if "*" not in (day, weekday) else all(days)
    return _fits(minute, moment.minute, 0) and _fits(hour, moment.hour, 0) and _fits(month, moment.month, 1) and is_day


def _fits(field: str, value: int, least: int) -> bool:
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        low = least if first == "*" else int(first)
        high = int(last or (60 if first == "*" or step else first))
        if low <= value <= high and (value - low) % int(step or 1) == 0:
            return True
    return False


def jobs_of_a_quiet_run(expressions: Expressions, name: str) -> list[str]:
    """The jobs that a schedule begins where nothing is to be done and no variable is set."""
    conditions = expressions.conditions(WORKFLOWS / f"{name}.yml")
    begun: list[str] = []
    for job_id, job in jobs(name).items():
        needs = [job["needs"]] if isinstance(job.get("needs"), str) else job.get("needs", [])
        before = {one: {"result": "success" if one in begun else "skipped", "outputs": QUIET} for one in needs}
        status = "success" if set(needs) <= set(begun) else "skipped"
        github = {"event_name": "schedule", "ref": "refs/heads/main", "event": {}}
        contexts = {"github": github, "needs": before, "inputs": {}, "vars": {}}
        if expressions.holds(conditions[job_id]["if"], contexts, status):
            begun.append(job_id)
    # A called workflow is billed for each of its own jobs.
    return [one for job_id in begun for one in _billed(job_id, jobs(name)[job_id])]


def _billed(job_id: str, job: dict[str, Any]) -> list[str]:
    return [f"{job_id}/{one}" for one in jobs(Path(job["uses"]).stem)] if "uses" in job else [job_id]


def quiet_month(expressions: Expressions, days: int) -> dict[str, int]:
    """Job-minutes of a month of so many days by workflow, each job taken for less than a minute."""
    month = {28: 2, 30: 4, 31: 1}[days]
    minutes = {}
    for name in NAMES:
        crons = [one["cron"] for one in workflow(name)["on"].get("schedule") or []]
        if crons:
            each = len(jobs_of_a_quiet_run(expressions, name))
            minutes[name] = each * sum(strikes(cron, 2026, month) for cron in crons)
    return minutes


@pytest.mark.parametrize("days", [28, 30, 31])
def test_a_private_boards_quiet_month_stays_below_its_bound(expressions: Expressions, days: int) -> None:
    month = quiet_month(expressions, days)

    assert month == {"act": 0, "nightly": 0, "reconcile": 24 * days}
    assert sum(month.values()) < MOST


def test_the_page_says_the_same(expressions: Expressions) -> None:
    page = (ROOT / "site" / "pages" / "host" / "scale.md").read_text(encoding="utf-8")
    minutes = sum(quiet_month(expressions, 30).values())

    assert f"| a quiet month of 30 days | {minutes} | {minutes} | 0 |" in page


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("47 * * * *", 30 * 24), ("41 4 * * 1", 4), ("0 */6 * * *", 120), ("0,30 8-9 * * *", 120), ("5 3 1 * *", 1),
        ("0 0 1 * 3", 5), ("0 0 * 5 *", 0),
    ],
)  # fmt: skip
def test_schedules_are_counted_as_they_strike(cron: str, expected: int) -> None:
    assert strikes(cron, 2026, 4) == expected
