"""The store: one file per result and per trace, written so that a kill leaves the old state or the new one."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from evaluator.model import canonical
from evaluator.model.result import Result

RESULT = ".json"
TRACE = ".trace.json"


@dataclass(frozen=True, kw_only=True)
class Damaged:
    """A file in the store that is not a result."""

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
        return iter(sorted(p for p in self.results.glob(f"*/*/*/*{RESULT}") if not p.name.startswith(".")))

    def read(self) -> tuple[list[Result], list[Damaged]]:
        """All results, and the files that are none."""
        found: list[Result] = []
        damaged: list[Damaged] = []
        for path in self.files():
            try:
                found.append(Result.model_validate(canonical.parse_strict(path.read_bytes())))
            except (ValueError, ValidationError) as error:
                damaged.append(Damaged(path=path, reason=" ".join(str(error).split())[:200]))
        return found, damaged

    def result_path(self, result: Result) -> Path:
        """Where a result lies or would lie."""
        return self.results / (result.path() + RESULT)

    def trace_of(self, path: Path) -> Path:
        """Where the trace of the result at `path` lies."""
        relative = path.relative_to(self.results)
        return self.traces / relative.with_name(relative.name.removesuffix(RESULT) + TRACE)

    def write(self, result: Result, trace: bytes | None) -> Path:
        """Record a result; its trace comes first, so that no result is ever without one."""
        path = self.result_path(result)
        if trace is not None:
            write_atomically(self.trace_of(path), trace)
        write_atomically(path, result.serialised())
        return path


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
