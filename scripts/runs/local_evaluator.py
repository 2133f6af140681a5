"""Evaluations on this machine: the sandbox, the evaluator, and results that are read if recorded and made if not.

`plan` needs the sandbox only, so what evaluates is imported in the functions that use it.
"""

import hashlib
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evaluator.host.digests.runtime_digest import runtime_digest
from evaluator.host.errors import EnvironmentFault, SandboxError
from evaluator.host.loading.submission_folder import SubmissionFolder
from evaluator.host.sandboxes.sandbox import own_processors
from evaluator.model.config.task import Task
from evaluator.model.records.parse import Record, parse_result
from evaluator.model.records.result import Result, result_path
from evaluator.model.records.stored_record import PREVIEW_BEACON, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import EXAMPLES_LOGIN
from leaderboard.core.store import RECORD_ENDING, ResultStore
from scripts.console import OUR_FAULT, USAGE, CommandError, say, stderr_console
from scripts.repository.checkout import AgentFolder, Checkout, base_image
from scripts.runs.parallel_jobs import ParallelJob, run_jobs
from scripts.terminal.progress_display import mean_in_words

if TYPE_CHECKING:
    from evaluator.host.progress import ReportProgress
    from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
    from evaluator.host.solo.evaluate_agent import EvaluationRequest
    from evaluator.host.solo.partial_record import PartialFolder


def choose_sandbox(sandbox: str, gpus: int = 0) -> "SelectedSandbox":
    """Select the sandbox and build its image if needed; notes for the user are printed.

    `gpus`: how many graphics cards each agent is to be handed.

    Raises:
        CommandError: the sandbox is unknown, or not available here.
    """
    if sandbox not in ("auto", "docker", "gvisor", "process"):
        raise CommandError(USAGE, f"--sandbox {sandbox!r} is unknown; it is auto, docker, gvisor or process")
    from evaluator.host.sandboxes.select_sandbox import select_sandbox

    with stderr_console().status("Preparing the sandbox …") as status:
        try:
            selected = select_sandbox(
                sandbox, base_image(os.environ), lambda line: status.update(f"Building the image: {line[:80]}"), gpus=gpus
            )
        except SandboxError as error:
            raise CommandError(OUR_FAULT, str(error)) from error
    if selected.notice:
        say(f"Note: {selected.notice}")
    if selected.gpus_fault:
        say(f"Note: agents play without graphics cards, and may reach other scores than with them: {selected.gpus_fault}")
    return selected


@dataclass(frozen=True, kw_only=True)
class Evaluator:
    """A checkout with the sandbox that its agents are evaluated in."""

    checkout: Checkout
    sandbox: "SelectedSandbox"
    runtime_digest: str
    partials: "PartialFolder | None" = None
    """Where the finished episodes of long evaluations are kept, so that an interruption does not cost them."""

    def request(self, entry: AgentFolder, task: Task, beacon: str = PREVIEW_BEACON) -> "EvaluationRequest":
        """The request to evaluate an agent on a task; the default beacon gives the preview's public seeds."""
        from evaluator.host.envs.gym_task import load_gym_task
        from evaluator.host.solo.evaluate_agent import EvaluationRequest

        self.bring_weights(entry.folder)
        try:
            gym_task = load_gym_task(task)
        except EnvironmentFault as error:
            raise CommandError(OUR_FAULT, str(error)) from error
        return EvaluationRequest(
            login=entry.login, login_id=None, agent=entry.agent, folder=entry.folder, gym_task=gym_task,
            limits=self.checkout.challenge.limits, season=self.checkout.challenge.season, beacon=beacon,
            beacon_verified=False, tier=Tier.LOCAL, runtime_digest=self.runtime_digest, gpus=self.sandbox.gpus,
        )  # fmt: skip

    def bring_weights(self, folder: SubmissionFolder) -> None:
        """Take the board's own copies of an agent's weights, where it has some."""
        if folder.submission.weights:
            from scripts.git.git_repository import GitRepository
            from scripts.git.weights_branch import bring_weights

            bring_weights(GitRepository(self.checkout.root), folder.submission.weights)

    def check_extras(self, entry: AgentFolder) -> None:
        """Build what the agent's extras bring.

        Raises:
            CommandError: they cannot be had here.
        """
        if fault := self.sandbox.prepare(entry.folder.submission.needs):
            raise CommandError(OUR_FAULT, f"{entry.shown}: {fault}")

    def check_owners(self, entries: Iterable[AgentFolder]) -> None:
        """Refuse agents that others wrote where nothing would keep them from this user's files.

        Raises:
            CommandError: they are of several people, and `auto` found no container engine.
        """
        owners = {entry.login.casefold() for entry in entries} - {EXAMPLES_LOGIN}
        if self.sandbox.is_fallback and len(owners) > 1:
            what = f"agents of {len(owners)} people would run without a security boundary, and could read your files"
            raise CommandError(USAGE, f"{what}; start Docker, or write --sandbox process where you trust all of them")

    def run(self, request: "EvaluationRequest", report: "ReportProgress") -> tuple[Result, bytes | None]:
        """Evaluate; returns the result and its trace."""
        from evaluator.host.solo.evaluate_agent import evaluate_agent

        outcome = evaluate_agent(
            request, self.sandbox.kind, self.sandbox.opener, lambda: datetime.now(UTC), report, self.partials
        )
        return outcome.result, outcome.trace

    def job(self, request: "EvaluationRequest") -> ParallelJob[tuple[Result, bytes | None]]:
        """An evaluation that can be played beside others."""
        self.sandbox.prepare(request.folder.submission.needs)
        processors = request.allowed.processors()
        if request.gpus and request.gpus.cards:  # the engine would hand the same cards to two that play at once
            processors = max(processors, len(own_processors()))
        return ParallelJob(
            title=f"{request.agent} on {request.gym_task.task.id}", play=partial(self.run, request),
            processors=processors, memory_mib=request.allowed.memory_mib,
        )  # fmt: skip


def open_evaluator(checkout: Checkout, sandbox: str, *, official: bool = False) -> Evaluator:
    """An evaluator with the named sandbox: auto, docker, gvisor or process.

    Raises:
        CommandError: the sandbox is not available, or an official run lacks the graphics cards of challenge.yml.
    """
    from evaluator.host.solo.partial_record import PartialFolder

    gpus = checkout.challenge.runners.gpus
    selected = choose_sandbox(sandbox, gpus)
    if official and selected.gpus_fault:
        rule = f"challenge.yml gives each agent {gpus} graphics card{'s' if gpus > 1 else ''}"
        advice = "nothing is evaluated without them; see 'labels' and 'gpus' of 'runners'"
        raise CommandError(OUR_FAULT, f"{rule}, and this machine cannot: {selected.gpus_fault}; {advice}")
    return Evaluator(
        checkout=checkout, sandbox=selected, runtime_digest=runtime_digest(selected.base), partials=PartialFolder()
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How evaluations and duels are played and recorded."""

    store: ResultStore | None
    """Where they are read and recorded; None for neither."""
    quiet: bool
    again: bool = False
    """Play even what is recorded."""
    at_once: int | None = None
    """The most that are played at once; None for as many as the machine has room for."""
    meanwhile: Callable[[], None] = lambda: None
    """Called in a thread while the only evaluation's sandbox starts, for imports of what comes after it. Not beside
    several, since those are forks: a lock that a thread holds then is never released in them."""


def evaluate_locally(
    evaluator: Evaluator, pairs: Sequence[tuple[AgentFolder, Task]], options: RunOptions
) -> Iterator[tuple[Result, bool]]:
    """Each agent's result on a task, and whether it is new: first what is recorded, then what is missing as it ends."""
    store, requests = options.store, []
    for entry, task in pairs:
        request = evaluator.request(entry, task)
        if options.again and evaluator.partials:
            evaluator.partials.forget(request.wanted().key())
        result = None if options.again or store is None else recorded_result(store, request)
        if result is None:
            requests.append(request)
        else:
            yield result, False
    requests.sort(key=_may_be_shorter)
    jobs = [evaluator.job(request) for request in requests]
    if len(jobs) == 1:
        threading.Thread(target=options.meanwhile, name="meanwhile", daemon=True).start()
    for _, (result, trace) in run_jobs(jobs, options.at_once, quiet=options.quiet):
        if store is not None:
            store.write(result, trace)
        yield result, True


def _may_be_shorter(request: "EvaluationRequest") -> tuple[bool, float]:
    """Sorts what may take the longest to the front, so that nothing long is left when other processors have no more to do.

    Training takes the longest, and then what may have the most steps.
    """
    task, limit = request.gym_task.task, request.gym_task.time_limit
    return task.script is None, -task.counted * (limit or math.inf)


def ended_in_words(result: Result) -> str:
    """How an evaluation ended, and the mean of its episodes with its 95 % interval."""
    words = [str(result.verdict)]
    if len(result.returns) > 1:
        words.append(f"{mean_in_words(result.returns)} in {len(result.returns):,} episodes")
    return ", ".join([*words, f"{result.cost.steps:,} steps", f"{result.cost.wall_seconds:.1f} s"])


def recorded_result(store: ResultStore, request: "EvaluationRequest") -> Result | None:
    """The recorded result of a request; None without one, or where another attempt may end differently."""
    key = request.wanted().key()
    path = store.results / (result_path(request.gym_task.task.id, request.login, request.agent, key) + RECORD_ENDING)
    result = read_record(path, parse_result, "evaluated")
    if result is None or result.key != key or result.verdict is Verdict.INTERNAL_ERROR:
        return None
    if may_end_differently(result.verdict, request.folder):
        return None
    trace = store.trace_of(path)
    # Traces need not be here: `pullrank recorded` fetches results alone.
    if trace.exists() and hashlib.sha256(trace.read_bytes()).hexdigest() != result.trace_sha256:
        say(f"{trace} is damaged; it is evaluated again")
        return None
    return result


def may_end_differently(verdict: Verdict, folder: SubmissionFolder) -> bool:
    """Whether an invalid version may have become a valid one: the address of `weights` is no part of a version."""
    return verdict is Verdict.INVALID and bool(folder.submission.weights)


def read_record(path: Path, parse: Callable[[bytes], Record], verb: str) -> Record | None:
    """The record in a file; None without one, or where it is damaged, which is reported with what is done again."""
    if not path.exists():
        return None
    try:
        return parse(path.read_bytes())
    except (ValueError, OSError):
        say(f"{path} is damaged; it is {verb} again")
        return None
