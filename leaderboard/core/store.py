"""The store: one file per result, per trace and per duel, written so that a kill leaves the old state or the new one."""

import marshal
import os
import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from evaluator.model import canonical_json
from evaluator.model.config.challenge import Limits
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Cost, Provenance, Result, SandboxKind, Tier, is_place
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.parallel import Partition, run_in_background

Value = TypeVar("Value")
# One set for all of them: each one of its own would be as large as the returns.
FIELDS, COST, ORIGIN = set(Result.model_fields), set(Cost.model_fields), set(Provenance.model_fields)
_SHARED = ("task", "task_digest", "login", "agent", "submission_digest", "season", "beacon", "runtime_digest", "platform")


class CompactResults:
    """Drops seeds, which follow from the beacon and are as many as the returns, and keeps one copy of what is equal.

    Returns and lengths become arrays: they are read like the tuples that they were, in a third of the memory. Such
    results are to be shown, not to be written.
    """

    def __init__(self) -> None:
        self._kept: dict[Any, Any] = {}

    def __call__(self, result: Result) -> Result:
        """The same object, smaller; one that is sealed stays whole, since its reveal has to fit its hash."""
        if result.sealed is not None or not result.seeds:
            return result
        # Nobody else has seen it yet. As a copy, each would be made twice.
        known, kept = result.__dict__, self._kept
        # Those of a revealed season are the same for all, which is how its boards know that they can be paired.
        known["seeds"] = self._one(result.seeds) if secret_hash(result.beacon) else ()
        known["returns"] = array("d", known["returns"])
        known["lengths"] = _lengths(known["lengths"])
        known["limits"] = kept.setdefault(tuple(result.limits.__dict__.values()), result.limits)
        known["versions"] = kept.setdefault(tuple(result.versions.items()), result.versions)
        for name in _SHARED:
            known[name] = self._one(known[name])
        origin = result.provenance.__dict__
        origin["commit"], origin["run_url"] = self._one(origin["commit"]), self._one(origin["run_url"])
        for part, fields in ((result, FIELDS), (result.cost, COST), (result.provenance, ORIGIN)):
            object.__setattr__(part, "__pydantic_fields_set__", fields)
        return result

    def _one(self, value: Value) -> Value:
        found: Value = self._kept.setdefault(value, value)
        return found


def _lengths(lengths: Sequence[int]) -> "array[int]":
    try:
        return array("I", lengths)
    except OverflowError:
        return array("q", lengths)


_NAMES, _COST, _ORIGIN = (tuple(model.model_fields) for model in (Result, Cost, Provenance))
_KINDS = {"tier": Tier, "sandbox": SandboxKind, "verdict": Verdict}
_BY_VALUE = {name: {one.value: one for one in kind} for name, kind in _KINDS.items()}
_new, _set = object.__new__, object.__setattr__


def packed(results: Iterable[Result]) -> bytes:
    """Lean results as plain values, limits once each; any other as it is pickled."""
    limits: dict[int, tuple[int, Limits]] = {}
    rows = [_row(result, limits) if _is_plain(result) else pickle.dumps(result) for result in results]
    return marshal.dumps((rows, pickle.dumps([one for _, one in limits.values()])))


def unpacked(content: bytes) -> list[Result]:
    """What was packed."""
    rows, limits = marshal.loads(content)
    known: list[Limits] = pickle.loads(limits)
    return [pickle.loads(row) if isinstance(row, bytes) else _from_row(row, known) for row in rows]


def _is_plain(result: Result) -> bool:
    """Whether it is lean and of no more parts than all are."""
    return isinstance(result.returns, array) and result.script is None and result.first_attempt is None


def _row(result: Result, limits: dict[int, tuple[int, Limits]]) -> tuple[Any, ...]:
    fields = dict(result.__dict__)
    for name in _KINDS:
        fields[name] = fields[name].value
    for name in ("returns", "lengths"):
        values = fields[name]
        fields[name] = (values.typecode, values.tobytes())
    number, _ = limits.setdefault(id(result.limits), (len(limits), result.limits))
    fields["limits"] = number
    fields["cost"], fields["provenance"] = tuple(result.cost.__dict__.values()), tuple(result.provenance.__dict__.values())
    return tuple(fields.values())


def _from_row(row: Sequence[Any], limits: Sequence[Limits]) -> Result:
    fields = dict(zip(_NAMES, row, strict=True))
    for name, known in _BY_VALUE.items():
        fields[name] = known[fields[name]]
    for name in ("returns", "lengths"):
        fields[name] = array(*fields[name])
    fields["limits"] = limits[fields["limits"]]
    fields["cost"] = _made(Cost, dict(zip(_COST, fields["cost"], strict=True)), COST)
    fields["provenance"] = _made(Provenance, dict(zip(_ORIGIN, fields["provenance"], strict=True)), ORIGIN)
    found: Result = _made(Result, fields, FIELDS)
    return found


def _made(model: Any, fields: dict[str, Any], known: set[str]) -> Any:
    """A value that was valid before it was packed."""
    found = _new(model)
    _set(found, "__dict__", fields)
    _set(found, "__pydantic_fields_set__", known)
    _set(found, "__pydantic_extra__", None)
    _set(found, "__pydantic_private__", None)
    return found


RESULT = ".json"
# What a folder of two players has in its name, and no login: a `+` between each login and its agent. Old logins hold `--`.
PAIR = "+"
TRACE = ".trace.json"
# More moves than any duel has: what is packed is never unpacked further.
PLIES = 1 << 26
# Several processes read where there are more folders of owners than that: each takes longer to begin than to read so few.
# More processes than processors, since each waits for the disk now and then.
MANY, READERS, STEP = 500, 4, 5
BLOCK = 1 << 16
INTEGERS = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<i8")

Record = TypeVar("Record", Result, Duel)


@dataclass(frozen=True, kw_only=True)
class DamagedFile:
    """A file in the store that is neither a result nor a duel, though it lies where one would."""

    path: Path
    """Which."""
    reason: str
    """Why not, in one line."""


Keep = Callable[[Result], Result]
Found = tuple[list[Result], list[DamagedFile]]


@dataclass(frozen=True, kw_only=True)
class ResultStore:
    """Results under one root, traces under another, by the same paths."""

    results: Path
    """Where results lie."""
    traces: Path
    """Where traces lie."""

    def files(self) -> Iterator[Path]:
        """Every result file, in order of its path."""
        return map(Path, filter(os.path.isfile, _records(_below(_below(self._owners())))))

    def duel_files(self) -> Iterator[Path]:
        """Every duel's file, in order of its path."""
        return map(Path, filter(os.path.isfile, self._duels()))

    def read(self, keep: Keep = lambda result: result) -> Found:
        """All results, and the files that are none; of each is kept what `keep` makes of it, before the next is read."""
        with self.reading(keep) as found:
            return found()

    @contextmanager
    def reading(self, keep: Keep = lambda result: result) -> Iterator[Callable[[], Found]]:
        """The same, begun where there is much to read by other processes, while the block does something else."""
        owners = list(self._owners())
        pieces = READERS if len(owners) >= MANY else 1
        root = str(self.results)
        first, *parts = [Partition(piece, pieces).of(owners) for piece in range(pieces)]
        with ExitStack() as stack:
            others = [
                stack.enter_context(run_in_background(partial(_parcel, part, root, keep, late)))
                for late, part in enumerate(parts)
            ]
            yield lambda: _together([_results(first, root, keep), *(_unpacked(other()) for other in others)])

    def _owners(self) -> Iterator[str]:
        """The folders of whoever has results of a task, in order."""
        return _below(_below([str(self.results)]))

    def _duels(self) -> Iterator[str]:
        """What lies below the folders of two players: an agent's own folder may be named like a file."""
        pairs = (folder for folder in self._owners() if PAIR in folder.rpartition("/")[2])
        return _records(_below(pairs))

    def read_duels(self) -> tuple[list[Duel], list[DamagedFile]]:
        """All duels, their moves and times within reach, and the files that are none."""
        return _read(self._duels(), _duel, str(self.results))

    def result_path(self, result: Result) -> Path:
        """Where a result lies or would lie."""
        return self.results / (result.path() + RESULT)

    def trace_of(self, path: Path) -> Path:
        """Where the trace of the result at `path` lies."""
        relative = path.relative_to(self.results)
        return self.traces / relative.with_name(relative.name.removesuffix(RESULT) + TRACE)

    def duel_path_of(self, duel: Duel) -> Path:
        """Where a duel lies or would lie."""
        return self.results / (duel.path() + RESULT)

    def write_duel(self, duel: Duel) -> Path:
        """Record a duel: its moves are in it."""
        path = self.duel_path_of(duel)
        write_atomically(path, duel.serialised())
        return path

    def write(self, result: Result, trace: bytes | None) -> Path:
        """Record a result; its trace comes first, so that no result is ever without one."""
        path = self.result_path(result)
        if trace is not None:
            write_atomically(self.trace_of(path), trace)
        write_atomically(path, result.serialised())
        return path


def _below(folders: Iterable[str]) -> Iterator[str]:
    """What lies in folders, in order; `glob` takes three times as long for eighty thousand."""
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208  (names are all that is wanted of them)
        except (FileNotFoundError, NotADirectoryError):
            continue
        for name in names:
            yield f"{folder}/{name}"


def _records(paths: Iterable[str]) -> Iterator[str]:
    return (path for path in paths if path.endswith(RESULT) and not path.rpartition("/")[2].startswith("."))


def _results(owners: Iterable[str], root: str, keep: Keep) -> Found:
    return _read(_records(_below(_below(owners))), _result, root, keep)


def _parcel(owners: Iterable[str], root: str, keep: Keep, late: int) -> tuple[bytes, list[DamagedFile]]:
    # The later ones step back, so that what the first one found is unpacked while they still read.
    os.nice(STEP * late)
    found, damaged = _results(owners, root, keep)
    return packed(found), damaged


def _unpacked(parcel: tuple[bytes, list[DamagedFile]]) -> Found:
    content, damaged = parcel
    return unpacked(content), damaged


def _together(parts: Sequence[Found]) -> Found:
    return [one for found, _ in parts for one in found], [one for _, damaged in parts for one in damaged]


def _read(
    files: Iterable[str],
    parse: Callable[[bytes], Record],
    root: str,
    keep: Callable[[Record], Record] = lambda record: record,
) -> tuple[list[Record], list[DamagedFile]]:
    found: list[Record] = []
    damaged: list[DamagedFile] = []
    for path in files:
        try:
            record = parse(_content(path))
            if not is_place(path[len(root) + 1 : -len(RESULT)], record.path(), record.verdict):
                raise ValueError(f"it says that it is {record.path()}{RESULT}, and lies elsewhere")
            found.append(keep(record))
        except (ValueError, OSError) as error:
            damaged.append(DamagedFile(path=Path(path), reason=" ".join(str(error).split())[:200]))
    return found, damaged


def _content(path: str) -> bytes:
    """Eighty thousand times: a file object takes twice as long, and a `Path` twice as long again."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(descriptor, BLOCK)]
        while len(parts[-1]) == BLOCK:
            parts.append(os.read(descriptor, BLOCK))
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _result(content: bytes) -> Result:
    """A result, by the parser that takes a quarter of the time, unless that one might have overlooked something."""
    try:
        found = Result.model_validate_json(content)
    except ValidationError:
        found = None
    if found is not None and _has_each_key_once(content, found):
        return found
    return Result.model_validate(canonical_json.parse_strict(content))


def _has_each_key_once(content: bytes, found: Result) -> bool:
    """Whether there are no more colons than keys that were found, and than their texts hold.

    A colon that is written as its number is in a text all the same, so it could hide another; then False says nothing.
    """
    if found.script is not None or found.sealed is not None or _holds_a_number(content):
        return False
    own = (found, found.limits, found.cost, found.provenance)
    names = [*found.versions, *found.metrics]
    said = [*found.__dict__.values(), *found.provenance.__dict__.values(), *found.versions.values()]
    texts = [*names, *[value for value in said if isinstance(value, str)]]
    keys = sum([len(part.model_fields_set) for part in own]) + len(names)
    return content.count(b":") == keys + "\n".join(texts).count(":")


def _holds_a_number(content: bytes) -> bool:
    # Most files hold no backslash, and one letter is looked for a hundred times as fast as five.
    return b"\\" in content and b"\\u003" in content


def _duel(content: bytes) -> Duel:
    duel = Duel.model_validate(canonical_json.parse_strict(content))
    if sum(match.plies for match in duel.matches) > PLIES:
        raise ValueError("more moves than a duel can have")
    if any(leaf and (leaf.shape or leaf.dtype not in INTEGERS) for leaf in (duel.moves, duel.milliseconds)):
        raise ValueError("moves and times are one whole number each")
    duel.match_moves()
    duel.match_milliseconds()
    return duel


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file in one step; a kill at any point leaves the old bytes or the new ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
