"""Evaluates what is wanted and records it: the verbs `evaluate` and `demo` share this; duels are in `dueling`."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from evaluator.host.choose import Chosen, choose
from evaluator.host.container import EngineError
from evaluator.host.evaluate import Order, evaluate
from evaluator.host.load import LoadError
from evaluator.host.replay import parse_result
from evaluator.host.runtime import runtime_digest
from evaluator.host.worlds import WorldError, open_world
from evaluator.model.challenge import Task
from evaluator.model.result import Class, Result, result_path
from evaluator.model.verdict import Verdict
from leaderboard.store import RESULT, Store
from scripts.board import LOCAL, PREVIEW_BEACON, Board, Found, base_image
from scripts.bot.beacon import EXAMPLES
from scripts.console import OUR_FAULT, USAGE, CommandError, bar, people, say

_NO_SCRIPTS = "the task {task} takes no scripts; name a task that has 'script' rules in challenge.yml"
_FOR_SCRIPTS = "the task {task} is for scripts; write 'kind: script', or name another task"


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What evaluates: a sandbox and what its runtime is called."""

    board: Board
    """The board."""
    chosen: Chosen
    """The sandbox."""
    runtime_digest: str
    """Part of every key."""

    def order(self, found: Found, task: Task, beacon: str = PREVIEW_BEACON) -> Order:
        """An agent on a task; without a beacon with the preview's public seeds."""
        try:
            world = open_world(task)
        except WorldError as error:
            raise CommandError(OUR_FAULT, str(error)) from error
        return Order(
            login=found.login, login_id=None, agent=found.agent, folder=found.folder, world=world,
            limits=self.board.challenge.limits, season=self.board.challenge.season, beacon=beacon,
            beacon_verified=False, klass=Class.LOCAL, runtime_digest=self.runtime_digest,
        )  # fmt: skip

    def run(self, order: Order, *, quiet: bool) -> tuple[Result, bytes | None]:
        """Evaluate, with a bar."""
        title = f"{order.agent} on {order.world.task.id}"
        with bar(title, order.extent, quiet=quiet) as done:
            outcome = evaluate(order, self.chosen.kind, self.chosen.opener, lambda: datetime.now(UTC), done)
        return outcome.result, outcome.trace


def open_bench(board: Board, sandbox: str) -> Bench:
    """Choose the sandbox, building its image if need be, and say what a person should know of it."""
    if sandbox not in ("auto", "docker", "gvisor", "process"):
        raise CommandError(USAGE, f"--sandbox {sandbox!r} is unknown; it is auto, docker, gvisor or process")
    with people().status("Preparing the sandbox …") as status:
        try:
            chosen = choose(sandbox, base_image(os.environ), lambda line: status.update(f"Building the image: {line[:80]}"))
        except EngineError as error:
            raise CommandError(OUR_FAULT, str(error)) from error
    if chosen.notice:
        say(f"Note: {chosen.notice}")
    return Bench(board=board, chosen=chosen, runtime_digest=runtime_digest(chosen.base))


def evaluate_or_recall(
    bench: Bench,
    found: Found,
    tasks: list[Task],
    store: Store,
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


def recall(store: Store, order: Order) -> Result | None:
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


def entered(found: Found, tasks: list[Task]) -> list[Task]:
    """The tasks that the agent enters. An example need not enter any: a board has other tasks than the one it came with.

    Raises:
        LoadError: it names a task that there is not, or one that measures another kind of agent.
    """
    submission = found.folder.submission
    known = {task.id for task in tasks}
    if (
        submission.tasks != "all"
        and not is_example(found)
        and (unknown := next((t for t in submission.tasks if t not in known), None))
    ):
        raise LoadError(
            f"{found.shown}/submission.yml: there is no task {unknown!r}; the tasks are {', '.join(sorted(known))}"
        )
    named = [task for task in tasks if submission.tasks != "all" and submission.enters(task.id)]
    other = next((task for task in named if not submission.fits(task)), None)
    if other is not None:
        fault = _FOR_SCRIPTS if other.script else _NO_SCRIPTS
        raise LoadError(f"{found.shown}/submission.yml: {fault.format(task=repr(other.id))}")
    return [task for task in tasks if submission.plays(task)]


def is_example(found: Found) -> bool:
    """Whether the agent came with the repository."""
    return found.login == LOCAL and EXAMPLES in found.path.parts
