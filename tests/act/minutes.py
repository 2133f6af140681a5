"""The table of job-minutes for site/pages/host/scale.md, from what `make act` wrote down: `python -m tests.act.minutes`."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.act.places import BUILD
from tests.act.runner import Timed

# From what a person does to what he sees, one job after the other. Of a matrix the longest counts.
PATHS: Mapping[str, tuple[str, Sequence[str]]] = {
    "submission": ("pull request → comment", ("preview", "report")),
    "merge": ("merge → board", ("plan", "image", "evaluate", "publish", "build", "deploy")),
    "quiet hour": ("-", ("reconcile",)),
}


def read(place: Path) -> list[Timed]:
    """The jobs of a chapter."""
    keys = Timed.__dataclass_fields__
    return [Timed(**{name: job[name] for name in keys}) for job in json.loads(place.read_text(encoding="utf-8"))["jobs"]]


def table(jobs: Iterable[Timed]) -> str:
    """A row for each occasion: jobs, billed minutes, and how long a person waits for machines to work."""
    timed_jobs = list(jobs)
    lines = ["| | jobs | billed minutes | seconds of all jobs | waits for | seconds |", "|---|---:|---:|---:|---|---:|"]
    for occasion, (words, path) in PATHS.items():
        own = [job for job in timed_jobs if job.occasion == occasion]
        billed, seconds = sum(job.billed for job in own), sum(job.seconds for job in own)
        waited = sum(longest(own, name) for name in path)
        lines.append(f"| {occasion} | {len(own)} | {billed} | {seconds:.0f} | {words} | {waited:.0f} |")
    return "\n".join(lines)


def longest(jobs: Iterable[Timed], name: str) -> float:
    """The seconds of the longest run of a job.

    Raises:
        ValueError: it did not run.
    """
    return max(job.seconds for job in jobs if job.job == name)


def details(jobs: Iterable[Timed]) -> str:
    """Each measured job on a line of its own."""
    return "\n".join(
        f"{job.occasion:12} {job.workflow:10} {job.job:10} {job.seconds:6.1f} s" for job in jobs if job.occasion
    )


if __name__ == "__main__":
    story = read(Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD / "minutes-story.json")
    print(f"{table(story)}\n\n{details(story)}")
