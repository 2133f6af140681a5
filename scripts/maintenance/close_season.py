"""The end of a season: the final draws after the end of submissions; then the site is frozen under seasons/ and packed."""

import gzip
import hashlib
import io
import json
import re
import shutil
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from evaluator.host.digests.runtime_digest import lock_digests
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.host.solo.verify_result import TRACE_MISSING
from evaluator.host.verification import Verification, VerificationStatus
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import PhaseState
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official, quarantine_of, without_quarantined
from leaderboard.core.store import RETRIED_INFIX, write_atomically
from leaderboard.core.version_folders import version_folders
from leaderboard.pages.closed_season import SeasonSummary, season_page
from leaderboard.planning.admission_rules import admit_work, evaluated_versions
from leaderboard.planning.missing_work import INTERNAL_ERROR_LIMIT, DuelWorkItem, MeasurementContext, WorkItem, work_in_words
from leaderboard.text.format import quantity
from leaderboard.text.phases import shown_phases
from leaderboard.text.serialise import misc_entry
from leaderboard.text.urls import traces_branch_name
from leaderboard.visibility import is_anonymous
from scripts.console import SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.git.season_commits import FinalEntries, final_entries
from scripts.repository.checkout import Checkout
from scripts.repository.season_file import SEASON_FILE, SeasonClosing
from scripts.standings.admission_context import admission_context
from scripts.standings.recorded_standings import recorded_standings, sandbox_rule
from scripts.static_site import build_site
from scripts.verification.verify_records import verify_files

_SEASON_LINE = re.compile(r"^season:.*$", re.MULTILINE)


def refuse_open_phases(challenge: Challenge, now: datetime) -> None:
    """Make sure that no phase is open or begins later: the end of submissions ends it, and cannot be taken back.

    Raises:
        CommandError: a phase does.
    """
    ends = {
        shown.phase.id: shown
        for shown in shown_phases(challenge, now)
        if shown.state in (PhaseState.OPEN, PhaseState.BEGINS_LATER)
    }
    if not ends:
        return
    named = ", ".join(f"'{name}' ({shown.dates}: {shown.state})" for name, shown in ends.items())
    which, them = ("phases", "them") if len(ends) > 1 else ("phase", "it")
    raise CommandError(
        USAGE,
        f"{which} {named} would end with the submissions of season {challenge.season}, which cannot be taken back; "
        f"wait for the end, or pass --yes to end {them} too",
    )


def write_final(path: Path, challenge: Challenge) -> None:
    """Write into challenge.yml that the season's submissions end with the commit that brings this to main.

    Raises:
        CommandError: it says so already, the season is sealed, or the line has to be written by hand.
    """
    season = challenge.season
    if challenge.is_final:
        raise CommandError(USAGE, f"challenge.yml says already that the submissions of season {season} have ended; merge it")
    if challenge.sealed:
        raise CommandError(USAGE, f"season {season} is sealed, and has no final draws; run 'pullrank season reveal' instead")
    text = re.sub(r"^final:.*\n?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    line = f'final: "{season}"'
    changed = _SEASON_LINE.sub(lambda match: f"{match[0]}\n{line}", text, count=1)
    try:
        is_final = parse_challenge(changed.encode()).is_final
    except LoadError:
        is_final = False
    if not is_final:
        raise CommandError(USAGE, f"challenge.yml is written in a form of its own; write {line} below its season by hand")
    write_atomically(path, changed.encode())


def _refuse_unready(checkout: Checkout, now: datetime) -> None:
    challenge, season = checkout.challenge, checkout.challenge.season
    entry = checkout.seasons.of(season)
    if entry.closed:
        raise CommandError(USAGE, f"season {season} was closed at {entry.closed.at}; the next one needs another name")
    if challenge.sealed and not entry.revealed:
        raise CommandError(USAGE, f"season {season} is sealed; run 'pullrank season reveal' first")
    if not challenge.sealed:
        refuse_missing_final_work(checkout, now)
    if is_anonymous(challenge, now):
        reason = "hides names, without which nobody can see that an owner holds one place; close it once they are shown"
        raise CommandError(USAGE, f"season {season} still {reason}")
    if hidden := [phase.id for phase in challenge.phases if not phase.is_shown(now)]:
        reason = f"hides the boards of {', '.join(hidden)}, which its frozen pages would lack; close it once they are shown"
        raise CommandError(USAGE, f"season {season} still {reason}")
    if checkout.moderation.quarantines:
        _refuse_awaited_replays(checkout)


def refuse_missing_final_work(checkout: Checkout, now: datetime) -> None:
    """Make sure that every standing version has its final draw, which alone ranks in the end.

    Raises:
        CommandError: submissions have not ended, or draws are missing.
    """
    season = checkout.challenge.season
    if not checkout.challenge.is_final:
        steps = "run 'pullrank season final', merge challenge.yml, and close it when the official run has made them"
        raise CommandError(USAGE, f"season {season} has no final draws yet; {steps}")
    missing = [work_in_words(item) for item in missing_final_work(checkout, final_entries(checkout), now)]
    if missing:
        steps = "wait for the official run, then run 'pullrank recorded' and close it"
        shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise CommandError(USAGE, f"season {season} lacks {len(missing)} final draws ({shown}); {steps}")


def missing_final_work(checkout: Checkout, final: FinalEntries, now: datetime) -> Iterator[WorkItem | DuelWorkItem]:
    """The evaluations for final ranks that the official run still has to make, whatever evaluator made the others."""
    challenge, moderation = checkout.challenge, checkout.moderation
    entries = [entry for entry in final.entries if moderation.exclusion_of(*entry.version) is None]
    every_result, every_duel = checkout.recorded[0], checkout.recorded_duels[0]
    results = without_quarantined(every_result, moderation, keep_not_replayed=True)
    duels = without_quarantined(every_duel, moderation, keep_not_replayed=True)
    beacon = final.draws.beacon
    measurement = MeasurementContext(runtime_digest="0" * 64, beacon=beacon, locks=lock_digests())
    admitted = admit_work(challenge, entries, results, duels, measurement, admission_context(checkout, entries, now))
    folders = version_folders(entries)
    digests = {task.id: task.digest() for task in challenge.tasks}
    records: list[Result | Duel] = [*results, *duels]
    official = [record for record in records if is_official(record)]
    done = Counter(
        (record.task, *map(folders.of, record.sides))
        for record in official
        if (record.beacon, record.season, digests.get(record.task)) == (beacon, challenge.season, record.task_digest)
        for _ in range(1 if record.verdict is Verdict.INTERNAL_ERROR else INTERNAL_ERROR_LIMIT)
    )
    evaluated = evaluated_versions([*every_result, *every_duel], challenge.season)
    for item in admitted.items:
        names = tuple(entry.name for entry in item.players)
        phase = challenge.phase_of(item.task_id)
        # Nobody here can see who is a member of a team; who is has been evaluated before, or is by the official run.
        version = names[0].login, item.players[0].digest, item.task_id
        is_unknown = bool(phase and phase.teams) and version not in evaluated
        if done[item.task_id, *names] < INTERNAL_ERROR_LIMIT and not is_unknown:
            yield item


MANIFEST = "MANIFEST.sha256"


def _write_archive(target: Path, root: str, files: Iterable[tuple[str, Path]], timestamp: int) -> tuple[str, str]:
    """Write a reproducible archive: owners, modes, order and times are fixed. Returns the SHA-256 of it and its manifest.

    `target` ends in .tar.gz; `files`: names below the folder `root`, and paths; `timestamp`: the time of all, in seconds
    since 1970.
    """
    ordered = sorted(files)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n" for name, path in ordered]
    manifest = "".join(lines).encode()
    raw = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=raw, mode="wb", mtime=timestamp, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for name, path in ordered:
            _add(tar, f"{root}/{name}", path.read_bytes(), timestamp)
        _add(tar, f"{root}/{MANIFEST}", manifest, timestamp)
    write_atomically(target, raw.getvalue())
    return hashlib.sha256(raw.getvalue()).hexdigest(), hashlib.sha256(manifest).hexdigest()


def _add(tar: tarfile.TarFile, name: str, content: bytes, timestamp: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(content), timestamp, 0o644
    tar.addfile(member, io.BytesIO(content))


@dataclass(frozen=True, kw_only=True)
class Citation:
    """How to cite a closed season."""

    challenge: Challenge
    by: str
    """The author: who signs for the season."""
    date: str
    """The closing date, such as 2026-12-31."""

    @property
    def title(self) -> str:
        """Leaderboard and season."""
        return f"{self.challenge.title}, season {self.challenge.season}"

    def cff(self) -> str:
        """CITATION.cff, version 1.2.0; values are written as JSON, which is valid YAML."""
        fields: dict[str, object] = {
            "cff-version": "1.2.0",
            "message": "If you use these results, please cite them like this.",
            "type": "dataset",
            "title": self.title,
            "version": self.challenge.season,
            "date-released": self.date,
            "authors": [{"name": self.by}],
        }
        if self.challenge.repository:
            fields["repository-code"] = self.challenge.repository
        return "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())

    def bibtex(self) -> str:
        """A BibTeX entry of type misc."""
        key = (self.challenge.title, self.challenge.season)
        address = self.challenge.repository
        return misc_entry(key, title=self.title, author=self.by, date=self.date, address=address)


# Parts of a built site that belong to its root address only.
_ROOT_ONLY = ("seasons", "404.html", "sitemap.xml", "sitemap.xml.gz")
LISTED_FAULTS = 5


def close_season(checkout: Checkout, by: str, now: datetime, *, even_empty: bool = False) -> tuple[SeasonClosing, Path]:
    """Verify, freeze, cite and pack a season; returns its end, which the caller writes to season.json, and the archive.

    Raises:
        CommandError: the season is still sealed, hides names or is already closed, a final draw or a replay is missing,
            or a record does not verify.
    """
    challenge, season = checkout.challenge, checkout.challenge.season
    revealed = checkout.seasons.of(season).revealed
    _refuse_unready(checkout, now)
    files = counted_record_files(checkout)
    if not files and not even_empty:
        steps = "run 'pullrank recorded' and fetch the traces first, or pass --yes to close it all the same"
        raise CommandError(USAGE, f"season {season} has no official result here; {steps}")
    verifications = verify_files(challenge, checkout.store, files, quiet=False)
    _refuse_unverified(verifications, season)
    at = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    folder = closed_season_folder(checkout)
    shutil.rmtree(folder, ignore_errors=True)
    built = build_site.build(checkout, official=True)
    shutil.copytree(built, folder, ignore=lambda place, names: _ROOT_ONLY if Path(place) == built else ())
    citation = Citation(challenge=challenge, by=by, date=at[:10])
    citations = (checkout.root / "CITATION.cff", citation.cff()), (folder / "citation.bib", citation.bibtex())
    for path, text in citations:
        write_atomically(path, text.encode())
    archive = checkout.root / "build" / "seasons" / f"{folder.name}.tar.gz"
    content = _archived_files(checkout, files, folder)
    archive_sha256, manifest_sha256 = _write_archive(archive, f"season-{folder.name}", content, int(now.timestamp()))
    verified = sum(verification.status is VerificationStatus.VERIFIED for verification in verifications)
    closing = SeasonClosing(
        at=at, by=by, results=verified, steps=sum(verification.steps for verification in verifications),
        files_sha256=manifest_sha256, archive_sha256=archive_sha256,
    )  # fmt: skip
    summary = SeasonSummary(
        at=at, by=by, results=verified, stale=len(verifications) - verified, steps=closing.steps,
        manifest_sha256=manifest_sha256, archive=archive.name, archive_sha256=archive_sha256,
        bibtex=citation.bibtex(), revealed=revealed.secret if revealed else None,
    )  # fmt: skip
    write_atomically(folder / "summary.md", season_page(recorded_standings(checkout, official=True), summary).encode())
    return closing, archive


def closed_season_folder(checkout: Checkout) -> Path:
    """Where the pages of the closed season lie."""
    return checkout.root / "site" / "pages" / "seasons" / safe_path_segment(checkout.challenge.season)


def counted_record_files(checkout: Checkout) -> list[Path]:
    """The files of the season's official results and duels, without those that a quarantine hides."""
    results, damaged = checkout.recorded
    duels, damaged_duels = checkout.recorded_duels
    if broken := [*damaged, *damaged_duels]:
        raise CommandError(
            SUBMISSION_AT_FAULT, *(f"{file.path}: is damaged ({file.reason})" for file in broken[:LISTED_FAULTS])
        )
    sandbox_fault = sandbox_rule(checkout)

    def counts(record: Result | Duel) -> bool:
        is_counted = record.season == checkout.challenge.season and is_official(record) and sandbox_fault(record) is None
        return is_counted and quarantine_of(record, checkout.moderation) is None

    paths = {checkout.store.path_of(result) for result in results if counts(result)}
    files = [path for path in checkout.store.files() if path in paths or _is_failed_attempt(path, paths)]
    return [*files, *(checkout.store.path_of(duel) for duel in duels if counts(duel))]


def _refuse_awaited_replays(checkout: Checkout) -> None:
    """Refuse while a version on main has a result that is hidden and not yet evaluated again."""
    clone, challenge = GitRepository(checkout.root), checkout.challenge
    digests_on_main = {entry.digest for entry in read_entries(clone, clone.resolve("HEAD") or "", challenge)[0]}
    hiding = [
        quarantine_of(result, checkout.moderation)
        for result in checkout.recorded[0]
        if result.season == challenge.season and is_official(result) and result.submission_digest in digests_on_main
    ]
    if count := sum(quarantine is not None and quarantine.replay for quarantine in hiding):
        raise CommandError(
            USAGE,
            f"{count} results of season {challenge.season} are in quarantine and wait for their replay; close it once they "
            "are recorded again, or write 'replay: false' in moderation.yml to leave them out",
        )


def _is_failed_attempt(path: Path, paths: set[Path]) -> bool:
    """Whether it is an internal error, which lies beside the result's path: `<key>.try1.json`."""
    name, separator, _ = path.name.partition(RETRIED_INFIX)
    return bool(separator) and path.with_name(f"{name}.json") in paths


def _refuse_unverified(verifications: Sequence[Verification], season: str) -> None:
    unverified = [f for f in verifications if f.status in (VerificationStatus.REFUTED, VerificationStatus.SEALED)]
    if not unverified:
        return
    lacking = [each for each in unverified if each.faults[0] == TRACE_MISSING]
    lines = [
        f"{each.path}: its trace is not in this clone"
        if each in lacking
        else f"{each.path}: {each.status}: {each.faults[0]}"
        for each in unverified[:LISTED_FAULTS]
    ]
    more = [f"and {len(unverified) - LISTED_FAULTS} more"] if len(unverified) > LISTED_FAULTS else []
    fetch = f"git fetch origin {traces_branch_name(season)} && mkdir -p traces && git archive FETCH_HEAD | tar -x -C traces"
    hint = [f"fetch the traces: {fetch}"] if lacking else []
    what = "cannot be verified" if len(lacking) == len(unverified) else "did not verify"
    raise CommandError(
        SUBMISSION_AT_FAULT, f"{quantity(len(unverified), 'result')} {what}; nothing was closed", *lines, *more, *hint
    )


def _archived_files(checkout: Checkout, files: Sequence[Path], folder: Path) -> list[tuple[str, Path]]:
    """Results, traces, site and rules: name in the archive, and path."""
    store = checkout.store
    content = [(f"results/{path.relative_to(store.results).as_posix()}", path) for path in files]
    traces = (store.trace_of(path) for path in files if path.is_relative_to(store.results))
    content += [(f"traces/{path.relative_to(store.traces).as_posix()}", path) for path in traces if path.exists()]
    pages = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    content += [(f"site/{path.relative_to(folder).as_posix()}", path) for path in pages]
    root_files = ("challenge.yml", "moderation.yml", "CITATION.cff")
    content += [(name, checkout.root / name) for name in root_files if (checkout.root / name).is_file()]
    if (store.results / SEASON_FILE).is_file():
        content.append((f"results/{SEASON_FILE}", store.results / SEASON_FILE))
    return content
