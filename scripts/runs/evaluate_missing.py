"""Evaluates what is wanted and records it: the verbs `evaluate` and `demo` share this; duels are in `dueling`."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from evaluator.host.digests.runtime_digest import runtime_digest
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.envs.gym_task import EnvironmentFault, load_gym_task
from evaluator.host.sandboxes.select import SelectedSandbox, select_sandbox
from evaluator.host.solo.evaluate_agent import EvaluationRequest, evaluate_agent
from evaluator.host.solo.verify_result import parse_result
from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result, Tier, result_path
from evaluator.model.records.verdict import Verdict
from leaderboard.core.store import RESULT, ResultStore
from scripts.console import OUR_FAULT, USAGE, CommandError, bar, people, say
from scripts.repository.checkout import PREVIEW_BEACON, Checkout, SubmissionEntry, base_image


def choose_sandbox(sandbox: str) -> SelectedSandbox:
    """Choose the sandbox, building its image if need be, and say what a person should know of it.

    Raises:
        CommandError: there is no such sandbox, or it is not to be had here.
    """
    if sandbox not in ("auto", "docker", "gvisor", "process"):
        raise CommandError(USAGE, f"--sandbox {sandbox!r} is unknown; it is auto, docker, gvisor or process")
    with people().status("Preparing the sandbox …") as status:
        try:
            chosen = select_sandbox(
                sandbox, base_image(os.environ), lambda line: status.update(f"Building the image: {line[:80]}")
            )
        except EngineError as error:
            raise CommandError(OUR_FAULT, str(error)) from error
    if chosen.notice:
        say(f"Note: {chosen.notice}")
    return chosen


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """What evaluates: a sandbox and what its runtime is called."""

    board: Checkout
    chosen: SelectedSandbox
    runtime_digest: str

    def order(self, found: SubmissionEntry, task: Task, beacon: str = PREVIEW_BEACON) -> EvaluationRequest:
        """An agent on a task; without a beacon with the preview's public seeds."""
        try:
            world = load_gym_task(task)
        except EnvironmentFault as error:
            raise CommandError(OUR_FAULT, str(error)) from error
        return EvaluationRequest(
            login=found.login, login_id=None, agent=found.agent, folder=found.folder, world=world,
            limits=self.board.challenge.limits, season=self.board.challenge.season, beacon=beacon,
            beacon_verified=False, tier=Tier.LOCAL, runtime_digest=self.runtime_digest,
        )  # fmt: skip

    def run(self, order: EvaluationRequest, *, quiet: bool) -> tuple[Result, bytes | None]:
        """Evaluate, with a bar."""
        title = f"{order.agent} on {order.world.task.id}"
        with bar(title, order.extent, quiet=quiet) as done:
            outcome = evaluate_agent(order, self.chosen.kind, self.chosen.opener, lambda: datetime.now(UTC), done)
        return outcome.result, outcome.trace


def open_evaluator(board: Checkout, sandbox: str) -> Evaluator:
    """The bench with the sandbox that is asked for."""
    chosen = choose_sandbox(sandbox)
    return Evaluator(board=board, chosen=chosen, runtime_digest=runtime_digest(chosen.base))


def evaluate_or_recall(
    bench: Evaluator,
    found: SubmissionEntry,
    tasks: list[Task],
    store: ResultStore,
    tell: Callable[[Result, bool], None],
    *,
    quiet: bool,
    again: bool = False,
) -> list[Result]:
    """The result of each task: recorded ones are read, missing ones are played and recorded."""
    results = []
    for task in tasks:
        order = bench.order(found, task)
        result = None if again else recall(store, order)
        fresh = result is None
        if result is None:
            result, trace = bench.run(order, quiet=quiet)
            store.write(result, trace)
        tell(result, fresh)
        results.append(result)
    return results


def recall(store: ResultStore, order: EvaluationRequest) -> Result | None:
    """The recorded result of an order, unless it was a failure of ours."""
    key = order.wanted().key()
    path = store.results / (result_path(order.world.task.id, order.login, order.agent, key) + RESULT)
    if not path.exists():
        return None
    try:
        result = parse_result(path.read_bytes())
    except (ValueError, OSError):
        say(f"{path}: is damaged, so it is played again")
        return None
    return result if result.key == key and result.verdict is not Verdict.INTERNAL_ERROR else None
