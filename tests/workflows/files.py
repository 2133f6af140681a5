"""Our workflow files, read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
FILES = sorted(WORKFLOWS.glob("*.yml"))
NAMES = [path.stem for path in FILES]


def read(path: Path) -> dict[str, Any]:
    """A workflow; `on`, which YAML 1.1 takes for true, under its own name."""
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in workflow.items()}


def workflow(name: str) -> dict[str, Any]:
    """One of ours."""
    return read(WORKFLOWS / f"{name}.yml")


def jobs(name: str) -> dict[str, dict[str, Any]]:
    """Its jobs by id."""
    jobs_by_name: dict[str, dict[str, Any]] = workflow(name)["jobs"]
    return jobs_by_name


def steps(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every step of a workflow, with its job's id."""
    for job_id, job in jobs(name).items():
        for step in job.get("steps", []):
            yield job_id, step
