"""`pullrank plan`: what is wanted and not recorded."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluator.host.digests.local_code import local_code_of
from evaluator.host.digests.runtime_digest import lock_digests, runtime_digest
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result, Tier
from leaderboard.core.entry import Entry
from leaderboard.core.owners import is_asked
from leaderboard.planning.admission import AdmissionContext, admit
from leaderboard.planning.missing import DuelWorkItem, MeasurementContext, WorkItem, shown
from leaderboard.planning.quota import Deferred, OwnerAccounts
from leaderboard.planning.reasons import reason_in_words
from scripts.console import OK, print_json, say
from scripts.repository.checkout import PREVIEW_BEACON, open_checkout
from scripts.runs.eligible_tasks import gate_of
from scripts.runs.evaluate_missing import choose_sandbox


def run(
    sandbox: Annotated[str, typer.Option(help="auto, docker, gvisor or process.")] = "auto",
    explain: Annotated[bool, typer.Option(help="Say of each why it is not recorded.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> int:
    """List the evaluations and duels that are wanted and not recorded."""
    board = open_checkout(Path.cwd())
    chosen = choose_sandbox(sandbox)
    found, faults = board.read_all()
    results, _ = board.recorded
    duels, _ = board.recorded_duels
    where = MeasurementContext(runtime_digest=runtime_digest(chosen.base), beacon=PREVIEW_BEACON, locks=lock_digests())
    entries = [f.entry() for f in found]
    gate = gate_of(board, entries, datetime.now(UTC))
    admitted = admit(board.challenge, entries, results, duels, where, gate)
    items, held = list(admitted.items), admitted.held
    if over := board.seasons.over(board.challenge.season):
        say(f"Nothing is wanted: {over}.")
        items, held = [], ()
    if as_json:
        print_json([*(_document(item) for item in items), *(_held(one) for one in held)])
        return OK
    for line in faults:
        say(line)
    for item in items:
        why = f": {item.reason}" if explain else ""
        say(f"{shown(item)}{why}")
    for one in held:
        say(f"Not now: {shown(one.item)}: {reason_in_words(one.reason)}")
    if explain:
        remaining = _remaining(board.challenge, entries, results, duels, gate)
        for line in (*_code(board.challenge), *remaining, *_unlike(board.challenge, results, duels)):
            say(line)
    say(f"{len(items)} wanted and not recorded, {len(results) + len(duels)} recorded.{_later(items)}")
    return OK


def _remaining(
    challenge: Challenge, entries: list[Entry], results: list[Result], duels: list[Duel], gate: AdmissionContext
) -> Iterator[str]:
    """What is left of every quota that somebody here has used."""
    accounts = OwnerAccounts(challenge, entries, results, duels)
    tasks = [task.id for task in challenge.tasks]
    for owner in sorted({entry.login.casefold(): entry for entry in entries if is_asked(challenge.people, entry)}):
        for account in accounts.of(owner, tasks):
            yield f"{owner}: {account.remaining(gate.now)}"


def _code(challenge: Challenge) -> Iterator[str]:
    """By which code of the host's own each task is measured."""
    for task in challenge.tasks:
        if code := local_code_of(task):
            yield f"{task.id} is measured by code of this repository, {code.digest}: {', '.join(code.parts)}."


def _unlike(challenge: Challenge, results: Iterable[Result], duels: Iterable[Duel]) -> Iterator[str]:
    """That a changed limit makes nothing to be run again: each result says under which limits it was measured."""
    records: list[Result | Duel] = [*results, *duels]
    official = [one for one in records if one.tier is Tier.OFFICIAL and one.season == challenge.season]
    count = sum(one.limits != challenge.limits for one in official)
    if count:
        yield f"{count} official results were measured under other limits than today's; each says its own, and stays valid."


def _later(items: list[WorkItem | DuelWorkItem]) -> str:
    """What this list cannot know yet."""
    if any(isinstance(item, DuelWorkItem) and item.is_validation for item in items):
        return " Opponents are chosen when the players have passed their validations."
    return ""


def _document(item: WorkItem | DuelWorkItem) -> dict[str, Any]:
    named = {"task": item.task_id, "key": item.wanted.key(), "reason": item.reason}
    if isinstance(item, WorkItem):
        return {"login": item.entry.login, "agent": item.entry.agent, **named}
    players = [{"login": entry.login, "agent": entry.agent} for entry in item.entries]
    return {"players": players, **named, "validation": item.is_validation}


def _held(one: Deferred) -> dict[str, Any]:
    renews = one.renews.isoformat() if one.renews else None
    return {**_document(one.item), "reason": reason_in_words(one.reason), "held": True, "renews": renews}
