"""What one looks at after a run: branches, comments and the deployed site."""

import html
import json
import re
from typing import Any

from tests.act.forge import ActForge
from tests.workflows.runner import Run

RESULTS, TRACES = "refs/heads/results", "refs/heads/traces-2026"


def run_of(forge: ActForge, workflow: str, *, lost: set[str] | frozenset[str] = frozenset(), newest: int = 1) -> Run:
    """The latest run of a workflow, or the one so many before; these of its jobs failed and no others."""
    run = [run for name, run in forge.runs if name == workflow][-newest]
    failed = {name for name, job in run.jobs.items() if job.result == "failure"}
    assert failed == lost, run.log()
    return run


def recorded(forge: ActForge) -> list[tuple[str, str]]:
    """Task and agent of every result on the branch; each has its trace on the other."""
    paths = forge.remote.paths(RESULTS)
    assert len(forge.remote.paths(TRACES)) == len(paths)
    parts = [path.split("/") for path in paths]
    return sorted((part[0], "/".join(part[1:3])) for part in parts)


def results(forge: ActForge) -> dict[str, dict[str, Any]]:
    """The recorded results by task and agent."""
    read = [json.loads(forge.remote.show(RESULTS, path)) for path in forge.remote.paths(RESULTS)]
    return {f"{one['task']} {one['login']}/{one['agent']}": one for one in read}


def only_comment(forge: ActForge, number: int) -> str:
    """The one comment of the bot on a pull request, its spaces all of one kind."""
    (comment,) = forge.comments(number)
    return comment.replace("\N{NO-BREAK SPACE}", " ")


def labels(forge: ActForge, number: int) -> set[str]:
    """The labels of a pull request."""
    return set(forge.world.labelled.get(number, []))


def places(forge: ActForge, task: str, site: int = -1) -> list[str]:
    """The agents in a task's table, from the first row down; of the newest site that was deployed or an earlier one."""
    page = (forge.actions.deployed[site] / "tasks" / task / "index.html").read_text(encoding="utf-8")
    return list(dict.fromkeys(re.findall(r'<tr data-who="(\w+/\w+)"', html.unescape(page))))
