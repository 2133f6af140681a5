"""Feed a reader many inputs: `python -m tests.fuzz READER [READER …] --cases N`; without a name, every reader.

Inputs come from mutated examples. With `--guided`, atheris chooses those that reach new code, which needs
requirements/fuzz.txt and is slower. Whatever ends in an undeclared exception, a property that does not hold, or more than
the time or memory bound, is written to build/fuzz/READER; once mended it belongs into tests/fuzz/corpus/READER.
"""

import argparse
import hashlib
import json
import os
import random
import resource
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SECONDS = 2.0
"""Processor time that one input may take."""
MEMORY = 512 << 20
"""Bytes that the process may take beyond what it had before the first input."""


class Run:
    """Counts the inputs of one reader and keeps what they found."""

    def __init__(self, name: str, cases: int, engine: str) -> None:
        from tests.fuzz.readers import READERS

        self.name, self.cases, self.engine = name, cases, engine
        self.reader = READERS[name]
        self.folder = ROOT / "build" / "fuzz" / name
        self.count = self.taken = 0
        self.longest = 0.0
        self.finds: dict[str, str] = {}
        self._begun = time.monotonic()

    def feed(self, data: bytes) -> None:
        """Read one input."""
        from tests.fuzz.readers import attempt

        begun = time.thread_time()
        self.count += 1
        try:
            self.taken += attempt(self.reader, data)
        except Exception as error:  # noqa: BLE001  (whatever is not declared is what is looked for)
            frames = traceback.extract_tb(error.__traceback__)
            last = next(
                (f for f in reversed(frames) if f.filename.startswith(str(ROOT)) and ".venv" not in f.filename), frames[-1]
            )
            where = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
            self._keep(where, data, f"{where}: {str(error)[:200]}")
        spent = time.thread_time() - begun
        self.longest = max(self.longest, spent)
        if spent > SECONDS:
            self._keep("slow", data, f"took {spent:.1f} s")

    def _keep(self, kind: str, data: bytes, words: str) -> None:
        if kind in self.finds:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / hashlib.sha256(data).hexdigest()[:16]
        place.write_bytes(data)
        self.finds[kind] = f"{words} ({place.relative_to(ROOT)})"
        print(f"{self.name}: {self.finds[kind]!r}", file=sys.stderr, flush=True)

    def report(self) -> str:
        """One line of JSON."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        numbers = {"cases": self.count, "taken": self.taken, "seconds": round(time.monotonic() - self._begun)}
        worst = {"longest_ms": round(1000 * self.longest, 1), "peak_mib": peak}
        return json.dumps(
            {"reader": self.name, "engine": self.engine, **numbers, **worst, "finds": list(self.finds.values())}
        )


def limit_memory() -> None:
    """An input that takes more memory ends in MemoryError, which no reader declares."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def plain(name: str, cases: int, seed: int) -> int:
    """Mutate examples."""
    run = Run(name, cases, "mutation")
    source, seeds = random.Random(f"{name} {seed}"), run.reader.seeds()
    for data in seeds:
        run.feed(data)
    limit_memory()
    while run.count < cases:
        run.feed(run.reader.make(source, seeds))
    print(run.report(), flush=True)
    return bool(run.finds)


def guided(name: str, cases: int, seed: int) -> int:
    """Let atheris choose by coverage."""
    import atheris

    with atheris.instrument_imports(include=["evaluator", "leaderboard", "scripts"]):
        run = Run(name, cases, "atheris")
    from tests.fuzz.mutate import MAX_BYTES

    source, seeds = random.Random(f"{name} {seed}"), run.reader.seeds()
    corpus = run.folder / "reached"
    corpus.mkdir(parents=True, exist_ok=True)
    for index, data in enumerate(seeds):
        (corpus / f"seed{index}").write_bytes(data)

    def change(data: bytes, most: int, chosen: int) -> bytes:
        if source.random() < 0.5:
            return bytes(run.reader.make(source, (data, *seeds[:2]))[:most])
        return bytes(atheris.Mutate(data, most))

    def one(data: bytes) -> None:
        run.feed(data)
        if run.count >= cases:
            print(run.report(), flush=True)
            os._exit(bool(run.finds))

    options = [f"-max_len={MAX_BYTES}", f"-seed={seed + 1}", "-rss_limit_mb=2048", "-timeout=60", "-print_final_stats=0"]
    atheris.Setup([sys.argv[0], *options, "-verbosity=0", "-close_fd_mask=0", str(corpus)], one, custom_mutator=change)
    atheris.Fuzz()
    return 1


def main(arguments: list[str]) -> int:
    """Run what was asked, each reader in a process of its own."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("readers", nargs="*", default=["all"], metavar="READER")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--guided", action="store_true")
    asked: Any = parser.parse_args(arguments)
    work = guided if asked.guided else plain
    if len(asked.readers) == 1 and asked.readers[0] != "all":
        return work(asked.readers[0], asked.cases, asked.seed)
    return every(asked)


def every(asked: Any) -> int:
    """Several readers, one after the other."""
    from tests.fuzz.readers import READERS

    failed = 0
    for name in READERS if asked.readers == ["all"] else asked.readers:
        pid = os.fork()
        if not pid:
            work = guided if asked.guided else plain
            os._exit(work(name, asked.cases, asked.seed))
        failed += bool(os.waitpid(pid, 0)[1])
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
