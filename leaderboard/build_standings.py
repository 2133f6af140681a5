"""Builds the standings from the entries on main and all records, and holds what the official ones are built from."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import eligible_entries, without_excluded_teams
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import OwnerGroups, OwnerTries, OwnerTry, owner_groups
from leaderboard.core.standings import FinalDraws, Standings, without_late_draws
from leaderboard.core.version_folders import VersionFolders, version_folders
from leaderboard.planning.evaluation_quota import QuotaAccounts
from leaderboard.ratings.build_game_standings import build_game_standings
from leaderboard.scoring.build_task_standings import FinalVersions, partition_results, task_standings
from leaderboard.scoring.overall import begin_interquartile_means, overall_rows, overall_samples
from leaderboard.scoring.ranking import name_order
from leaderboard.scoring.score_all import score_all
from leaderboard.visibility import hidden_tasks, with_host_flags


def build_standings(
    challenge: Challenge,
    entries: Iterable[Entry],
    results: Iterable[Result],
    *,
    official: bool,
    moderation: Moderation | None = None,
    duels: Iterable[Duel] = (),
    tried_records: Iterable[Result | Duel] = (),
    final: FinalDraws | None = None,
    with_iqm: bool = True,
) -> Standings:
    """The leaderboards of a challenge; the order of entries, results and duels does not matter.

    Args:
        challenge: its tasks and its season.
        entries: the agents on main now, each once.
        results: everything recorded; results of other seasons, task settings or versions do not rank.
        official: whether only official results and, of the login `local`, only baselines take part; else any tier does.
        moderation: which agents are excluded: listed, never ranked.
        duels: everything recorded of the games, under the same conditions.
        tried_records: further records that do not rank, such as those in quarantine; they still count as tries.
        final: after the end of submissions the draws that alone rank, as `FinalVersions` says.
        with_iqm: whether the overall rows have their interquartile means, which rank nobody and take most of the time.
    """
    entries = tuple(sorted(entries, key=name_order))
    eligible = eligible_entries(entries, moderation, official=official)
    tried_records = [*tried_records, *(results := list(results)), *(duels := list(duels))]
    results, duels = without_late_draws(results, final), without_late_draws(duels, final)
    folders, groups = version_folders(entries), owner_groups(without_excluded_teams(entries, moderation), tried_records)
    counted, tried = (_by_task(challenge, records, folders) for records in (results, tried_records))
    recorded = {task.id: _under_its_settings(task, counted[task.id]) for task in challenge.solo_tasks}
    chosen = FinalVersions(groups, eligible.ranking, recorded, final.beacon) if final else None
    partition = partial(partition_results, official=official, final=chosen)
    partitioned = [
        partition(task, eligible, recorded[task.id], _owner_tries(groups, tried[task.id])) for task in challenge.solo_tasks
    ]
    measured = score_all(scored := [results_of_task.scores() for results_of_task in partitioned])
    samples = overall_samples(scored, measured)
    with begin_interquartile_means(scored, measured) if with_iqm else nullcontext() as interquartile_means:
        tasks = tuple(map(task_standings, partitioned, measured))
        overall = overall_rows(tasks, samples, chosen.overall(challenge.solo_tasks) if chosen else {}, interquartile_means)
    build_game = partial(
        build_game_standings, official=official, moderation=moderation, season=challenge.season,
        baselines=challenge.baselines, final_beacon=final.beacon if final else None, tried_records=tried_records
    )  # fmt: skip
    return Standings(
        challenge=challenge, official=official, overall=overall, tasks=tasks, final=final, moderation=eligible.moderation,
        games=tuple(build_game(task, entries, duels) for task in challenge.games),
    )  # fmt: skip


_Recorded = Mapping[AgentName, Sequence[Result]]


def _by_task(challenge: Challenge, records: Iterable[Result | Duel], folders: VersionFolders) -> dict[str, _Recorded]:
    """The results of this season, by task and the agent that has the version now."""
    by_task: dict[str, dict[AgentName, list[Result]]] = {task.id: defaultdict(list) for task in challenge.solo_tasks}
    for result in records:
        if isinstance(result, Result) and result.season == challenge.season and result.task in by_task:
            by_task[result.task][folders.of(result)].append(result)
    return {**by_task}


def _under_its_settings(task: Task, results: _Recorded) -> _Recorded:
    """Those that were measured under the task's present settings; agents without one are left out."""
    digest = task.digest()
    fitting = ((name, [result for result in of_agent if result.task_digest == digest]) for name, of_agent in results.items())
    return {name: of_agent for name, of_agent in fitting if of_agent}


def _owner_tries(groups: OwnerGroups, results: _Recorded) -> OwnerTries:
    """The tries under earlier settings, too: these have the same seeds, so who chose among them chose for now."""
    tries = (
        OwnerTry(name, groups.persons.person_of_side(result), result.submission_digest, result.beacon)
        for name, of_agent in results.items()
        for result in of_agent
        if result.is_try
    )
    return OwnerTries(groups, tries)


@dataclass(frozen=True, kw_only=True)
class RecordedLeaderboard:
    """What main and the branch `results` record of the official leaderboard: whole, and asked for what is shown."""

    challenge: Challenge
    entries: tuple[Entry, ...]
    """Those on main, less those that moderation excludes."""
    results: tuple[Result, ...]
    duels: tuple[Duel, ...] = ()
    every_record: tuple[Result | Duel, ...] = ()
    """With those in quarantine, which quotas are charged for, and which are tries."""
    at: datetime | None = None
    """The moment that decides what is hidden or not named; everything is shown if left out."""
    final: FinalDraws | None = None
    """As in `build_standings`; then the entries are those of the end."""
    erased: tuple[Entry, ...] = ()
    """The versions of who was erased: they keep their places, and nothing else is said of them."""

    @cached_property
    def standings(self) -> Standings:
        """The official standings, as comments need them: without interquartile means."""
        entries = with_host_flags((*self.entries, *self.erased), self.challenge, Moderation())
        return build_standings(
            self.challenge, entries, self.results, official=True, duels=self.duels,
            tried_records=self.every_record, final=self.final, with_iqm=False,
        )  # fmt: skip

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The tasks whose leaderboards are not shown."""
        return frozenset(task.id for task in hidden_tasks(self.challenge, self.at)) if self.at else frozenset()

    @cached_property
    def quota_accounts(self) -> QuotaAccounts:
        """What of the quotas is used, by every record."""
        return QuotaAccounts(self.challenge, self.entries, self.every_record)
