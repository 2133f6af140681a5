"""The standings of a checkout's recorded results; once submissions have ended, of the agents on main at that commit."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.submission import Submission, SubmissionKind
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import Record
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.standings import Standings
from leaderboard.planning.admission_rules import evaluated_versions, refused_entries, tasks_by_name
from leaderboard.planning.refusal_reasons import reason_in_words
from leaderboard.visibility import StandingsInput, as_shown, with_host_flags
from scripts.console import CommandError, escape_commands, say
from scripts.git.beacons import stay_beacons
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries, rules_at
from scripts.git.season_commits import final_entries, season_commits
from scripts.repository.checkout import Checkout, say_damaged
from scripts.repository.layout import folder_of
from scripts.standings.admission_context import admission_context


def recorded_standings(
    checkout: Checkout, *, official: bool, tasks: list[str] | None = None, now: datetime | None = None
) -> Standings:
    """The standings of the recorded results and duels; see `recorded_input`."""
    return rank_recorded(recorded_input(checkout, official=official, tasks=tasks, now=now), official=official)


def recorded_input(
    checkout: Checkout,
    *,
    official: bool,
    tasks: list[str] | None = None,
    now: datetime | None = None,
    with_hidden: bool = False,
) -> StandingsInput:
    """What standings are computed from; damaged files and faulty folders are reported and left out.

    Official standings leave out what is hidden at the time `now`, names included, unless `with_hidden`, which only hosts
    see; local standings show everything.

    Raises:
        CommandError: submissions have ended, and this is no clone with main's whole history.
    """
    final = final_entries(checkout) if official and checkout.has_ended else None
    agents, faults = _agents_on_main(checkout) if official and not final else _agents_here(checkout)
    entries = [*(final.entries if final else agents), *erased_entries(checkout.moderation)]
    if official and not final:
        entries = with_stay_beacons(GitRepository(checkout.root), "HEAD", checkout.challenge, entries)
    has_duels = bool(checkout.challenge.games) or not checkout.is_lean
    duels, damaged_duels = (checkout.duels, checkout.recorded_duels[1]) if has_duels else ([], [])
    for line in faults:
        say(escape_commands(line))
    say_damaged("result", checkout.recorded[1])
    say_damaged("duel", damaged_duels)
    refused = refusals_in_words(checkout, entries, now or datetime.now(UTC))
    entries = [
        replace(entry, refused=refused[entry.spelled_name]) if entry.spelled_name in refused else entry for entry in entries
    ]
    results = checkout.results
    counted = {id(record) for record in (*results, *duels)}
    every_record = (*checkout.recorded[0], *(checkout.recorded_duels[0] if has_duels else ()))
    if official:
        results, duels = of_our_sandbox(checkout, results), of_our_sandbox(checkout, duels)
    recorded = StandingsInput(
        challenge=checkout.challenge.model_copy(
            # A sealed season ends with its reveal, which challenge.yml does not say.
            update={"tasks": tuple(checkout.tasks(tasks)), **({"final": checkout.challenge.season} if final else {})}
        ),
        entries=with_host_flags(checkout.with_quarantines(entries), checkout.challenge, checkout.moderation),
        moderation=checkout.moderation,
        results=tuple(results),
        duels=tuple(duels),
        tried_records=tuple(record for record in every_record if id(record) not in counted),
        final=final.draws if final else None,
    )
    return as_shown(recorded, now or datetime.now(UTC)) if official and not with_hidden else recorded


def _agents_here(checkout: Checkout) -> tuple[list[Entry], list[str]]:
    """The agents in the checkout's folders, and a line for each fault of the others."""
    agents, faults = checkout.read_all()
    return [agent.entry() for agent in agents], faults


def _agents_on_main(checkout: Checkout) -> tuple[list[Entry], list[str]]:
    """The same as the official run reads them, from the commit that is checked out; from the folders where there is none.

    Git writes files by the board's .gitattributes, so that a folder can hold another version than main.
    """
    clone = GitRepository(checkout.root)
    commit = clone.resolve("HEAD")
    if not commit or not clone.is_top():
        return _agents_here(checkout)
    agents, faults = read_entries(clone, commit, checkout.challenge)
    return [agent for agent in agents if (checkout.root / folder_of(agent.spelled_name)).exists()], faults


def refusals_in_words(checkout: Checkout, entries: Sequence[Entry], now: datetime) -> dict[AgentName, dict[str, str]]:
    """By entry and task why a version is not evaluated there, by a phase or the rules for participants."""
    words: dict[AgentName, dict[str, str]] = defaultdict(dict)
    challenge, admission = checkout.challenge, admission_context(checkout, entries, now)
    refused = refused_entries(challenge, entries, admission)
    if refused:  # What was evaluated goes on. Every record is read only where that matters.
        admission = replace(admission, evaluated=evaluated_versions(checkout.every_record, challenge.season))
        refused = refused_entries(challenge, entries, admission)
    for (name, task_id), reason in refused.items():
        words[name][task_id] = reason_in_words(reason)
    return words


def with_stay_beacons(clone: GitRepository, commit: str, challenge: Challenge, entries: Iterable[Entry]) -> list[Entry]:
    """The entries, each version that came back to main with all its beacons; unchanged where git is silent.

    Sealed episodes are the same in every stay on main.
    """
    entries = list(entries)
    try:
        main = None if challenge.sealed else clone.resolve(commit)
        if main is None:
            return entries
        digests = {entry.spelled_name: entry.digest for entry in entries}
        since = season_commits(clone, main, challenge.season).began
        beacons_of = stay_beacons(clone, main, digests, tasks_by_name(challenge, entries), since)
    except CommandError:  # Not a clone, or a shallow one.
        return entries
    beacons_by_name: dict[AgentName, dict[str, frozenset[str]]] = defaultdict(dict)
    for (name, task_id), beacons in beacons_of.items():
        beacons_by_name[name][task_id] = beacons
    return [
        replace(e, stay_beacons=own) if (own := beacons_by_name.get(AgentName(e.login, e.agent))) else e for e in entries
    ]


def of_our_sandbox(checkout: Checkout, records: Iterable[Record]) -> list[Record]:
    """The records that were played in the leaderboard's sandbox; the others are reported and left out."""
    fault_of, kept = sandbox_rule(checkout), []
    for record in records:
        if fault := fault_of(record):
            say(f"results/{record.path()}: {fault}; it does not rank")
        else:
            kept.append(record)
    return kept


def sandbox_rule(checkout: Checkout) -> Callable[[Result | Duel], str | None]:
    """Says why an official record does not rank; None if its sandbox is the leaderboard's, now or when it was evaluated."""
    clone, sandbox = GitRepository(checkout.root), checkout.challenge.runners.sandbox

    @cache
    def named_at(commit: str) -> str | None:
        rules = rules_at(clone, commit)
        return rules.runners.sandbox if rules else None

    def fault(record: Result | Duel) -> str | None:
        is_ours = record.tier is not Tier.OFFICIAL or record.sandbox.value == sandbox
        if is_ours or (record.provenance.commit and record.sandbox.value == named_at(record.provenance.commit)):
            return None
        return f"it was played in {record.sandbox}, and this leaderboard evaluates in {sandbox}"

    return fault


def erased_entries(moderation: Moderation) -> Iterator[Entry]:
    """The versions of people who asked to be forgotten: they keep their places, so that nobody else's moves."""
    for erased in moderation.erasures:
        kind = SubmissionKind.SCRIPT if erased.script else SubmissionKind.POLICY
        submission = Submission(name="Erased", algorithm="erased", kind=kind)
        yield Entry(login=erased.login, agent=erased.agent, submission=submission, digest=erased.digest, erased=True)


def rank_recorded(shown: StandingsInput, *, official: bool) -> Standings:
    """The standings of an input."""
    return build_standings(
        shown.challenge, shown.entries, shown.results, official=official, moderation=shown.moderation, duels=shown.duels,
        tried_records=shown.tried_records, final=shown.final,
    )  # fmt: skip
