"""What two commits ask for: main's entries and rules, without what the results branch has; the same on every machine.

The branch `planned` notes that nothing is missing, so that planning an idle board need not read it whole. A round's work
follows from two commits and the evaluator. Publish, which alone may write records, notes these three when it finds that
nothing is left to do; a plan of the same three then has nothing to do. The note is believed for the rest of the day in which
it was written, so that one that is wrong, however it came about, hides work until midnight (UTC) or the next merge at most.
"""

import math
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from typing import TypeVar

from pydantic import Field

from evaluator.host.digests.runtime_digest import lock_digests, runtime_digest
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.evaluator_image import base_identity
from evaluator.host.envs.gym_task import cached_gym_task
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge, parse_moderation
from evaluator.host.seeds.season_secret import SECRET_VARIABLE
from evaluator.model.base import Frozen
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.task import Task
from evaluator.model.identifiers import CommitSha, Digest
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.trace import MAX_TRACE_BYTES
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import without_quarantined
from leaderboard.core.entry import EXAMPLES_LOGIN, Entry
from leaderboard.core.owners import is_participant
from leaderboard.planning import pack_shards
from leaderboard.planning.admission_rules import Deferred, admit_work, authors_by_owner, tasks_by_name
from leaderboard.planning.missing_work import DuelWorkItem, MeasurementContext, WorkItem
from leaderboard.planning.play_order import in_turns
from scripts.console import OUR_FAULT, CommandError, escape_commands, say
from scripts.git.beacons import VersionOrigins, beacon_order, version_origins
from scripts.git.data_branches import read_note, read_recorded, replace_note
from scripts.git.git_repository import GitError, GitRepository, full_sha
from scripts.git.main_entries import read_entries
from scripts.git.season_commits import checked_season_commits
from scripts.github.official.github_commits import AskGitHub, GitHubCommit, ask_github, known_commits
from scripts.github.workflow.event import COMMIT_SHA, WorkflowEnvironment, open_clone, open_github
from scripts.github.workflow.plan_context import (
    MembershipLookup,
    PlanContext,
    current_plan_context,
    members_of,
)
from scripts.github.workflow.sealed_jobs import refuse_changed_seeds
from scripts.repository.checkout import base_image, open_checkout
from scripts.repository.season_file import SEASON_FILE, SeasonFile, parse_seasons
from scripts.standings.admission_context import admission_at

ConfigFile = TypeVar("ConfigFile")
RoundWorkItem = WorkItem | DuelWorkItem
"""An evaluation of an agent, or a duel."""


@dataclass(frozen=True, kw_only=True)
class OfficialRun:
    """What every job of an official run shares."""

    clone: GitRepository
    """Main's checkout with all its history."""
    sandbox: str
    """docker or gvisor; `process` in tests."""
    runtime_digest: str
    ask: AskGitHub
    """Asks GitHub about commits; only publish does."""
    run_url: str | None
    secret: str = field(default="", repr=False)
    """The sealed season's secret, for the jobs that play and check; not validated yet."""
    plan_context: PlanContext = field(default_factory=current_plan_context)
    """The same in all jobs of a run."""
    is_member: MembershipLookup | None = None
    """Asks GitHub about organisations and teams; only the plan job does."""


def open_official(clone: GitRepository, runtime: tuple[str, str], ask: AskGitHub, run_url: str | None = None) -> OfficialRun:
    """An official run on a clone. `runtime`: sandbox and base image."""
    sandbox, base = runtime
    return OfficialRun(
        clone=clone, sandbox=sandbox, runtime_digest=planned_runtime_digest(sandbox, base), ask=ask, run_url=run_url
    )


def official_run_of_step(
    workflow: WorkflowEnvironment, environ: MutableMapping[str, str], sandbox: str | None
) -> OfficialRun:
    """The official run of a workflow step; the sandbox is challenge.yml's if left out.

    The secret is removed from `environ`, so that no child process inherits it.
    """
    ask = partial(ask_github, open_github(workflow).query, workflow.repository)
    sandbox = sandbox or open_checkout(workflow.workspace.resolve()).challenge.runners.sandbox
    official = open_official(open_clone(workflow), (sandbox, base_image(environ)), ask, workflow.run_url)
    return replace(official, secret=environ.pop(SECRET_VARIABLE, ""))


@dataclass(frozen=True, kw_only=True)
class RoundWork:
    """One round."""

    challenge: Challenge
    sha: str
    entries_sha: str
    """The commit whose agents are evaluated: the one that ended the submissions if there is one, else `sha`."""
    items: tuple[RoundWorkItem, ...]
    version_commits: Mapping[tuple[str, str, str], str]
    """By login, folder and digest the commit that brought each version first."""
    packing: pack_shards.Packing
    deferred: tuple[Deferred, ...] = ()
    """What phases, people and quotas keep out for now."""
    plan_context: PlanContext = field(default_factory=current_plan_context, compare=False)
    facts: Mapping[str, GitHubCommit] = field(default_factory=dict)
    """What is recorded of commits already."""
    unchecked_commits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Commits whose facts GitHub was not asked for yet, by the path of the record."""

    def shard(self, number: int) -> tuple[RoundWorkItem, ...]:
        """The items of one shard."""
        return tuple(self.items[index] for index in self.packing.shards[number])

    def task(self, item: RoundWorkItem) -> Task:
        """The task of an item."""
        task = self.challenge.task(item.task_id)
        assert task is not None
        return task


def planned_runtime_digest(sandbox: str, base: str) -> str:
    """The runtime digest; without asking an engine if the base image is named by its digest."""
    if sandbox == "process":
        return runtime_digest("process")
    if "@sha256:" in base:
        return runtime_digest(base.partition("@")[2])
    engine = Engine()
    try:
        return runtime_digest(base_identity(engine, base))
    finally:
        engine.close()


def read_round_work(official: OfficialRun, sha: str, results_sha: str) -> RoundWork:
    """What is wanted at two commits.

    Raises:
        CommandError: the checkout is at another commit, its rules are invalid, or the clone is shallow.
    """
    clone = official.clone
    if clone.resolve("HEAD") != full_sha(sha):
        raise CommandError(OUR_FAULT, f"the checkout is not commit {sha[:12]}, whose evaluator is meant; check that out")
    challenge, moderation = read_rules(clone, sha)
    evaluated, entries_sha, origin, measurement = _evaluated_entries(official, sha, challenge, moderation)
    commits = {e.version: origin.versions[e.spelled_name].sha for e in evaluated}
    root_files: dict[str, bytes] = {}
    every_result, every_duel = read_recorded(clone, results_sha, root_files)
    results = without_quarantined(every_result, moderation, keep_not_replayed=True)
    duels = without_quarantined(every_duel, moderation, keep_not_replayed=True)
    seasons = parse_seasons(root_files[SEASON_FILE]) if SEASON_FILE in root_files else SeasonFile()
    refuse_changed_seeds(challenge, seasons, results)
    plan_context = _with_members(official, challenge, evaluated)
    admission = admission_at(plan_context.now, origin, plan_context.members)
    admitted = admit_work(challenge, evaluated, results, duels, measurement, admission, [*every_result, *every_duel])
    items = in_turns(admitted.items)
    if over := seasons.over(challenge):
        say(f"Nothing is planned: {over}.")
        items = []
    packing = _packed(challenge, items, results, duels)
    records: list[Result | Duel] = [*results, *duels]
    # The seeds of these come from the commit that brought their version first, so that they tell its facts alone.
    first_draws = [record for record in records if commits.get(record.sides[0].version) == record.beacon]
    return RoundWork(
        challenge=challenge, sha=sha, entries_sha=entries_sha, items=tuple(items),
        version_commits=commits, packing=packing, deferred=admitted.deferred, plan_context=plan_context,
        facts=known_commits(first_draws),
        unchecked_commits=_unchecked_commits(challenge, records, commits),
    )  # fmt: skip


def _packed(
    challenge: Challenge, items: Sequence[RoundWorkItem], results: Sequence[Result], duels: Sequence[Duel]
) -> pack_shards.Packing:
    """The items on shards, by the seconds and bytes that the records let expect."""
    runners = challenge.runners
    capacity = pack_shards.Capacity(at_once=runners.at_once, shard_seconds=runners.shard_seconds)
    seconds = pack_shards.expected_seconds(items, results, duels)
    sizes = pack_shards.expected_bytes(items, results, _largest_traces(challenge, items))
    if not challenge.sealed:
        return pack_shards.pack_longest_first(seconds, capacity, sizes, pack_shards.machine_parts(items, challenge.limits))
    sizes = [pack_shards.SEALED_FACTOR * size for size in sizes]
    # All play the same episodes, and the kernel of a machine keeps what one agent left for the next to read.
    return pack_shards.pack_by_group(seconds, capacity, [item.players[0].name for item in items], sizes)


def _largest_traces(challenge: Challenge, items: Iterable[RoundWorkItem]) -> dict[str, float]:
    """By id, the largest trace of each task of these items whose actions are large, such as hundreds of floats."""
    wanted = {item.task_id for item in items}
    loaded = {task.id: cached_gym_task(task) for task in challenge.tasks if task.id in wanted and not task.game}
    return {
        task_id: min(gym_task.step_bytes * (gym_task.max_steps or math.inf), MAX_TRACE_BYTES)
        for task_id, gym_task in loaded.items()
        if gym_task and gym_task.step_bytes > pack_shards.STEP_BYTES
    }


def read_rules(clone: GitRepository, sha: str) -> tuple[Challenge, Moderation]:
    """challenge.yml and moderation.yml at a commit.

    Raises:
        CommandError: there is no challenge.yml, or one of the two is faulty.
    """
    challenge = _read_document(clone, sha, "challenge.yml", parse_challenge)
    moderation = read_moderation_at(clone, sha)
    if challenge is None:
        raise CommandError(OUR_FAULT, f"commit {sha[:12]} has no challenge.yml; add it")
    return challenge, moderation


def read_moderation_at(clone: GitRepository, sha: str) -> Moderation:
    """moderation.yml at a commit; empty without one.

    Raises:
        CommandError: it is faulty.
    """
    return _read_document(clone, sha, "moderation.yml", parse_moderation) or Moderation()


def _evaluated_entries(
    official: OfficialRun, sha: str, challenge: Challenge, moderation: Moderation
) -> tuple[list[Entry], str, VersionOrigins, MeasurementContext]:
    """The agents that are evaluated, the commit they are read from, where they come from, and what they are drawn by."""
    clone = official.clone
    season = checked_season_commits(clone, sha, challenge)
    final = season.final
    entries_sha = final.sha if final else sha
    entries, faults = read_entries(clone, entries_sha, challenge)
    for line in faults:
        say(escape_commands(line))
    evaluated = [entry for entry in entries if moderation.exclusion_of(*entry.version) is None]
    digests = {entry.spelled_name: entry.digest for entry in evaluated}
    tasks, authors = tasks_by_name(challenge, evaluated), authors_by_owner(challenge, evaluated)
    origin = version_origins(clone, entries_sha, digests, tasks, season.began, authors)
    is_drawn_alike = challenge.sealed_beacon or final
    measurement = MeasurementContext(
        runtime_digest=official.runtime_digest, beacon=challenge.sealed_beacon or (final.sha if final else "none"),
        beacons={} if is_drawn_alike else {where: tuple(b.sha for b in beacons) for where, beacons in origin.tasks.items()},
        order=beacon_order(clone, sha), locks=lock_digests(),
    )  # fmt: skip
    return evaluated, entries_sha, origin, measurement


def _unchecked_commits(
    challenge: Challenge, records: Iterable[Result | Duel], commits: Mapping[tuple[str, str, str], str]
) -> dict[str, tuple[str, ...]]:
    """Records of this season that GitHub was never asked about, with their commits; left out if a commit is unknown."""
    unchecked_commits = {}
    for record in records:
        is_open = record.beacon_verified is None and record.season == challenge.season
        if not is_open or record.verdict is Verdict.INTERNAL_ERROR:
            continue
        shas = {commits.get(side.version) for side in record.sides if side.login != EXAMPLES_LOGIN}
        if COMMIT_SHA.fullmatch(record.beacon):
            # A result of a version that left main: the commit of its seeds is one that brought it.
            shas = (shas - {None} if isinstance(record, Result) else shas) | {record.beacon}
        if shas and None not in shas:
            unchecked_commits[record.path()] = tuple(sorted(filter(None, shas)))
    return unchecked_commits


def _with_members(official: OfficialRun, challenge: Challenge, entries: Iterable[Entry]) -> PlanContext:
    """The run's context with the memberships that phases need."""
    plan_context = official.plan_context
    if plan_context.members is None and official.is_member and any(phase.teams for phase in challenge.phases):
        logins = [entry.login for entry in entries if is_participant(challenge.people, entry)]
        return replace(plan_context, members=members_of(challenge, logins, official.is_member))
    # Nobody else asks after the plan: an unknown member is none.
    return plan_context if plan_context.members is not None else replace(plan_context, members={})


def _read_document(clone: GitRepository, sha: str, name: str, parse: Callable[[bytes], ConfigFile]) -> ConfigFile | None:
    content = clone.file(sha, name)
    try:
        return None if content is None else parse(content)
    except LoadError as error:
        raise CommandError(OUR_FAULT, *error.lines) from error


PLANNED_BRANCH = "planned"


class NothingMissing(Frozen):
    """planned.json: what a plan that found nothing to do was made from."""

    form: int = Field(default=1, ge=1, le=1)
    """Version of this format."""
    main: CommitSha
    """The commit of main: agents, rules, history, and the software that plans."""
    results: CommitSha | None
    """The commit of the results branch; null before the first one."""
    runtime: Digest
    """The evaluator: its runtime digest."""
    day: date
    """When it was planned, in UTC."""


def is_noted(official: OfficialRun, challenge: Challenge, sha: str, results_sha: str) -> bool:
    """Whether nothing was missing at these commits today. Where a phase is for teams, members can change: then never."""
    if _depends_on_members(challenge):
        return False
    note = read_note(official.clone, PLANNED_BRANCH, NothingMissing, "everything is planned")
    return note == _note(official, sha, results_sha, official.plan_context.now)


def note_nothing_missing(official: OfficialRun, work: RoundWork, results_sha: str, now: datetime) -> bool:
    """Note that nothing is missing, if nothing is: wanted, held back, or still to be asked about. Returns whether it was."""
    if work.items or work.deferred or work.unchecked_commits or _depends_on_members(work.challenge):
        return False
    note = _note(official, work.sha, results_sha, now)
    try:
        replace_note(official.clone, PLANNED_BRANCH, note, "plan: nothing is missing", now)
    except GitError as error:  # Records are safe without it, and the next plan takes longer.
        say(f"The branch {PLANNED_BRANCH} was not written: {error}")
        return False
    return True


def _note(official: OfficialRun, sha: str, results_sha: str, now: datetime) -> NothingMissing:
    return NothingMissing(main=sha, results=results_sha or None, runtime=official.runtime_digest, day=now.date())


def _depends_on_members(challenge: Challenge) -> bool:
    return any(phase.teams for phase in challenge.phases)
