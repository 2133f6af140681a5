"""The commits that began and ended a season, and the versions that rank in the end.

The commit that ended a season's submissions, by the history of challenge.yml or the reveal of a sealed season, says which
versions rank in the end; in an open season it is the beacon of their final draws.
"""

from dataclasses import dataclass

from evaluator.host.loading.yaml_loader import MAX_CHALLENGE_BYTES, LoadError, parse_yaml
from evaluator.model.config.challenge import Challenge
from leaderboard.core.entry import Entry
from leaderboard.core.standings import FinalDraws
from scripts.console import USAGE, CommandError
from scripts.git.beacons import SeedBeacon, refuse_shallow
from scripts.git.folder_history import read_commits
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.repository.checkout import Checkout

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
        sha, ended_at = final.sha, final.at.strftime("%Y-%m-%dT%H:%M:%SZ")
    entries, _ = read_entries(clone, sha, challenge)
    draws = FinalDraws(beacon=challenge.sealed_beacon or sha, ended_at=ended_at)
    return FinalEntries(sha=sha, draws=draws, entries=tuple(entries))
