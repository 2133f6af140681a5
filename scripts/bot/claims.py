"""What shards hand in, read as hostile: which folders are shards of this round, and which of their files to look at."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluator.model import canonical
from evaluator.model.duel import duel_path
from evaluator.model.result import result_path
from leaderboard.plan import DuelItem
from leaderboard.store import RESULT, TRACE
from scripts.bot.official import CLAIM, Assignment, Claim
from scripts.bot.wanted import Wish, Work

RESULT_BYTES = 8 << 20
TRACE_BYTES = 256 << 20
_NAME = re.compile(r"(?:.*-)?shard-(\d{1,3})")


class ClaimError(Exception):
    """A shard's folder is not what that shard would hand in; one line says why."""


@dataclass(frozen=True, kw_only=True)
class Handed:
    """One result file that a shard handed in, unread."""

    shard: Path
    """The shard's folder."""
    item: Wish
    """What it should be the result of."""
    path: str
    """Where it lies, without the ending, below results/ and traces/."""

    @property
    def result(self) -> Path:
        """The result file."""
        return self.shard / "results" / (self.path + RESULT)

    @property
    def trace(self) -> Path:
        """The trace file, which need not be there; a duel has none."""
        return self.shard / "traces" / (self.path + TRACE)


def item_path(item: Wish) -> str:
    """Where the result of an evaluation or a duel lies, without the ending."""
    if isinstance(item, DuelItem):
        first, second = (f"{entry.login}+{entry.agent}" for entry in item.entries)
        return duel_path(item.task_id, first, second, item.wanted.key())
    entry = item.entry
    return result_path(item.task_id, entry.login, entry.agent, item.wanted.key())


def shard_folders(given: Iterable[Path]) -> list[Path]:
    """The folders of single shards: those given, and those inside the ones given."""
    found: list[Path] = []
    for path in given:
        inner = sorted(p for p in path.iterdir() if p.is_dir() and not p.is_symlink()) if path.is_dir() else []
        found.extend([path] if _NAME.fullmatch(path.name) else [p for p in inner if _NAME.fullmatch(p.name)])
    return found


def number_of(folder: Path) -> int:
    """The shard's number by its folder's name, which the workflow gave and not the shard."""
    match = _NAME.fullmatch(folder.name)
    assert match is not None
    return int(match[1])


def handed_in(folder: Path, assignment: Assignment, work: Work) -> tuple[Handed, ...]:
    """What a shard handed in.

    Raises:
        ClaimError: it is not this round's, not this shard's, or holds files that no shard writes.
    """
    number = number_of(folder)
    if number >= len(work.packing.shards):
        raise ClaimError(f"there are {len(work.packing.shards)} shards in this round")
    sizes = dict(_files(folder))
    items = work.shard(number)
    keys = tuple(item.wanted.key() for item in items)
    expected = Assignment(
        sha=assignment.sha, results_sha=assignment.results_sha, shards=len(work.packing.shards), shard=number
    ).claim(keys)
    if _claim(folder, sizes) != expected:
        raise ClaimError(f"{CLAIM} is not what shard {number} of this round was asked")
    paths = [item_path(item) for item in items]
    traced = [item_path(item) for item in items if not isinstance(item, DuelItem)]
    allowed = {CLAIM, *(f"results/{path}{RESULT}" for path in paths), *(f"traces/{path}{TRACE}" for path in traced)}
    if strange := sorted(sizes.keys() - allowed):
        raise ClaimError(f"holds {len(strange)} files that were not asked, such as {strange[0]!r}"[:300])
    found = (Handed(shard=folder, item=item, path=item_path(item)) for item in items)
    return tuple(item for item in found if f"results/{item.path}{RESULT}" in sizes)


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    """Every file below a folder with its size; nothing is followed or opened.

    Raises:
        ClaimError: something is no plain file, or too large.
    """
    for place, folders, names in os.walk(folder, followlinks=False):
        for name in (*folders, *names):
            path = Path(place) / name
            status = path.lstat()
            shown = str(path.relative_to(folder))
            if stat.S_ISDIR(status.st_mode):
                continue
            if not stat.S_ISREG(status.st_mode):
                raise ClaimError(f"{shown[:200]!r} is not a plain file")
            if status.st_size > (TRACE_BYTES if name.endswith(TRACE) else RESULT_BYTES):
                raise ClaimError(f"{shown[:200]!r} is too large")
            yield shown, status.st_size


def _claim(folder: Path, sizes: dict[str, int]) -> Claim:
    if CLAIM not in sizes:
        raise ClaimError(f"{CLAIM} is missing")
    try:
        return Claim.model_validate(canonical.parse_strict((folder / CLAIM).read_bytes()))
    except ValueError as error:
        raise ClaimError(f"{CLAIM} is not a shard's claim: {' '.join(str(error).split())[:150]}") from error


def twice(folders: Sequence[Path]) -> set[int]:
    """Numbers that more than one folder bears: which of them is forged cannot be told."""
    numbers = [number_of(folder) for folder in folders]
    return {number for number in numbers if numbers.count(number) > 1}
