"""Beacons: the first-parent commits of main that seeds come from, one for each stay of a version on a task.

A stay of a version begins with the commit that brings it to main, into whatever folder of its login, and enters the task.
Nobody can predict the commit's id, and no other folder of the login gets another one for the same files. A version that left
and comes back begins another stay, with other seeds: otherwise one could merge many versions and go back to the luckiest.

The commit that ended a season's submissions, by the history of challenge.yml or the reveal of a sealed season, says which
versions rank in the end; in an open season it is the beacon of their final draws.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from evaluator.host.loading.yaml_loader import MAX_CHALLENGE_BYTES, LoadError, parse_yaml
from evaluator.model.config.challenge import Challenge
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.standings import FinalDraws
from leaderboard.planning.admitted_work import AdmissionContext, authors_by_owner, tasks_by_name
from scripts.console import OUR_FAULT, USAGE, CommandError
from scripts.git.folder_history import FolderHistory, FolderState, read_commits
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.repository.checkout import Checkout
from scripts.repository.layout import folder_of


@dataclass(frozen=True, kw_only=True)
class SeedBeacon:
    """The commit that an agent's seeds come from."""

    sha: str
    committed_at: str


@dataclass(frozen=True, kw_only=True)
class VersionOrigins:
    """The beacons of the versions on main."""

    versions: dict[AgentName, SeedBeacon]
    """The commit that brought each version first, which tells its owner and its age."""
    tasks: dict[tuple[AgentName, str], tuple[SeedBeacon, ...]]
    """The commits that began the version's stays on the task, the present one last."""
    named: dict[tuple[str, str], SeedBeacon] = field(default_factory=dict)
    """Owner and author, in lower case, to the commit since which the owner's agents name the author."""


NO_AUTHORS: Mapping[str, Collection[str]] = {}


def version_origins(
    repository: GitRepository,
    main_sha: str,
    digests: Mapping[AgentName, str],
    tasks: Mapping[AgentName, Collection[str]],
    since: str | None = None,
    authors: Mapping[str, Collection[str]] = NO_AUTHORS,
) -> VersionOrigins:
    """The beacons of the versions on main, with one walk through history.

    `digests`: each folder's version. `tasks`: ids of the tasks that each folder enters. `since`: the commit that began the
    season: stays that were over by then are left out. `authors`: as in `FolderHistory.naming`.

    Raises:
        CommandError: the clone is shallow, or a version is not on main.
    """
    refuse_shallow(repository)
    history = FolderHistory(repository, main_sha)
    # A folder's current content has this digest, so few files need to be read.
    oldest = history.first(digests.keys())
    if missing := next((name for name in digests if name not in oldest), None):
        fault = f"{folder_of(missing)}: no commit of main holds version {digests[missing][:12]}"
        raise CommandError(OUR_FAULT, fault)
    versions = {name: _beacon(oldest[name]) for name in digests}
    stays = _stays(repository, main_sha, history, tasks, since)
    return VersionOrigins(versions=versions, tasks=stays, named=_named(history, authors))


def _named(history: FolderHistory, authors: Mapping[str, Collection[str]]) -> dict[tuple[str, str], SeedBeacon]:
    return {pair: _beacon(state) for pair, state in history.naming(authors).items()}


def _stays(
    repository: GitRepository,
    main_sha: str,
    history: FolderHistory,
    tasks: Mapping[AgentName, Collection[str]],
    since: str | None = None,
) -> dict[tuple[AgentName, str], tuple[SeedBeacon, ...]]:
    """The beacons of the stays, without those that were over before the commit `since`."""
    stays = history.stays(tasks)
    if since:
        order = beacon_order(repository, main_sha)
        for where, of_task in stays.items():
            stays[where] = [stay for stay in of_task if not stay.left or order[stay.left] > order[since]]
    return {where: tuple(_beacon(stay.began) for stay in of_task) for where, of_task in stays.items() if of_task}


def stay_beacons(
    repository: GitRepository,
    main_sha: str,
    digests: Mapping[AgentName, str],
    tasks: Mapping[AgentName, Collection[str]],
    since: str | None = None,
) -> dict[tuple[AgentName, str], frozenset[str]]:
    """The beacons of those versions on main that left it, or a task, and came back: several for each.

    Few files are read, since few versions do. The arguments are those of `version_origins`.

    Raises:
        CommandError: the clone is shallow.
    """
    refuse_shallow(repository)
    history = FolderHistory(repository, main_sha)
    names = history.in_several_states(digests)
    digests_on_main = history.digests(names)
    present = {name: tasks[name] for name in names if digests_on_main.get(name) == digests[name]}
    if not present:
        return {}
    stays = _stays(repository, main_sha, history, present, since)
    return {where: frozenset(beacon.sha for beacon in own) for where, own in stays.items() if len(own) > 1}


def refuse_shallow(repository: GitRepository) -> None:
    """Make sure that the clone has all of main's history.

    Raises:
        CommandError: it is shallow.
    """
    if repository.is_shallow():
        raise CommandError(
            OUR_FAULT, "the clone is shallow, so no beacon can be told; check out with fetch-depth: 2147483647"
        )


def _beacon(state: FolderState) -> SeedBeacon:
    return SeedBeacon(sha=state.sha, committed_at=state.committed_at)


def known_origins(
    repository: GitRepository,
    main_sha: str,
    digests: Mapping[AgentName, str],
    tasks: Mapping[AgentName, Collection[str]],
    since: str | None = None,
    authors: Mapping[str, Collection[str]] = NO_AUTHORS,
) -> VersionOrigins:
    """The beacons of those versions that are or were on main, and of their stays on tasks; none in a shallow clone.

    The arguments are those of `version_origins`.
    """
    if repository.is_shallow():
        return VersionOrigins(versions={}, tasks={})
    history = FolderHistory(repository, main_sha)
    digests_on_main = history.digests(digests)
    oldest: dict[AgentName, FolderState | None] = {
        **history.first([name for name in digests if digests_on_main.get(name) == digests[name]])
    }
    for name in digests.keys() - oldest.keys():
        oldest[name] = next(history.holding(name[0], digests[name]), None)
    versions = {name: _beacon(state) for name in digests if (state := oldest[name])}
    present = {name: tasks[name] for name in versions.keys() & tasks.keys() if digests_on_main.get(name) == digests[name]}
    stays = _stays(repository, main_sha, history, present, since)
    return VersionOrigins(versions=versions, tasks=stays, named=_named(history, authors))


def beacon_order(repository: GitRepository, main_sha: str) -> dict[str, int]:
    """Each commit's position in main's history: of two players' beacons the later one counts."""
    commits = repository.first_parent(main_sha)
    return {sha: len(commits) - age for age, sha in enumerate(commits)}


def admission_at(
    now: datetime, origins: VersionOrigins, members: Mapping[str, frozenset[str]] | None = None
) -> AdmissionContext:
    """What admission depends on at a moment: merge times of the versions on main and, if asked for, the teams' members."""
    return AdmissionContext(
        now=now,
        arrived={name: _merged_at(beacon) for name, beacon in origins.versions.items()},
        entered={where: _merged_at(stays[0]) for where, stays in origins.tasks.items()},
        members=members,
        named={pair: _merged_at(beacon) for pair, beacon in origins.named.items()},
    )


def admission_context(checkout: Checkout, entries: Sequence[Entry], now: datetime) -> AdmissionContext:
    """What admission depends on, from this clone: git says when versions came to main; team members are not looked up.

    Once submissions have ended, as it was then: what is merged later makes nothing late or early.
    """
    challenge = checkout.challenge
    if not (challenge.phases or challenge.quota or challenge.people.one_team_each):
        return AdmissionContext(now=now)
    clone = GitRepository(checkout.root)
    try:
        if main := clone.resolve("HEAD"):
            season = season_commits(clone, main, challenge.season)
            until = season.final.sha if challenge.is_final and season.final else main
            if checkout.revealed:
                until = checkout.revealed.commit or main
            digests = {entry.spelled_name: entry.digest for entry in entries}
            tasks, authors = tasks_by_name(challenge, entries), authors_by_owner(challenge, entries)
            return admission_at(now, known_origins(clone, until, digests, tasks, season.began, authors))
    except CommandError:
        pass
    return AdmissionContext(now=now)  # Not a git clone: every version counts as arriving now.


def _merged_at(beacon: SeedBeacon) -> datetime:
    return datetime.fromisoformat(beacon.committed_at).astimezone(UTC)


_RULES = "challenge.yml"


@dataclass(frozen=True, kw_only=True)
class SeasonCommits:
    """Commits of main, by first parents."""

    began: str | None
    """The first whose challenge.yml names the season; None if there is none."""
    final: SeedBeacon | None
    """The first that ended the season's submissions: what challenge.yml says later does not change it."""


def checked_season_commits(repository: GitRepository, main_sha: str, challenge: Challenge) -> SeasonCommits:
    """The commits of the challenge's season; its submissions have ended if and only if challenge.yml still says so.

    Raises:
        CommandError: the clone is shallow, or challenge.yml and main's history do not agree.
    """
    commits, season = season_commits(repository, main_sha, challenge.season), challenge.season
    if challenge.sealed:
        return SeasonCommits(began=commits.began, final=None)
    if challenge.is_final and commits.final is None:
        fault = "no commit of main says so; merge challenge.yml into main, and pull main"
        raise CommandError(USAGE, f"challenge.yml ends the submissions of season {season}, but {fault}")
    if commits.final and not challenge.is_final:
        fault = f"write 'final: \"{season}\"' into challenge.yml again, or give the season another name"
        raise CommandError(USAGE, f"the submissions of season {season} ended with commit {commits.final.sha[:12]}; {fault}")
    return commits


def season_commits(repository: GitRepository, main_sha: str, season: str) -> SeasonCommits:
    """Where a season began and ended, as far as main has come.

    Raises:
        CommandError: the clone is shallow.
    """
    refuse_shallow(repository)
    commits = [(sha, at, changes[0][1]) for sha, at, changes in read_commits(repository, main_sha, _RULES)]
    oids = sorted({oid for _, _, oid in commits if oid.strip("0")})
    rules = dict(zip(oids, map(_season_and_final, repository.read(oids) if oids else ()), strict=True))
    named = [(sha, at, rules[oid][1]) for sha, at, oid in commits if oid in rules and rules[oid][0] == season]
    final = next((SeedBeacon(sha=sha, committed_at=at) for sha, at, ended in named if ended == season), None)
    return SeasonCommits(began=named[0][0] if named else None, final=final)


def _season_and_final(content: bytes) -> tuple[object, object]:
    """What a challenge.yml says of its season; earlier versions of the file need not fit today's schema."""
    try:
        document, _ = parse_yaml(content, _RULES, MAX_CHALLENGE_BYTES)
    except LoadError:
        return None, None
    return (document.get("season"), document.get("final")) if isinstance(document, dict) else (None, None)


@dataclass(frozen=True, kw_only=True)
class FinalEntries:
    """The standing versions of a season whose submissions have ended."""

    sha: str
    """The commit of main that ended them; of a sealed season, where main stood at its reveal."""
    draws: FinalDraws
    entries: tuple[Entry, ...]
    """The agents on that commit: what was merged or removed later changes nothing."""


def final_entries(checkout: Checkout) -> FinalEntries:
    """The standing versions of a checkout in which the season's submissions have ended.

    Raises:
        CommandError: this is no clone with main's whole history, or no commit of main ended them.
    """
    clone = GitRepository(checkout.root)
    return entries_at_the_end(clone, clone.resolve("HEAD") or "", checkout)


def entries_at_the_end(clone: GitRepository, main_sha: str, checkout: Checkout) -> FinalEntries:
    """The same for a commit of main.

    Raises:
        CommandError: as `final_entries`.
    """
    challenge = checkout.challenge
    if checkout.revealed:
        sha, ended_at = checkout.revealed.commit or main_sha, checkout.revealed.at
        if sha not in clone.first_parent(main_sha):
            fault = f"this clone lacks commit {sha[:12]}, where main stood at the reveal of season {challenge.season}"
            raise CommandError(USAGE, f"{fault}; check out main with its whole history")
    else:
        final = checked_season_commits(clone, main_sha, challenge).final
        assert final is not None
        sha, ended_at = final.sha, _merged_at(final).strftime("%Y-%m-%dT%H:%M:%SZ")
    entries, _ = read_entries(clone, sha, challenge)
    draws = FinalDraws(beacon=challenge.sealed_beacon or sha, ended_at=ended_at)
    return FinalEntries(sha=sha, draws=draws, entries=tuple(entries))
