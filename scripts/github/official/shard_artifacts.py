"""What shards hand in, treated as hostile: which folders are shards of this round, and which of their files to read.

A shard must be the one that its folder's name says, with a claim that fits. A single bad file costs only its own result.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from evaluator.model import canonical_json
from evaluator.model.records.duel_record import duel_path
from evaluator.model.records.result import result_path
from evaluator.model.records.trace import MAX_TRACE_BYTES
from evaluator.model.validation_messages import error_in_words
from leaderboard.core.store import RECORD_ENDING, TRACE_ENDING
from leaderboard.planning.missing_work import DuelWorkItem
from scripts.github.official.evaluate_shard import CLAIM_FILE, ShardAssignment, ShardClaim
from scripts.github.official.round_work import RoundWork, RoundWorkItem

# Of a script's record most are its episodes; sealed it is padded to a power of two, in base64.
MAX_RESULT_BYTES = 16 << 20
# What reading an untrusted file can raise: parsers, conversions and arithmetic on parsed values, and the disk.
READ_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, OSError, RecursionError, MemoryError)
_SHARD_NAME = re.compile(r"(?:.*-)?shard-(\d{1,3})")


class ShardClaimError(Exception):
    """A folder does not hold what its shard should hand in; one line says why."""


@dataclass(frozen=True, kw_only=True)
class ShardFile:
    """One result file of a shard, unread."""

    shard: Path
    item: RoundWorkItem
    path: str
    """Below results/ and traces/, without the ending."""
    fault: str = ""
    """Why its files cannot be read; empty if they can."""

    @property
    def result(self) -> Path:
        """Path of the result file."""
        return self.shard / "results" / (self.path + RECORD_ENDING)

    @property
    def trace(self) -> Path:
        """Path of the trace file, which may be missing; a duel has none."""
        return self.shard / "traces" / (self.path + TRACE_ENDING)


def item_path(item: RoundWorkItem) -> str:
    """Path of an item's result below results/, without the ending."""
    if isinstance(item, DuelWorkItem):
        first, second = (f"{entry.login}+{entry.agent}" for entry in item.entries)
        return duel_path(item.task_id, first, second, item.wanted.key())
    entry = item.entry
    return result_path(item.task_id, entry.login, entry.agent, item.wanted.key())


def shard_folders(paths: Iterable[Path]) -> list[Path]:
    """The shards' folders: those given, and those inside the given ones."""
    folders: list[Path] = []
    for path in paths:
        inner = sorted(p for p in path.iterdir() if p.is_dir() and not p.is_symlink()) if path.is_dir() else []
        folders.extend([path] if _SHARD_NAME.fullmatch(path.name) else [p for p in inner if _SHARD_NAME.fullmatch(p.name)])
    return folders


def loose_folder_lines(paths: Iterable[Path]) -> list[str]:
    """A line for each given folder that is itself a shard's content.

    A shard's number is taken from the folder name, which the workflow gives, and never from the content: so such a folder
    cannot be used.
    """
    loose = [path for path in paths if not _SHARD_NAME.fullmatch(path.name) and os.path.lexists(path / CLAIM_FILE)]
    return [f"{path.name}: holds a shard's files, but its name is not 'shard-' and a number" for path in loose]


def shard_number(folder: Path) -> int:
    """The shard's number by its folder's name, which the workflow gives, and whoever took one of the run's machines over."""
    match = _SHARD_NAME.fullmatch(folder.name)
    assert match is not None
    return int(match[1])


def read_shard(folder: Path, assignment: ShardAssignment, work: RoundWork) -> tuple[list[ShardFile], list[str]]:
    """The requested results in a shard's folder, and lines about what else is there, of which nothing is read.

    Raises:
        ShardClaimError: it is of another round or another shard.
    """
    number, count = shard_number(folder), len(work.packing.shards)
    if number >= count:
        raise ShardClaimError(f"there are {count} shards in this round")
    items = {item_path(item): item for item in work.shard(number)}
    expected = replace(assignment, shards=count, shard=number).claim(tuple(item.wanted.key() for item in items.values()))
    traced = (path for path, item in items.items() if not isinstance(item, DuelWorkItem))
    results, traces = (
        (f"results/{path}{RECORD_ENDING}" for path in items),
        (f"traces/{path}{TRACE_ENDING}" for path in traced),
    )
    files, strange = _survey(folder, {CLAIM_FILE, *results, *traces})
    if _read_claim(folder, files) != expected:
        raise ShardClaimError(f"{CLAIM_FILE} is not what shard {number} of this round was asked")
    shard_files = []
    for path, item in items.items():
        if (result := f"results/{path}{RECORD_ENDING}") in files:
            trace = f"traces/{path}{TRACE_ENDING}"
            fault = files[result] or files.get(trace, "")
            if trace not in files and os.path.lexists(folder / trace):
                fault = fault or f"{trace!r} lies behind a link"
            shard_files.append(ShardFile(shard=folder, item=item, path=path, fault=fault))
    return shard_files, strange


def _survey(folder: Path, expected_files: set[str]) -> tuple[dict[str, str], list[str]]:
    """The expected files that are there, each with the reason why it cannot be read or "", and lines about everything else.

    Only folders on the way to expected files are listed, nothing is opened, and no link is followed: depth and number of
    unexpected files cost no more than counting.
    """
    parents = {"/".join(path.split("/")[:depth]) for path in expected_files for depth in range(1, path.count("/") + 1)}
    files: dict[str, str] = {}
    lines: list[str] = []
    count, example, waiting = 0, "", [""]
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(folder / place) as entries:
                for entry in entries:
                    path = f"{place}/{entry.name}".lstrip("/")
                    if path in expected_files:
                        files[path] = _file_fault(path, entry.stat(follow_symlinks=False))
                    elif path in parents and entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
                    else:
                        count, example = count + 1, min(example or path, path)
        except OSError as error:
            lines.append(f"{place or 'the folder'!r} cannot be read: {error.strerror}")
    if count:
        lines.append(f"holds {count} files or folders that were not asked, such as {example!r}"[:300])
    return files, lines


def _file_fault(path: str, status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):
        return f"{path!r} is not a plain file"
    most = MAX_TRACE_BYTES if path.endswith(TRACE_ENDING) else MAX_RESULT_BYTES
    return f"{path!r} is too large: {status.st_size:,} bytes, more than {most:,}" if status.st_size > most else ""


def _read_claim(folder: Path, files: dict[str, str]) -> ShardClaim:
    if CLAIM_FILE not in files:
        raise ShardClaimError(f"{CLAIM_FILE} is missing")
    if files[CLAIM_FILE]:
        raise ShardClaimError(files[CLAIM_FILE])
    try:
        return ShardClaim.model_validate(canonical_json.parse_strict((folder / CLAIM_FILE).read_bytes()))
    except (ValueError, OSError) as error:
        raise ShardClaimError(f"{CLAIM_FILE} is not a shard's claim: {error_in_words(error, 150)}") from error


@dataclass(kw_only=True)
class ShardUploads:
    """What the shards of a round handed in, unread."""

    files: list[ShardFile] = field(default_factory=list)
    good: set[int] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    """A line for everything that is not looked at."""


def receive_shards(assignment: ShardAssignment, work: RoundWork, paths: Sequence[Path]) -> ShardUploads:
    """Everything that the shards of a round handed in, without what is refused unread."""
    folders = shard_folders(paths)
    # Which of several folders of one number is forged cannot be known.
    doubled = [number for number, count in sorted(Counter(map(shard_number, folders)).items()) if count > 1]
    received = ShardUploads(refused=loose_folder_lines(paths))
    received.refused += [f"shard {number}: was handed in twice; both are refused" for number in doubled]
    for folder in folders:
        number = shard_number(folder)
        if number in doubled:
            continue
        try:
            files, strange = read_shard(folder, assignment, work)
        except ShardClaimError as error:
            received.refused.append(f"shard {number}: {error}")
            continue
        received.files += files
        received.good.add(number)
        received.refused += [f"shard {number}: {line}" for line in strange]
    return received
