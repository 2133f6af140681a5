"""The store: one file for each result, trace and duel; a kill while writing leaves the old file or the new one."""

import fcntl
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import Record, parse_duel, parse_result
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Cost, Provenance, may_lie_at
from evaluator.model.sealed_fields import secret_hash
from evaluator.model.validation_messages import error_in_words
from leaderboard.core.parallel import Partition, run_in_background

RECORD_ENDING = ".json"
TRACE_ENDING = ".trace.json"
RETRIED_INFIX = ".try"
"""In the name of the record of a failure on our side, after which it was run again: `<key>.try1.json`."""
# In the name of a folder of two players, never in a login: a `+` between each login and its agent. Old logins hold `--`.
PLAYER_SEPARATOR = "+"
# More moves than any duel has: a record that claims more is not unpacked.
MAX_DUEL_PLIES = 1 << 26
INTEGER_DTYPES = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<i8")
# From this many owners' folders on, several processes read: below, starting them takes longer than reading. There are more
# of them than processors, since each waits for the disk now and then.
PARALLEL_OWNERS, READERS = 500, 4

Value = TypeVar("Value")


class CompactResults:
    """Makes results smaller that are only shown, not written: drops most seeds and keeps one copy of equal values.

    Seeds follow from the beacon and are as many as the returns; those of a revealed season stay, since leaderboards compare
    them to see which results can be paired. Returns and lengths become arrays, a third of a tuple's size. Each model gets
    its class's one set of field names, since a set for each takes 2.5 KB a result: 200 MB of the site of 10,000 agents.
    """

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}

    def __call__(self, result: Result) -> Result:
        """A smaller copy; a sealed result stays as it is, since its reveal has to fit its hash."""
        if result.sealed is not None or not result.seeds:
            return result
        fields = dict(result)
        for name in _SHARED:
            fields[name] = self._shared(fields[name])
        provenance = {name: self._shared(value) for name, value in result.provenance}
        return Result.model_construct(
            _RESULT_FIELDS,
            **fields
            | {
                "seeds": self._shared(result.seeds) if secret_hash(result.beacon) else (),
                "returns": array("d", result.returns),
                "lengths": _length_array(result.lengths),
                "versions": self._values.setdefault(tuple(result.versions.items()), result.versions),
                "cost": Cost.model_construct(_COST_FIELDS, **dict(result.cost)),
                "provenance": Provenance.model_construct(_PROVENANCE_FIELDS, **provenance),
            },
        )

    def _shared(self, value: Value) -> Value:
        shared: Value = self._values.setdefault(value, value)
        return shared


_SHARED = (
    "task", "task_digest", "login", "agent", "submission_digest", "season", "beacon", "runtime_digest", "platform", "limits",
)  # fmt: skip
_RESULT_FIELDS, _COST_FIELDS, _PROVENANCE_FIELDS = (set(model.model_fields) for model in (Result, Cost, Provenance))


def _length_array(lengths: Sequence[int]) -> "array[int]":
    try:
        return array("I", lengths)
    except OverflowError:
        return array("q", lengths)


@dataclass(frozen=True, kw_only=True)
class DamagedFile:
    """A file that lies where a result or a duel would, and is none."""

    path: Path
    reason: str
    """In one line."""


ResultFilter = Callable[[Result], Result]
StoredResults = tuple[list[Result], list[DamagedFile]]


@dataclass(frozen=True, kw_only=True)
class ResultStore:
    """Results and duels under one root, traces under another, by the same paths."""

    results: Path
    traces: Path

    def files(self) -> Iterator[Path]:
        """Every result file, in order of its path."""
        return map(Path, filter(os.path.isfile, _record_files(_below(_below(self._owners())))))

    def duel_files(self) -> Iterator[Path]:
        """Every duel file, in order of its path."""
        return map(Path, filter(os.path.isfile, self._duels()))

    def has_retries(self) -> bool:
        """Whether an evaluation was run again: of several records all but one have a number in their file's name."""
        files = chain(_below(_below(self._owners())), self._duels())
        return any(RETRIED_INFIX in path.rpartition("/")[2] for path in files)

    def read(self, convert: ResultFilter = lambda result: result) -> StoredResults:
        """All results, each converted before the next is read, and the damaged files."""
        with self.reading(convert) as results:
            return results()

    @contextmanager
    def reading(self, convert: ResultFilter = lambda result: result) -> Iterator[Callable[[], StoredResults]]:
        """Like `read`, but other processes read while the block runs; call the yielded function to get the results.

        Yields:
            A function that returns what `read` would.
        """
        owners = list(self._owners())
        count = READERS if len(owners) >= PARALLEL_OWNERS else 1
        root = str(self.results)
        first, *others = [partial(_read_results, Partition(i, count).of(owners), root, convert) for i in range(count)]
        with ExitStack() as stack:
            running = [stack.enter_context(run_in_background(read)) for read in others]
            yield lambda: _join([first(), *(part() for part in running)])

    def _owners(self) -> Iterator[str]:
        """The owners' folders of each task, in order."""
        return _below(_below([str(self.results)]))

    def _duels(self) -> Iterator[str]:
        """Files in the folders of two players: an agent's folder may be named like a file."""
        pairs = (folder for folder in self._owners() if PLAYER_SEPARATOR in folder.rpartition("/")[2])
        return _record_files(_below(pairs))

    def read_duels(self) -> tuple[list[Duel], list[DamagedFile]]:
        """All duels whose moves and times can be unpacked, and the damaged files."""
        return _read(self._duels(), _read_duel, str(self.results))

    def path_of(self, record: Result | Duel) -> Path:
        """Where a record belongs."""
        return self.results / (record.path() + RECORD_ENDING)

    def trace_of(self, path: Path) -> Path:
        """Where the trace of the result at `path` lies."""
        relative = path.relative_to(self.results)
        return self.traces / relative.with_name(relative.name.removesuffix(RECORD_ENDING) + TRACE_ENDING)

    def write(self, record: Result | Duel, trace: bytes | None = None) -> Path:
        """Write a record's file, a result's trace first, so that none is ever without one; a duel holds its moves itself."""
        path = self.path_of(record)
        if trace is not None:
            write_atomically(self.trace_of(path), trace)
        write_atomically(path, record.serialised())
        return path


def _below(folders: Iterable[str]) -> Iterator[str]:
    """The paths in folders, in order; `glob` takes three times as long for 80,000."""
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208  (only the names are needed)
        except (FileNotFoundError, NotADirectoryError):
            continue
        for name in names:
            yield f"{folder}/{name}"


def _record_files(paths: Iterable[str]) -> Iterator[str]:
    return (path for path in paths if path.endswith(RECORD_ENDING) and not path.rpartition("/")[2].startswith("."))


def _read_results(owners: Iterable[str], root: str, convert: ResultFilter) -> StoredResults:
    return _read(_record_files(_below(_below(owners))), partial(parse_result, quick=True), root, convert)


def _join(parts: Sequence[StoredResults]) -> StoredResults:
    return [result for results, _ in parts for result in results], [file for _, damaged in parts for file in damaged]


def _read(
    files: Iterable[str],
    parse: Callable[[bytes], Record],
    root: str,
    convert: Callable[[Record], Record] = lambda record: record,
) -> tuple[list[Record], list[DamagedFile]]:
    records: list[Record] = []
    damaged: list[DamagedFile] = []
    for path in files:
        try:
            record = parse(Path(path).read_bytes())
            if not may_lie_at(path[len(root) + 1 : -len(RECORD_ENDING)], record.path(), record.verdict):
                raise ValueError(f"it belongs at {record.path()}{RECORD_ENDING} and lies elsewhere")
            records.append(convert(record))
        except (ValueError, OSError) as error:
            damaged.append(DamagedFile(path=Path(path), reason=error_in_words(error)))
    return records, damaged


def _read_duel(content: bytes) -> Duel:
    duel = parse_duel(content, quick=True)
    if sum(match.plies for match in duel.matches) > MAX_DUEL_PLIES:
        raise ValueError("more moves than a duel can have")
    if any(leaf and (leaf.shape or leaf.dtype not in INTEGER_DTYPES) for leaf in (duel.moves, duel.milliseconds)):
        raise ValueError("moves and times are one whole number each")
    duel.match_moves()
    duel.match_milliseconds()
    return duel


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step; a kill at any point leaves the old bytes or the new ones.

    A half-written file keeps the name that the next write of the same path takes, so that it does not stay.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".writing-{path.name}")
    with _locked_file(unfinished) as file:
        try:
            file.truncate()
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            unfinished.chmod(0o644)
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


@contextmanager
def _locked_file(path: Path) -> Iterator[BinaryIO]:
    """A file that no other writer has open; the kernel drops the lock of a writer that is killed."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                if _is_still_at(path, file):  # or else the writer before us has given it its name meanwhile
                    yield file
                    return
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)


def _is_still_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
