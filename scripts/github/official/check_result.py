"""What a round expects of each file from a shard, and the records that replace refused files.

Results and duels are checked alike: everything but the measured numbers is known before the file is opened.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from evaluator.host.seeds.derive import episode_seeds, opening_seeds
from evaluator.model.records.duel_record import DUEL_SCHEMA, Duel, duel_with_self_hash
from evaluator.model.records.parse import parse_duel, parse_result
from evaluator.model.records.result import MESSAGE, RESULT_SCHEMA, Provenance, Result, Tier, with_self_hash
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

ResultOrDuel = Result | Duel
"""The record in a file of the results branch."""


def parse_for_item(item: WorkloadItem, content: bytes) -> ResultOrDuel:
    """The record that was handed in for an item.

    Raises:
        ValueError: the bytes are not exactly those of such a record.
    """
    return parse_duel(content) if isinstance(item, DuelWorkItem) else parse_result(content)


def mismatches(
    official: OfficialRun, work: Workload, item: WorkloadItem, record: ResultOrDuel, now: datetime
) -> Iterator[str]:
    """Everything in which a record differs from the expected one; its numbers are checked by replay."""
    for name, value in _expected_fields(official, work, item).items():
        if getattr(record, name) != value:
            yield (
                f"it was played in {record.sandbox}, not in {value}"
                if name == "sandbox"
                else (f"{name} is not the one that was asked")
            )
    if isinstance(item, DuelWorkItem) and isinstance(record, Duel):
        yield from _player_faults(item, record)
    if isinstance(record, Result) and (fault := record.cards_fault(work.challenge.runners.gpus)):
        yield fault
    if (record.provenance.commit, record.provenance.run_url) != (work.sha, official.run_url):
        yield "the provenance is not this run's"
    at = datetime.strptime(record.provenance.evaluated_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    if not _earliest(work, record) <= at <= now + CLOCK_SLACK:
        yield f"evaluated_at ({record.provenance.evaluated_at}) is not of this run"
    if len(record.versions) > 50 or (isinstance(record, Result) and len(record.metrics) > 50):
        yield "it names more versions or metrics than an evaluation has"


def _earliest(work: Workload, record: ResultOrDuel) -> datetime:
    """When a record can have been made at the earliest: nothing is played before the run's plan.

    A run that waits for machines, continues, or is started again keeps its plan. Of a sealed record only the hour is told.
    """
    planned = work.plan_context.now - CLOCK_SLACK
    return planned.replace(minute=0, second=0) if record.is_sealed else planned


def _expected_fields(official: OfficialRun, work: Workload, item: WorkloadItem) -> dict[str, Any]:
    both = {
        "key": item.wanted.key(), "tier": Tier.OFFICIAL, "task": item.task_id, "task_digest": item.wanted.task_digest,
        "season": item.wanted.season, "beacon": item.wanted.beacon, "beacon_verified": False, "sandbox": official.sandbox,
        "runtime_digest": item.wanted.runtime_digest, "protocol": item.wanted.protocol, "limits": work.challenge.limits,
        "erased_sha256": None,
    }  # fmt: skip
    if isinstance(item, DuelWorkItem):
        return both
    fields: dict[str, Any] = {"login": item.entry.login, "login_id": None, "agent": item.entry.agent}
    fields["limits"] = item.entry.submission.allowed(work.challenge.limits)
    return {**both, **fields, "submission_digest": item.wanted.submission_digest}


def _player_faults(item: DuelWorkItem, duel: Duel) -> Iterator[str]:
    for side, (entry, player) in enumerate(zip(item.entries, duel.players, strict=True)):
        if player.version != (entry.login, entry.agent, entry.digest) or player.login_id is not None:
            yield f"player {side + 1} is not the one that was asked"


Facts = Mapping[str, CommitFacts]
"""By commit; without those that GitHub could not be asked about."""


def gather_facts(official: OfficialRun, work: Workload, items: Iterable[WorkloadItem]) -> Facts:
    """GitHub's facts about the commits of some items and of the records that have none yet.

    All are asked about together, and each only once; commits of new items come first.
    """
    new = dict.fromkeys(sha for item in items for sha in sorted(_item_commits(work, item)))
    late = dict.fromkeys(sha for shas in work.unasked.values() for sha in shas)
    wanted = [sha for sha in {**new, **late} if sha not in work.facts]
    return {**work.facts, **(official.ask(wanted) if wanted else {})}


def _item_commits(work: Workload, item: WorkloadItem) -> set[str]:
    """The commits that an item's record depends on; in a duel an example's commit matters only as the beacon."""
    seeds = {item.wanted.beacon} if COMMIT_SHA.fullmatch(item.wanted.beacon) else set()
    if isinstance(item, WorkItem):
        return {work.entry_commit(item.entry)} | seeds
    return {work.entry_commit(entry) for entry in item.entries if entry.login != LOCAL} | seeds


def record_with_facts(facts: Facts, work: Workload, item: WorkloadItem, record: ResultOrDuel) -> ResultOrDuel:
    """A record that passed, with what only GitHub knows: shards have no token and cannot decide it."""
    signed = {"beacon_verified": _signed(facts, work, item)}
    if isinstance(record, Result):
        assert isinstance(item, WorkItem)
        return with_self_hash({**record.document(), **signed, "login_id": _login_id(facts, work, item.entry)})
    assert isinstance(item, DuelWorkItem)
    players = [
        {**player, "login_id": _login_id(facts, work, entry)}
        for player, entry in zip(record.document()["players"], item.entries, strict=True)
    ]
    return duel_with_self_hash({**record.document(), **signed, "players": players})


def _login_id(facts: Facts, work: Workload, entry: Entry) -> int | None:
    """None for examples, which belong to no account."""
    commit = None if entry.login == LOCAL else facts.get(work.entry_commit(entry))
    return commit.login_id if commit else None


def _signed(facts: Facts, work: Workload, item: WorkloadItem) -> bool | None:
    """Whether all commits are signed; None if GitHub was not asked about one of them."""
    commits = _item_commits(work, item)
    return all(facts[sha].verified for sha in commits) if all(sha in facts for sha in commits) else None


def failed_record(
    official: OfficialRun, work: Workload, facts: Facts, item: WorkloadItem, message: str, now: datetime
) -> ResultOrDuel:
    """The record of an internal error, which is no agent's fault."""
    expected = {name: value for name, value in _expected_fields(official, work, item).items() if name != "tier"}
    failed: dict[str, Any] = {
        **expected,
        "schema": DUEL_SCHEMA if isinstance(item, DuelWorkItem) else RESULT_SCHEMA,
        "class": Tier.OFFICIAL,
        "verdict": Verdict.INTERNAL_ERROR,
        "message": message[:MESSAGE],
        "provenance": Provenance(commit=work.sha, run_url=official.run_url, evaluated_at=now.strftime("%Y-%m-%dT%H:%M:%SZ")),
    }
    task, wanted, signed = work.task(item), item.wanted, {"beacon_verified": _signed(facts, work, item)}
    if isinstance(item, DuelWorkItem):
        players = [
            {"login": e.login, "login_id": _login_id(facts, work, e), "agent": e.agent, "submission_digest": e.digest}
            for e in item.entries
        ]
        digests = item.wanted.submission_digests
        seeds = opening_seeds(wanted.season, wanted.beacon, digests, task.id, task.matches)
        return duel_with_self_hash({**failed, **signed, "players": players, "seeds": seeds})
    secret = season_secret(official.secret, work.challenge)
    if secret:
        seeds = secret.episode_seeds(wanted.season, task.id, task.counted)
    else:
        seeds = episode_seeds(wanted.season, wanted.beacon, item.wanted.submission_digest, task.id, task.counted)
    return with_self_hash({**failed, **signed, "login_id": _login_id(facts, work, item.entry), "seeds": seeds, "cost": {}})
