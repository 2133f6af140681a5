"""Evaluations on this machine: the sandbox, the evaluator, and results that are read if recorded and made if not.

`plan` needs the sandbox only, so what evaluates is imported in the functions that use it.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from evaluator.host.digests.runtime_digest import runtime_digest
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.errors import EnvironmentFault
from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result, Tier, result_path
from evaluator.model.records.verdict import Verdict
from leaderboard.core.store import RESULT, ResultStore
from scripts.console import OUR_FAULT, USAGE, CommandError, progress_bar, say, stderr_console
from scripts.repository.checkout import PREVIEW_BEACON, AgentFolder, Checkout, base_image

if TYPE_CHECKING:
    from evaluator.host.sandboxes.select import SelectedSandbox
    from evaluator.host.solo.evaluate_agent import EvaluationRequest

_Record = TypeVar("_Record", Result, Duel)


def choose_sandbox(sandbox: str) -> "SelectedSandbox":
    """Select the sandbox and build its image if needed; notes for the user are printed.

    Raises:
        CommandError: the sandbox is unknown, or not available here.
    """
    if sandbox not in ("auto", "docker", "gvisor", "process"):
        raise CommandError(USAGE, f"--sandbox {sandbox!r} is unknown; it is auto, docker, gvisor or process")
    from evaluator.host.sandboxes.select import select_sandbox

    with stderr_console().status("Preparing the sandbox …") as status:
        try:
            selected = select_sandbox(
                sandbox, base_image(os.environ), lambda line: status.update(f"Building the image: {line[:80]}")
            )
        except EngineError as error:
            raise CommandError(OUR_FAULT, str(error)) from error
    if selected.notice:
        say(f"Note: {selected.notice}")
    return selected


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """A checkout with the sandbox that its agents are evaluated in."""

    checkout: Checkout
    sandbox: "SelectedSandbox"
    runtime_digest: str

    def request(self, entry: AgentFolder, task: Task, beacon: str = PREVIEW_BEACON) -> "EvaluationRequest":
        """The request to evaluate an agent on a task; the default beacon gives the preview's public seeds."""
        from evaluator.host.envs.gym_task import load_gym_task
        from evaluator.host.solo.evaluate_agent import EvaluationRequest

        try:
            gym_task = load_gym_task(task)
        except EnvironmentFault as error:
            raise CommandError(OUR_FAULT, str(error)) from error
        return EvaluationRequest(
            login=entry.login, login_id=None, agent=entry.agent, folder=entry.folder, gym_task=gym_task,
            limits=self.checkout.challenge.limits, season=self.checkout.challenge.season, beacon=beacon,
            beacon_verified=False, tier=Tier.LOCAL, runtime_digest=self.runtime_digest,
        )  # fmt: skip

    def run(self, request: "EvaluationRequest", *, quiet: bool) -> tuple[Result, bytes | None]:
        """Evaluate, with a progress bar; returns the result and its trace."""
        from evaluator.host.solo.evaluate_agent import evaluate_agent

        title = f"{request.agent} on {request.gym_task.task.id}"
        with progress_bar(title, request.extent, quiet=quiet) as progress:
            outcome = evaluate_agent(request, self.sandbox.kind, self.sandbox.opener, lambda: datetime.now(UTC), progress)
        return outcome.result, outcome.trace


def open_evaluator(checkout: Checkout, sandbox: str) -> Evaluator:
    """An evaluator with the named sandbox: auto, docker, gvisor or process."""
    selected = choose_sandbox(sandbox)
    return Evaluator(checkout=checkout, sandbox=selected, runtime_digest=runtime_digest(selected.base))


def evaluate_locally(
    evaluator: Evaluator,
    entry: AgentFolder,
    tasks: list[Task],
    store: ResultStore,
    *,
    quiet: bool,
    again: bool = False,
) -> Iterator[tuple[Result, bool]]:
    """The result of each task, and whether it is new: recorded ones are read, missing ones are evaluated and recorded.

    Args:
        evaluator: the checkout and its sandbox.
        entry: the agent.
        tasks: tasks that are played alone.
        store: where results are read and recorded.
        quiet: show no progress bar.
        again: evaluate even what is recorded.
    """
    for task in tasks:
        request = evaluator.request(entry, task)
        result = None if again else recorded_result(store, request)
        is_new = result is None
        if result is None:
            result, trace = evaluator.run(request, quiet=quiet)
            store.write(result, trace)
        yield result, is_new


def recorded_result(store: ResultStore, request: "EvaluationRequest") -> Result | None:
    """The recorded result of a request; None without one, where it is an internal error, or where its trace is damaged."""
    from evaluator.model.records.parse import parse_result

    key = request.wanted().key()
    path = store.results / (result_path(request.gym_task.task.id, request.login, request.agent, key) + RESULT)
    result = read_record(path, parse_result, "evaluated")
    if result is None or result.key != key or result.verdict is Verdict.INTERNAL_ERROR:
        return None
    trace = store.trace_of(path)
    # Traces need not be here: `pullrank recorded` fetches results alone.
    if trace.exists() and hashlib.sha256(trace.read_bytes()).hexdigest() != result.trace_sha256:
        say(f"{trace} is damaged; it is evaluated again")
        return None
    return result


def read_record(path: Path, parse: Callable[[bytes], _Record], verb: str) -> _Record | None:
    """The record in a file; None without one, or where it is damaged, which is reported with what is done again."""
    if not path.exists():
        return None
    try:
        return parse(path.read_bytes())
    except (ValueError, OSError):
        say(f"{path} is damaged; it is {verb} again")
        return None
