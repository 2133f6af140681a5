"""The table of minutes counts what was measured, along the way that the workflow files take."""

import json
from pathlib import Path

import pytest

from tests.act.minutes import PATHS, longest, read, table
from tests.act.runner import Timed
from tests.workflows.files import jobs


def ran(occasion: str, workflow: str, job: str, seconds: float) -> Timed:
    return Timed(workflow=workflow, event="push", job=job, seconds=seconds, occasion=occasion)


MEASURED = [
    *(ran("submission", name, name, seconds) for name, seconds in (("report", 20), ("preview", 50), ("report", 25))),
    *(ran("merge", "official", job, 10) for job in PATHS["merge"][1]), ran("merge", "official", "evaluate", 70),
    ran("merge", "official", "announce", 10), ran("quiet hour", "reconcile", "reconcile", 15), ran("", "ci", "lint", 99),
]  # fmt: skip


def test_jobs_are_billed_one_by_one_and_people_wait_for_the_longest_way() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table(MEASURED).splitlines()[2:]]

    assert rows == [
        ["submission", "3", "3", "95", "pull request → comment", "75"],
        ["merge", "8", "9", "140", "merge → board", "120"], ["quiet hour", "1", "1", "15", "-", "15"],
    ]  # fmt: skip


def test_a_job_that_was_not_seen_is_no_zero() -> None:
    with pytest.raises(ValueError, match="empty"):
        longest(MEASURED, "verify")


def test_what_was_written_down_is_read(tmp_path: Path) -> None:
    (tmp_path / "minutes.json").write_text(json.dumps({"jobs": [{**vars(job), "billed_minutes": 1} for job in MEASURED]}))

    assert read(tmp_path / "minutes.json") == MEASURED


def test_each_job_of_the_way_waits_for_the_one_before() -> None:
    called = {"image": "image", "build": "site", "deploy": "site"}
    official, site = jobs("official"), jobs("site")
    for before, after in zip(PATHS["merge"][1], PATHS["merge"][1][1:], strict=False):
        needs = site["deploy"]["needs"] if after == "deploy" else official[called.get(after, after)]["needs"]
        assert before in needs
    assert list(jobs("image")) == ["image"]
    assert "needs" not in site["build"]
