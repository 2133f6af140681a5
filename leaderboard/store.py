"""The store: one file per result, per trace and per duel, written so that a kill leaves the old state or the new one."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from evaluator.model import canonical
from evaluator.model.duel import Duel
from evaluator.model.result import Result

RESULT = ".json"
TRACE = ".trace.json"
# More moves than any duel has: what is packed is never unpacked further.
PLIES = 1 << 26
INTEGERS = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<i8")

Record = TypeVar("Record")


@dataclass(frozen=True, kw_only=True)
class Damaged:
    """A file in the store that is neither a result nor a duel, though it lies where one would."""

    path: Path
    """Which."""
    reason: str
    """Why not, in one line."""


@dataclass(frozen=True, kw_only=True)
class Store:
    """Results under one root, traces under another, by the same paths."""

    results: Path
    """Where results lie."""
    traces: Path
    """Where traces lie."""

    def files(self) -> Iterator[Path]:
        """Every result file, in order of its path."""
        return _files(str(self.results), 3)

    def duel_files(self) -> Iterator[Path]:
        """Every duel's file, in order of its path."""
        return _files(str(self.results), 2)

    def read(self, keep: Callable[[Result], Result] = lambda result: result) -> tuple[list[Result], list[Damaged]]:
        """All results, and the files that are none; of each is kept what `keep` makes of it, before the next is read."""
        return _read(self.files(), lambda content: keep(_result(content)))

    def read_duels(self) -> tuple[list[Duel], list[Damaged]]:
        """All duels, their moves and times within reach, and the files that are none."""
        return _read(self.duel_files(), _duel)

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


def _files(folder: str, depth: int) -> Iterator[Path]:
    """The files so many folders below, in order; `glob` takes three times as long for eighty thousand."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in found:
        if depth and entry.is_dir():
            yield from _files(entry.path, depth - 1)
        elif not depth and entry.name.endswith(RESULT) and not entry.name.startswith("."):
            yield Path(entry.path)


def _read(files: Iterable[Path], parse: Callable[[bytes], Record]) -> tuple[list[Record], list[Damaged]]:
    found: list[Record] = []
    damaged: list[Damaged] = []
    for path in files:
        try:
            found.append(parse(path.read_bytes()))
        except (ValueError, OSError) as error:
            damaged.append(Damaged(path=path, reason=" ".join(str(error).split())[:200]))
    return found, damaged


def _result(content: bytes) -> Result:
    return Result.model_validate(canonical.parse_strict(content))


def _duel(content: bytes) -> Duel:
    duel = Duel.model_validate(canonical.parse_strict(content))
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
