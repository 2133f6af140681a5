"""What two commits ask for: main's entries and rules, less what the results branch holds; the same on every machine."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from evaluator.host.digests.runtime_digest import lock_digests, runtime_digest
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.evaluator_image import base_identity
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge, parse_moderation
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.moderation import Moderation
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import is_asked
from leaderboard.planning.admission import AdmissionContext, admit
from leaderboard.planning.missing import DuelWorkItem, MeasurementContext, WorkItem
from leaderboard.planning.quota import Deferred
from leaderboard.planning.shards import Capacity, Packing, expected_bytes, expected_seconds, pack_shards
from scripts.console import OUR_FAULT, CommandError, say
from scripts.git.beacon import SeedBeacon, beacon_order, origins
from scripts.git.data_branches import read_recorded
from scripts.git.git_repository import GitRepository, checked
from scripts.git.main_entries import read_entries
from scripts.github.official.commit_facts import Ask, CommitFacts, known_facts
from scripts.github.workflow.event import SHA
from scripts.github.workflow.outputs import escape_commands
from scripts.github.workflow.run_context import MembershipLookup, RunContext, members_of, merge_times, this_run
from scripts.github.workflow.season_key import refuse_change
from scripts.repository.checkout import LOCAL
from scripts.repository.season_file import NAME, parse_seasons

Model = TypeVar("Model")
WorkloadItem = WorkItem | DuelWorkItem
"""One evaluation of an agent, or one duel."""


@dataclass(frozen=True, kw_only=True)
class OfficialRun:
    """What every job of an official run shares."""

    clone: GitRepository
    """The checkout of main, with all its history."""
    sandbox: str
    """docker or gvisor; `process` in tests."""
    runtime_digest: str
    """What measures; see `runtime_of`."""
    ask: Ask
    """Asks GitHub about commits; only publish does."""
    run_url: str | None
    """The workflow run."""
    secret: str = field(default="", repr=False)
    """In a sealed season what its episodes come from, for the jobs that play and check; unread."""
    moment: RunContext = field(default_factory=this_run)
    """When this is, and who was a member of what then: the same in all jobs of a run."""
    is_member: MembershipLookup | None = None
    """Asks GitHub about organisations and teams; only the plan job does."""


def open_official(
    clone: GitRepository,
    runtime: tuple[str, str],
    ask: Ask,
    run_url: str | None = None,
) -> OfficialRun:
    """An official run on a clone. `runtime`: the sandbox and the base image."""
    sandbox, base = runtime
    return OfficialRun(
        clone=clone,
        sandbox=sandbox,
        runtime_digest=runtime_of(sandbox, base),
        ask=ask,
        run_url=run_url,
    )


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One round."""

    challenge: Challenge
    """The rules at the commit."""
    sha: str
    """The commit of main."""
    items: tuple[WorkloadItem, ...]
    """All that is wanted and not recorded."""
    beacons: dict[AgentName, SeedBeacon]
    """The commit that brought each entry's version."""
    packing: Packing
    """Which shard plays what."""
    held: tuple[Deferred, ...] = ()
    """What phases, people and quotas keep out for now."""
    moment: RunContext = field(default_factory=this_run, compare=False)
    """When this was planned."""
    facts: Mapping[str, CommitFacts] = field(default_factory=dict)
    """What is recorded of commits already."""
    unasked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Path of each record about whose commits GitHub was not asked yet, to those commits."""

    def shard(self, number: int) -> tuple[WorkloadItem, ...]:
        """The evaluations of one shard."""
        return tuple(self.items[index] for index in self.packing.shards[number])

    def beacon(self, entry: Entry) -> SeedBeacon:
        """The commit that brought an entry's version."""
        return self.beacons[AgentName(entry.login, entry.agent)]

    def task(self, item: WorkloadItem) -> Task:
        """The rules of what an evaluation is of."""
        task = self.challenge.task(item.task_id)
        assert task is not None
        return task


def runtime_of(sandbox: str, base: str) -> str:
    """The runtime digest, without an engine where the base image is named by its digest."""
    if sandbox == "process":
        return runtime_digest("process")
    if "@sha256:" in base:
        return runtime_digest(base.partition("@")[2])
    engine = Engine()
    try:
        return runtime_digest(base_identity(engine, base))
    finally:
        engine.close()


def read_work(official: OfficialRun, sha: str, results_sha: str) -> Workload:
    """What is wanted at two commits.

    Raises:
        CommandError: the checkout is another commit, its rules cannot be used, or history is cut off.
    """
    clone = official.clone
    if clone.resolve("HEAD") != checked(sha):
        raise CommandError(OUR_FAULT, f"the checkout is not commit {sha[:12]}, whose evaluator is meant; check that out")
    challenge = _document(clone, sha, "challenge.yml", parse_challenge)
    moderation = _document(clone, sha, "moderation.yml", parse_moderation) or Moderation()
    if challenge is None:
        raise CommandError(OUR_FAULT, f"commit {sha[:12]} has no challenge.yml; add it")
    entries, faults = read_entries(clone, sha, challenge)
    for line in faults:
        say(escape_commands(line))
    wanted = [entry for entry in entries if moderation.of(entry.login, entry.agent) is None]
    origin = origins(
        clone,
        sha,
        {AgentName(entry.login, entry.agent): entry.digest for entry in wanted},
        {
            AgentName(one.login, one.agent): [task.id for task in challenge.tasks if one.submission.plays(task)]
            for one in wanted
        },
    )
    found = origin.versions
    shas = {} if challenge.sealed_beacon else {where: item.sha for where, item in origin.tasks.items()}
    beacon = challenge.sealed_beacon or "none"
    where = MeasurementContext(
        runtime_digest=official.runtime_digest,
        beacon=beacon,
        beacons=shas,
        order=beacon_order(clone, sha),
        locks=lock_digests(),
    )
    aside: dict[str, bytes] = {}
    results, duels = read_recorded(clone, results_sha, aside)
    refuse_change(challenge, results)
    moment = _asked(official, challenge, wanted)
    gate = AdmissionContext(now=moment.now, arrived=merge_times(wanted, found), members=moment.members)
    admitted = admit(challenge, wanted, results, duels, where, gate)
    items = _newcomers_first(admitted.items)
    if NAME in aside and (over := parse_seasons(aside[NAME]).over(challenge.season)):
        say(f"Nothing is planned: {over}.")
        items = []
    runners = challenge.runners
    capacity = Capacity(at_once=runners.at_once, shard_seconds=60.0 * runners.shard_minutes)
    packing = pack_shards(expected_seconds(items, results, duels), capacity, expected_bytes(items, results))
    return Workload(
        challenge=challenge, sha=sha, items=tuple(items), beacons=found, packing=packing, held=admitted.held, moment=moment,
        facts=known_facts((*results, *duels)), unasked=_unasked(challenge, (*results, *duels), wanted, found),
    )  # fmt: skip


def _unasked(
    challenge: Challenge, records: Iterable[Result | Duel], entries: Iterable[Entry], found: Mapping[AgentName, SeedBeacon]
) -> dict[str, tuple[str, ...]]:
    """Records of this season that GitHub was not asked about, as far as their commits can be told."""
    known = {(entry.login, entry.agent, entry.digest): found[AgentName(entry.login, entry.agent)].sha for entry in entries}
    unasked = {}
    for record in records:
        is_open = record.beacon_verified is None and record.season == challenge.season
        if not is_open or record.verdict is Verdict.INTERNAL_ERROR:
            continue
        sides = record.players if isinstance(record, Duel) else (record,)
        # A public beacon is the commit; of a duel's two it is only the later one.
        is_named = isinstance(record, Result) and SHA.fullmatch(record.beacon)
        own = [known.get((side.login, side.agent, side.submission_digest)) for side in sides if side.login != LOCAL]
        shas = {record.beacon} if is_named else {*own, *(sha for sha in (record.beacon,) if SHA.fullmatch(sha))}
        if shas and None not in shas:
            unasked[record.path()] = tuple(sorted(filter(None, shas)))
    return unasked


def _asked(official: OfficialRun, challenge: Challenge, entries: Iterable[Entry]) -> RunContext:
    """The run's moment, with the memberships that its phases ask for."""
    moment = official.moment
    if moment.members is None and official.is_member and any(phase.teams for phase in challenge.phases):
        logins = [entry.login for entry in entries if is_asked(challenge.people, entry)]
        return replace(moment, members=members_of(challenge, logins, official.is_member))
    # Whom nobody can ask about is no member: the plan is the last to be asked.
    return moment if moment.members is not None else replace(moment, members={})


def _newcomers_first(items: Iterable[WorkloadItem]) -> list[WorkloadItem]:
    """What somebody waits for comes before what is only measured again; validations come before all pairs."""
    return sorted(items, key=lambda item: not item.is_awaited)


def _document(clone: GitRepository, sha: str, name: str, parse: Callable[[bytes], Model]) -> Model | None:
    raw = clone.run("ls-tree", "-z", "--full-tree", sha, "--", name)
    if not raw:
        return None
    try:
        return parse(clone.read([raw.split()[2].decode()])[0])
    except LoadError as error:
        raise CommandError(OUR_FAULT, *error.lines) from error
