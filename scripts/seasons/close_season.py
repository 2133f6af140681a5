"""Closing a season: verifies everything, freezes the site under seasons/, and packs an archive."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from evaluator.host.solo.verify_result import Finding, VerificationStatus
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import is_official
from leaderboard.core.store import write_atomically
from leaderboard.pages.page_renderer import SeasonSummary, season_page
from leaderboard.visibility import is_anonymous
from scripts.console import SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.git.data_branches import traces_branch
from scripts.git.git_repository import GitRepository
from scripts.git.recorded_standings import SandboxRules, recorded_standings
from scripts.repository.checkout import Checkout
from scripts.repository.season_file import SEASON_FILE, SeasonClosing
from scripts.seasons.archive import Citation, SeasonArchive, files_under, write_archive
from scripts.seasons.final_draws import refuse_missing_draws
from scripts.static_site import build_site
from scripts.verification.verify_records import verify_files

# Parts of a built site that belong to its root address only.
_ROOT_ONLY = ("seasons", "404.html", "sitemap.xml", "sitemap.xml.gz")
LISTED_FAULTS = 5


@dataclass(frozen=True, kw_only=True)
class ClosedSeason:
    """The result of closing a season."""

    closing: SeasonClosing
    archive: SeasonArchive
    written: tuple[Path, ...]
    """Paths to commit."""


def close_season(checkout: Checkout, by: str, now: datetime, *, quiet: bool) -> ClosedSeason:
    """Verify, freeze, cite and pack a season; the caller writes season.json.

    Raises:
        CommandError: the season is still sealed, hides names or is already closed, a final draw is missing, or a record
            does not verify.
    """
    challenge, season = checkout.challenge, checkout.challenge.season
    entry = checkout.seasons.of(season)
    if entry.closed:
        raise CommandError(USAGE, f"season {season} was closed at {entry.closed.at}; the next one needs another name")
    if challenge.sealed and not entry.revealed:
        raise CommandError(USAGE, f"season {season} is sealed; run 'pullrank season reveal' first")
    if not challenge.sealed:
        refuse_missing_draws(checkout, now)
        if is_anonymous(challenge, now):
            reason = "hides names, without which nobody can see that an owner holds one place; close it once they are shown"
            raise CommandError(USAGE, f"season {season} still {reason}")
    files = season_files(checkout)
    findings = verify_files(challenge, checkout.store, files, quiet=quiet)
    _refuse_unverified(findings, season)
    at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    folder = checkout.root / "site" / "pages" / "seasons" / safe_path_segment(season)
    shutil.rmtree(folder, ignore_errors=True)
    built = build_site.build(checkout, official=True)
    shutil.copytree(built, folder, ignore=lambda place, names: _ROOT_ONLY if Path(place) == built else ())
    citation = Citation(challenge=challenge, by=by, date=at[:10], address=None)
    citations = (checkout.root / "CITATION.cff", citation.cff()), (folder / "citation.bib", citation.bibtex())
    for path, text in citations:
        write_atomically(path, text.encode())
    archive = _write_season_archive(checkout, files, folder, int(now.timestamp()))
    verified = sum(finding.status is VerificationStatus.VERIFIED for finding in findings)
    closing = SeasonClosing(
        at=at, by=by, results=verified, steps=sum(finding.steps for finding in findings),
        files_sha256=archive.manifest_sha256, archive_sha256=archive.sha256,
    )  # fmt: skip
    freeze = SeasonSummary(
        at=at, by=by, results=verified, stale=len(findings) - verified, steps=closing.steps,
        manifest_sha256=archive.manifest_sha256, archive=archive.path.name, archive_sha256=archive.sha256,
        bibtex=citation.bibtex(), revealed=entry.revealed.secret if entry.revealed else None,
    )  # fmt: skip
    write_atomically(folder / "summary.md", season_page(recorded_standings(checkout, official=True), freeze).encode())
    return ClosedSeason(closing=closing, archive=archive, written=(folder, checkout.root / "CITATION.cff"))


def season_files(checkout: Checkout) -> list[Path]:
    """The files of the season's official results and duels."""
    results, damaged = checkout.recorded
    duels, damaged_duels = checkout.recorded_duels
    if broken := [*damaged, *damaged_duels]:
        raise CommandError(
            SUBMISSION_AT_FAULT, *(f"{file.path}: is damaged ({file.reason})" for file in broken[:LISTED_FAULTS])
        )
    rules = SandboxRules(GitRepository(checkout.root), checkout.challenge)

    def counts(record: Result | Duel) -> bool:
        return record.season == checkout.challenge.season and is_official(record) and rules.fault(record) is None

    paths = {checkout.store.result_path(result) for result in results if counts(result)}
    files = [path for path in checkout.store.files() if path in paths or _is_failed_attempt(path, paths)]
    return [*files, *(checkout.store.duel_path_of(duel) for duel in duels if counts(duel))]


def _is_failed_attempt(path: Path, paths: set[Path]) -> bool:
    """Whether it is an internal error, which lies beside the result's path: `<key>.try1.json`."""
    name, separator, _ = path.name.partition(".try")
    return bool(separator) and path.with_name(f"{name}.json") in paths


def _refuse_unverified(findings: Sequence[Finding], season: str) -> None:
    unverified = [f for f in findings if f.status in (VerificationStatus.REFUTED, VerificationStatus.SEALED)]
    if not unverified:
        return
    lines = [f"{finding.path}: {finding.status}: {finding.faults[0]}" for finding in unverified[:LISTED_FAULTS]]
    more = [f"and {len(unverified) - LISTED_FAULTS} more"] if len(unverified) > LISTED_FAULTS else []
    missing = any("trace is missing" in finding.faults[0] for finding in unverified)
    hint = [f"traces are on the branch {traces_branch(season)}; check it out at traces/"] if missing else []
    raise CommandError(
        SUBMISSION_AT_FAULT, f"{len(unverified)} results do not verify; nothing was closed", *lines, *more, *hint
    )


def _write_season_archive(checkout: Checkout, files: Sequence[Path], folder: Path, timestamp: int) -> SeasonArchive:
    """Pack results, traces, site and rules."""
    store, season = checkout.store, safe_path_segment(checkout.challenge.season)
    content = [(f"results/{path.relative_to(store.results).as_posix()}", path) for path in files]
    traces = (store.trace_of(path) for path in files if path.is_relative_to(store.results))
    content += [(f"traces/{path.relative_to(store.traces).as_posix()}", path) for path in traces if path.exists()]
    content += files_under(folder, "site")
    root_files = ("challenge.yml", "moderation.yml", "CITATION.cff")
    content += [(name, checkout.root / name) for name in root_files if (checkout.root / name).is_file()]
    if (store.results / SEASON_FILE).is_file():
        content.append((f"results/{SEASON_FILE}", store.results / SEASON_FILE))
    return write_archive(checkout.root / "build" / "seasons" / f"{season}.tar.gz", f"season-{season}", content, timestamp)
