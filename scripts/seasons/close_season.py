"""Closing a season: everything is verified, the board is frozen under its own address, and an archive is packed."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from evaluator.host.solo.verify_result import Finding, VerificationStatus
from evaluator.model.identifiers import safe_path_segment
from leaderboard.core.eligibility import is_official
from leaderboard.core.store import write_atomically
from leaderboard.pages.page_renderer import Freeze, season_page
from scripts.console import SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.git.data_branches import traces_branch
from scripts.repository.checkout import Checkout
from scripts.repository.recorded_standings import recorded_standings
from scripts.repository.season_file import NAME, Closing
from scripts.seasons.archive import Citation, SeasonArchive, files_under, write_archive
from scripts.static_site import build_site
from scripts.verification.verify_records import verify_files

# Of a built site what belongs to its address and not to its content: other seasons have addresses of their own.
_NOT_COPIED = ("seasons", "404.html", "sitemap.xml", "sitemap.xml.gz")
SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class ClosedSeason:
    """What closing a season made."""

    closing: Closing
    archive: SeasonArchive
    written: tuple[Path, ...]
    """What is to be committed."""


def close_season(board: Checkout, by: str, now: datetime, *, quiet: bool) -> ClosedSeason:
    """Verify, freeze, cite and pack a season; season.json is the caller's to write.

    Raises:
        CommandError: the season is sealed or closed already, or something recorded does not verify.
    """
    challenge, season = board.challenge, board.challenge.season
    known = board.seasons.of(season)
    if known.closed:
        raise CommandError(USAGE, f"season {season} was closed at {known.closed.at}; the next one begins with another name")
    if challenge.sealed and not known.revealed:
        raise CommandError(USAGE, f"season {season} is sealed; run 'pullrank season reveal' first")
    files = _of_season(board)
    findings = verify_files(challenge, board.store, files, quiet=quiet)
    _all_verified(findings, season)
    at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    folder = board.root / "site" / "pages" / "seasons" / safe_path_segment(season)
    shutil.rmtree(folder, ignore_errors=True)
    built = build_site.build(board, official=True)
    shutil.copytree(built, folder, ignore=lambda place, names: _NOT_COPIED if Path(place) == built else ())
    citation = Citation(challenge=challenge, by=by, date=at[:10], address=None)
    cited = (board.root / "CITATION.cff", citation.cff()), (folder / "citation.bib", citation.bibtex())
    for path, text in cited:
        write_atomically(path, text.encode())
    archive = _packed(board, files, folder, int(now.timestamp()))
    verified = sum(finding.standing is VerificationStatus.VERIFIED for finding in findings)
    closing = Closing(
        at=at, by=by, results=verified, steps=sum(finding.steps for finding in findings),
        files_sha256=archive.manifest_sha256, archive_sha256=archive.sha256,
    )  # fmt: skip
    freeze = Freeze(
        at=at, by=by, results=verified, stale=len(findings) - verified, steps=closing.steps,
        manifest_sha256=archive.manifest_sha256, archive=archive.path.name, archive_sha256=archive.sha256,
        bibtex=citation.bibtex(), revealed=known.revealed.secret if known.revealed else None,
    )  # fmt: skip
    write_atomically(folder / "summary.md", season_page(recorded_standings(board, official=True), freeze).encode())
    return ClosedSeason(closing=closing, archive=archive, written=(folder, board.root / "CITATION.cff"))


def _of_season(board: Checkout) -> list[Path]:
    """The files of what counts in the season, results and duels."""
    results, damaged = board.recorded
    duels, damaged_duels = board.recorded_duels
    if broken := [*damaged, *damaged_duels]:
        raise CommandError(SUBMISSION_AT_FAULT, *(f"{one.path}: is damaged ({one.reason})" for one in broken[:SHOWN]))
    season = board.challenge.season
    paths = {board.store.result_path(result) for result in results if result.season == season and is_official(result)}
    found = [path for path in board.store.files() if path in paths or _is_try(path, paths)]
    return [*found, *(board.store.duel_path_of(duel) for duel in duels if duel.season == season and is_official(duel))]


def _is_try(path: Path, paths: set[Path]) -> bool:
    """Whether it is a failure of ours that lies beside where its result would: `<key>.try1.json`."""
    name, _, rest = path.name.partition(".try")
    return bool(rest) and path.with_name(f"{name}.json") in paths


def _all_verified(findings: Sequence[Finding], season: str) -> None:
    wrong = [f for f in findings if f.standing in (VerificationStatus.REFUTED, VerificationStatus.SEALED)]
    if not wrong:
        return
    lines = [f"{finding.path}: {finding.standing}: {finding.faults[0]}" for finding in wrong[:SHOWN]]
    more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    missing = any("trace is missing" in finding.faults[0] for finding in wrong)
    hint = [f"traces are on the branch {traces_branch(season)}; check it out at traces/"] if missing else []
    raise CommandError(SUBMISSION_AT_FAULT, f"{len(wrong)} results do not verify; nothing was closed", *lines, *more, *hint)


def _packed(board: Checkout, files: Sequence[Path], folder: Path, moment: int) -> SeasonArchive:
    """Results, traces, site and rules in one file."""
    store, season = board.store, safe_path_segment(board.challenge.season)
    packed = [(f"results/{path.relative_to(store.results).as_posix()}", path) for path in files]
    traces = (store.trace_of(path) for path in files if path.is_relative_to(store.results))
    packed += [(f"traces/{path.relative_to(store.traces).as_posix()}", path) for path in traces if path.exists()]
    packed += files_under(folder, "site")
    beside = ("challenge.yml", "moderation.yml", "CITATION.cff")
    packed += [(name, board.root / name) for name in beside if (board.root / name).is_file()]
    if (store.results / NAME).is_file():
        packed.append((f"results/{NAME}", store.results / NAME))
    return write_archive(board.root / "build" / "seasons" / f"{season}.tar.gz", f"season-{season}", packed, moment)
