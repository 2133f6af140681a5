"""What a round expects of each file from a shard, and the records that replace refused files.

Results and duels are checked alike: everything but the measured numbers is known before the file is opened.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from evaluator.host.seeds.derived_seeds import episode_seeds, opening_seeds
from evaluator.model.records.duel_record import DUEL_SCHEMA, Duel
from evaluator.model.records.parse import parse_duel, parse_result
from evaluator.model.records.result import MESSAGE, RESULT_SCHEMA, Provenance, Result, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.planning.missing import DuelWorkItem, WorkItem
from scripts.github.official.commit_facts import CommitFacts
from scripts.github.official.workload import OfficialRun, Workload, WorkloadItem
from scripts.github.workflow.event import COMMIT_SHA
from scripts.github.workflow.plan_context import season_secret
from scripts.repository.layout import LOCAL

# By how much the clocks of a run's machines may differ.
CLOCK_SLACK = timedelta(minutes=10)


def parse_for_item(item: WorkloadItem, content: bytes) -> Result | Duel:
    """The record that was handed in for an item.

    Raises:
        ValueError: the bytes are not exactly those of such a record.
    """
    return parse_duel(content) if isinstance(item, DuelWorkItem) else parse_result(content)


Facts = Mapping[str, CommitFacts]
"""By commit; without those that GitHub could not be asked about."""


def gather_facts(official: OfficialRun, work: Workload, items: Iterable[WorkloadItem]) -> Facts:
    """GitHub's facts about the commits of some items and of the records that have none yet.

    All are asked about together, and each only once; commits of new items come first.
    """
    new = dict.fromkeys(sha for item in items for sha in sorted(_item_commits(work, item)))
    late = dict.fromkeys(sha for shas in work.unasked.values() for sha in shas)
    missing = [sha for sha in {**new, **late} if sha not in work.facts]
    return {**work.facts, **(official.ask(missing) if missing else {})}


def _item_commits(work: Workload, item: WorkloadItem) -> set[str]:
    """The commits that an item's record depends on; in a duel an example's commit matters only as the beacon."""
    seeds = {item.wanted.beacon} if COMMIT_SHA.fullmatch(item.wanted.beacon) else set()
    is_alone = isinstance(item, WorkItem)
    return {work.version_commits[entry.version] for entry in item.players if is_alone or entry.login != LOCAL} | seeds


@dataclass(frozen=True, kw_only=True)
class ExpectedRound:
    """What the files of a round are checked against."""

    official: OfficialRun
    work: Workload
    facts: Facts
    now: datetime

    def mismatches(self, item: WorkloadItem, record: Result | Duel) -> Iterator[str]:
        """Everything in which a record differs from the expected one; its numbers are checked by replay."""
        for name, value in self._expected_fields(item).items():
            if getattr(record, name) != value:
                is_sandbox = name == "sandbox"
                yield f"it was played in {record.sandbox}, not in {value}" if is_sandbox else _other(name)
        if isinstance(item, DuelWorkItem) and isinstance(record, Duel):
            for side, (entry, player) in enumerate(zip(item.entries, record.players, strict=True)):
                if player.version != entry.version or player.login_id is not None:
                    yield _other(f"player {side + 1}")
        if isinstance(record, Result) and (fault := record.gpus_fault(self.work.challenge.runners.gpus)):
            yield fault
        if (record.provenance.commit, record.provenance.run_url) != (self.work.sha, self.official.run_url):
            yield "the provenance is not this run's"
        at = datetime.strptime(record.provenance.evaluated_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        if not self._earliest(record) <= at <= self.now + CLOCK_SLACK:
            yield f"evaluated_at ({record.provenance.evaluated_at}) is not of this run"
        if len(record.versions) > 50 or (isinstance(record, Result) and len(record.metrics) > 50):
            yield "it names more versions or metrics than an evaluation has"

    def _earliest(self, record: Result | Duel) -> datetime:
        """When a record can have been made at the earliest: nothing is played before the run's plan.

        A run that waits for machines, continues, or is started again keeps its plan. Of a sealed record only the hour is
        told.
        """
        planned = self.work.plan_context.now - CLOCK_SLACK
        return planned.replace(minute=0, second=0) if record.is_sealed else planned

    def _expected_fields(self, item: WorkloadItem) -> dict[str, Any]:
        limits, wanted = self.work.challenge.limits, item.wanted
        both = {
            "key": wanted.key(), "tier": Tier.OFFICIAL, "task": item.task_id, "task_digest": wanted.task_digest,
            "season": wanted.season, "beacon": wanted.beacon, "beacon_verified": False, "sandbox": self.official.sandbox,
            "runtime_digest": wanted.runtime_digest, "protocol": wanted.protocol, "limits": limits, "erased_sha256": None,
        }  # fmt: skip
        if isinstance(item, DuelWorkItem):
            return both
        entry = item.entry
        fields = {"login": entry.login, "login_id": None, "agent": entry.agent, "submission_digest": entry.digest}
        return {**both, **fields, "limits": entry.submission.allowed(limits)}

    def with_facts(self, item: WorkloadItem, record: Result | Duel) -> Result | Duel:
        """A record that passed, with what only GitHub knows: shards have no token and cannot decide it."""
        document = {**record.document(), "beacon_verified": self._signed(item)}
        if isinstance(item, WorkItem):
            return Result.with_self_hash({**document, "login_id": self._login_id(item.entry)})
        players = zip(document["players"], item.entries, strict=True)
        return Duel.with_self_hash(
            {**document, "players": [{**player, "login_id": self._login_id(entry)} for player, entry in players]}
        )

    def _login_id(self, entry: Entry) -> int | None:
        """None for examples, which belong to no account."""
        commit = None if entry.login == LOCAL else self.facts.get(self.work.version_commits[entry.version])
        return commit.login_id_of(entry.login) if commit else None

    def _signed(self, item: WorkloadItem) -> bool | None:
        """Whether all commits are signed; None if GitHub was not asked about one of them."""
        commits, facts = _item_commits(self.work, item), self.facts
        return all(facts[sha].is_signed for sha in commits) if all(sha in facts for sha in commits) else None

    def failed_record(self, item: WorkloadItem, message: str) -> Result | Duel:
        """The record of an internal error, which is no agent's fault."""
        task, wanted = self.work.task(item), item.wanted
        expected = {name: value for name, value in self._expected_fields(item).items() if name != "tier"}
        evaluated_at = self.now.strftime("%Y-%m-%dT%H:%M:%SZ")
        failed: dict[str, Any] = {
            **expected, "class": Tier.OFFICIAL, "verdict": Verdict.INTERNAL_ERROR, "message": message[:MESSAGE],
            "beacon_verified": self._signed(item),
            "provenance": Provenance(commit=self.work.sha, run_url=self.official.run_url, evaluated_at=evaluated_at),
        }  # fmt: skip
        if isinstance(item, DuelWorkItem):
            players = [
                {"login": e.login, "login_id": self._login_id(e), "agent": e.agent, "submission_digest": e.digest}
                for e in item.entries
            ]
            digests = item.wanted.submission_digests
            seeds = opening_seeds(wanted.season, wanted.beacon, digests, task.id, task.matches)
            return Duel.with_self_hash({**failed, "schema": DUEL_SCHEMA, "players": players, "seeds": seeds})
        if secret := season_secret(self.official.secret, self.work.challenge):
            seeds = secret.episode_seeds(wanted.season, task.id, task.counted)
        else:
            seeds = episode_seeds(wanted.season, wanted.beacon, item.wanted.submission_digest, task.id, task.counted)
        login_id = self._login_id(item.entry)
        return Result.with_self_hash({**failed, "schema": RESULT_SCHEMA, "login_id": login_id, "seeds": seeds, "cost": {}})


def _other(name: str) -> str:
    return f"{name} is not the one that was asked"
