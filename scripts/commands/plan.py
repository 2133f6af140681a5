"""`pullrank plan`: lists missing evaluations and duels."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.host.digests.local_code import local_code_of
from evaluator.host.digests.runtime_digest import lock_digests, runtime_digest
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON, Tier
from leaderboard.core.eligibility import without_quarantined
from leaderboard.core.entry import Entry
from leaderboard.core.owners import is_participant
from leaderboard.planning.admission_rules import Deferred, admit_work
from leaderboard.planning.evaluation_quota import QuotaAccounts
from leaderboard.planning.missing_work import DuelWorkItem, MeasurementContext, WorkItem, work_in_words
from leaderboard.planning.refusal_reasons import reason_in_words
from scripts.console import OK, print_json, say
from scripts.options import JsonList, LocalSandbox
from scripts.repository.checkout import open_checkout
from scripts.runs.local_evaluator import choose_sandbox
from scripts.standings.admission_context import admission_context


def run(
    sandbox: LocalSandbox = "auto",
    explain: Annotated[bool, typer.Option(help="Print why each is not recorded, and what is left of quotas.")] = False,
    as_json: JsonList = False,
) -> int:
    """List the evaluations and duels that are wanted and not recorded."""
    checkout = open_checkout(Path.cwd())
    selected = choose_sandbox(sandbox)
    agents, faults = checkout.read_all()
    results = without_quarantined(checkout.recorded[0], checkout.moderation, keep_not_replayed=True)
    duels = without_quarantined(checkout.recorded_duels[0], checkout.moderation, keep_not_replayed=True)
    context = MeasurementContext(runtime_digest=runtime_digest(selected.base), beacon=PREVIEW_BEACON, locks=lock_digests())
    entries = list(checkout.with_quarantines(agent.entry() for agent in agents))
    admission = admission_context(checkout, entries, datetime.now(UTC))
    admitted = admit_work(checkout.challenge, entries, results, duels, context, admission, checkout.every_record)
    items, deferred = list(admitted.items), admitted.deferred
    if over := checkout.seasons.over(checkout.challenge, checkout.recorded[0]):
        say(f"Nothing is wanted: {over}.")
        items, deferred = [], ()
    if as_json:
        print_json([*(_document(item) for item in items), *(_deferred_document(each) for each in deferred)])
        return OK
    for line in faults:
        say(line)
    for item in items:
        reason = f": {_quarantine(item) or item.reason}" if explain else ""
        say(f"{work_in_words(item)}{reason}")
    for each in deferred:
        say(f"Not now: {work_in_words(each.item)}: {reason_in_words(each.reason)}")
    if explain:
        remaining = _remaining_quotas(checkout.challenge, entries, checkout.every_record, admission.now)
        for line in (*_local_code(checkout.challenge), *remaining, *_other_limits(checkout.challenge, results, duels)):
            say(line)
    say(f"{len(items)} wanted and not recorded, {len(results) + len(duels)} recorded.{_pairing_note(items)}")
    return OK


def _remaining_quotas(
    challenge: Challenge, entries: list[Entry], records: list[Result | Duel], now: datetime
) -> Iterator[str]:
    """What is left of each owner's quotas."""
    accounts = QuotaAccounts(challenge, entries, records)
    tasks = [task.id for task in challenge.tasks]
    for owner in sorted({entry.login.casefold(): entry for entry in entries if is_participant(challenge.people, entry)}):
        for account in accounts.of(owner, tasks):
            yield f"{owner}: {account.remaining(now)}"


def _local_code(challenge: Challenge) -> Iterator[str]:
    """The host's own code that each task uses, with its digest."""
    for task in challenge.tasks:
        if code := local_code_of(task):
            yield f"{task.id} is measured by code of this repository, {code.digest}: {', '.join(code.parts)}."


def _other_limits(challenge: Challenge, results: Iterable[Result], duels: Iterable[Duel]) -> Iterator[str]:
    """How many results were measured under other limits; they stay valid, since each result records its limits."""
    records: list[Result | Duel] = [*results, *duels]
    official = [each for each in records if each.tier is Tier.OFFICIAL and each.season == challenge.season]
    count = sum(each.limits != challenge.limits for each in official)
    if count:
        yield f"{count} official results were measured under other limits than today's; each says its own, and stays valid."


def _pairing_note(items: list[WorkItem | DuelWorkItem]) -> str:
    """A note that pairs are still to come while validations are missing."""
    if any(isinstance(item, DuelWorkItem) and item.is_validation for item in items):
        return " Opponents are chosen when the players have passed their validations."
    return ""


def _quarantine(item: WorkItem | DuelWorkItem) -> str:
    """What is said of a record in quarantine that the work replaces; empty if there is none."""
    return next((words for entry in item.players if (words := entry.quarantined.get(item.task_id))), "")


def _document(item: WorkItem | DuelWorkItem) -> dict[str, Any]:
    named = {"task": item.task_id, "key": item.wanted.key(), "reason": _quarantine(item) or item.reason}
    if isinstance(item, WorkItem):
        return {"login": item.entry.login, "agent": item.entry.agent, **named}
    players = [{"login": entry.login, "agent": entry.agent} for entry in item.entries]
    return {"players": players, **named, "validation": item.is_validation}


def _deferred_document(deferred: Deferred) -> dict[str, Any]:
    renews = deferred.renews.isoformat() if deferred.renews else None
    return {**_document(deferred.item), "reason": reason_in_words(deferred.reason), "held": True, "renews": renews}
