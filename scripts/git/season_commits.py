"""The commits of main that began a season and ended its submissions, from the history of challenge.yml."""

from dataclasses import dataclass

from evaluator.host.loading.yaml_loader import MAX_CHALLENGE_BYTES, LoadError, parse_yaml
from evaluator.model.config.challenge import Challenge
from scripts.console import USAGE, CommandError
from scripts.git.folder_history import read_commits
from scripts.git.git_repository import GitRepository
from scripts.git.version_origins import SeedBeacon, refuse_shallow

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
