"""The finished episodes of an evaluation that goes on: on this machine's disk, so that an interruption costs no hours.

An interruption is no second draw: what is recorded stays, and only the same evaluation on the same machine goes on.
A file begins with what it belongs to. Each later line is one episode and holds the hash of the line before it.
"""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pydantic import Field

from evaluator.host.envs.episode_recorder import PlayedEpisode
from evaluator.host.errors import AgentFault
from evaluator.host.process_owner import cache_folder
from evaluator.model.base import Frozen
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict
from evaluator.model.validation_messages import error_in_words

# An episode is written when the last writing is this long ago: a short evaluation never touches the disk.
KEEP_SECONDS = 30.0
# What nobody continued for this long is removed.
_KEPT_SECONDS = 14 * 86400.0
# The same evaluation may be continued so often: whoever could break the evaluator at will gets no more starts than that.
MAX_CONTINUATIONS = 9


@functools.cache
def evaluator_code() -> str:
    """The hash of the evaluator's own sources, whatever the number of the measurement says."""
    sources = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for path in sorted(sources.rglob("*.py")):
        digest.update(f"{path.relative_to(sources)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


class _Beginning(Frozen):
    """A line about a start or a continuation: what it was made under."""

    begins: dict[str, str]
    """What the evaluation belongs to, by name."""
    continuations: tuple[int, ...] = ()
    """Episodes that were recorded at each continuation so far."""
    previous: str = ""


class _Recorded(Frozen):
    episode: int = Field(ge=0)
    total: float
    length: int = Field(ge=1)
    checksum: str = Field(pattern=r"^[0-9a-f]{32}$")
    clipped: int = Field(ge=0)
    actions: tuple[TraceLeaf, ...]
    cpu_seconds: float = Field(ge=0)
    """Processor seconds of all attempts since their first observations."""
    wall_seconds: float = Field(ge=0)
    """The same on the clock."""
    previous: str

    def played(self) -> PlayedEpisode:
        """The episode."""
        actions = tuple(leaf.array(self.length) for leaf in self.actions)
        return PlayedEpisode(
            total=self.total, length=self.length, checksum=self.checksum, actions=actions, clipped=self.clipped
        )


@dataclass(kw_only=True)
class PartialRecord:
    """The open record of one evaluation; only one process has it."""

    file: IO[bytes]
    path: Path
    clock: Callable[[], float]
    keep_seconds: float
    episodes: dict[int, PlayedEpisode] = field(default_factory=dict)
    """What earlier attempts finished, by number."""
    continuations: tuple[int, ...] = ()
    """Episodes that were recorded at each continuation, this one included."""
    cpu_seconds: float = 0.0
    """What earlier attempts used for these episodes."""
    wall_seconds: float = 0.0
    used: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)
    """Processor seconds and seconds that this attempt has used since its first observation."""
    _hash: str = ""
    _waiting: dict[int, PlayedEpisode] = field(default_factory=dict)
    _written: float = 0.0

    def add(self, number: int, episode: PlayedEpisode) -> None:
        """Note a finished episode."""
        self._waiting[number] = episode
        if self.clock() - self._written >= self.keep_seconds:
            self.flush()

    def flush(self) -> None:
        """Write what waits, so that it outlives this machine's next moment."""
        cpu_seconds, wall_seconds = self.used() if self._waiting else (0.0, 0.0)
        for number, played in self._waiting.items():
            line = _Recorded(
                episode=number, total=played.total, length=played.length, checksum=played.checksum, clipped=played.clipped,
                actions=tuple(TraceLeaf.of(leaf) for leaf in played.actions), previous=self._hash,
                cpu_seconds=self.cpu_seconds + cpu_seconds, wall_seconds=self.wall_seconds + wall_seconds,
            )  # fmt: skip
            self._append(line)
        if self._waiting:
            self.file.flush()
            os.fsync(self.file.fileno())
        self._waiting.clear()
        self._written = self.clock()

    def _append(self, line: Frozen) -> None:
        raw = line.model_dump_json().encode()
        self._hash = hashlib.sha256(raw).hexdigest()
        self.file.write(raw + b"\n")

    def begin(self, begins: dict[str, str]) -> None:
        """Write on what the episodes after this line are played."""
        self._append(_Beginning(begins=begins, continuations=self.continuations, previous=self._hash))
        self._written = self.clock()

    def discard(self) -> None:
        """Remove it: the evaluation has ended."""
        self._waiting.clear()
        self.path.unlink(missing_ok=True)

    def load(self, lines: list[bytes]) -> _Beginning:
        """Take over what is written; returns the first line.

        Raises:
            ValueError: a line is not what was written.
        """
        first: _Beginning | None = None
        for raw in lines:
            document = json.loads(raw)
            line = (_Beginning if "begins" in document else _Recorded).model_validate_json(raw)
            if line.previous != self._hash:
                raise ValueError("a line does not follow the one before it")
            self._hash = hashlib.sha256(raw).hexdigest()
            if isinstance(line, _Beginning):
                if first is not None and line.begins != first.begins:
                    raise ValueError("it is of two evaluations")
                first, self.continuations = first or line, line.continuations
            elif first is None or line.episode in self.episodes:
                raise ValueError("an episode stands twice, or before the beginning")
            else:
                self.episodes[line.episode] = line.played()
                self.cpu_seconds, self.wall_seconds = line.cpu_seconds, line.wall_seconds
        if first is None:
            raise ValueError("it has no beginning")
        return first


@dataclass(frozen=True, kw_only=True)
class PartialFolder:
    """A folder of records, each named by the key of its evaluation."""

    folder: Path = field(default_factory=lambda: cache_folder("partial"))
    clock: Callable[[], float] = time.monotonic
    keep_seconds: float = KEEP_SECONDS

    @contextlib.contextmanager
    def opened(self, begins: dict[str, str], episodes: int) -> Iterator[PartialRecord | None]:
        """The record of an evaluation, continued if it is of the same; None where another process has it.

        It is written to the end of what was played when the block ends, unless it was discarded.

        Args:
            begins: what the evaluation belongs to; its `key` names the file.
            episodes: how many it has.

        Raises:
            AgentFault: our fault: the record is damaged, or was continued too often.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._remove_old()
        path = self.folder / begins["key"]
        with path.open("a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield None
                return
            record = self._read(file, path, begins, episodes)
            try:
                yield record
            finally:
                record.flush()

    def _read(self, file: IO[bytes], path: Path, begins: dict[str, str], episodes: int) -> PartialRecord:
        file.seek(0)
        content = file.read()
        # The last line may have been cut by the interruption; what follows the last line's end was never recorded.
        whole = content[: content.rfind(b"\n") + 1]
        file.truncate(len(whole))
        record = PartialRecord(file=file, path=path, clock=self.clock, keep_seconds=self.keep_seconds)
        lines = whole.splitlines()
        try:
            first = record.load(lines) if lines else None
            if any(number >= episodes for number in record.episodes):
                raise ValueError("it has episodes that the task has not")
        except ValueError as error:
            raise _refused(path, f"is damaged ({error_in_words(error, 120)})") from error
        if first is None or first.begins != begins:
            file.truncate(0)
            record = PartialRecord(file=file, path=path, clock=self.clock, keep_seconds=self.keep_seconds)
        elif len(record.continuations) >= MAX_CONTINUATIONS:
            raise _refused(path, f"was continued {MAX_CONTINUATIONS} times already")
        elif record.episodes:
            record.continuations += (len(record.episodes),)
        record.begin(begins)
        return record

    def forget(self, key: str) -> None:
        """Remove what is recorded of an evaluation that is to begin anew."""
        (self.folder / key).unlink(missing_ok=True)

    def _remove_old(self) -> None:
        for path in self.folder.iterdir():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                    path.unlink()


def _refused(path: Path, why: str) -> AgentFault:
    words = f"the record of finished episodes {path} {why}; remove it to play all of them anew"
    return AgentFault(Verdict.INTERNAL_ERROR, words)
