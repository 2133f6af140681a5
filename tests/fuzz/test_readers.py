"""Every reader takes any bytes: it reads them, or refuses them by an exception that it declares."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.mutate import MAX_BYTES
from tests.fuzz.readers import READERS, ROOT, attempt

CORPUS = Path(__file__).parent / "corpus"
EXAMPLES = 150


@pytest.mark.parametrize("name", READERS)
def test_examples_and_their_mutations_raise_only_what_is_declared(name: str) -> None:
    reader = READERS[name]
    seeds = reader.seeds()
    for data in seeds:
        attempt(reader, data)

    @seed(1)
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(number=st.integers(0, 2**64))
    def check(number: int) -> None:
        attempt(reader, reader.make(random.Random(number), seeds))

    check()


@pytest.mark.parametrize("name", READERS)
@seed(1)
@settings(max_examples=EXAMPLES, deadline=None, database=None)
@given(data=st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_arbitrary_bytes_raise_only_what_is_declared(name: str, data: bytes) -> None:
    attempt(READERS[name], data)


@pytest.mark.parametrize("name", sorted(READERS.keys() - {"script"}))
def test_some_example_is_read_to_its_end(name: str) -> None:
    """Else nothing behind the first check would be tried. A script's input ends as every connection does: it hangs up."""
    assert any(attempt(READERS[name], data) for data in READERS[name].seeds())


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name} {path.name}")
def test_what_was_found_once_stays_mended(path: Path) -> None:
    data = path.read_bytes()
    assert len(data) <= MAX_BYTES
    attempt(READERS[path.parent.name], data)


def test_the_command_feeds_a_reader_within_its_bounds() -> None:
    words = [sys.executable, "-m", "tests.fuzz", "frames", "claims", "--cases", "300"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert [line.partition('"cases": 300')[1] for line in done.stdout.splitlines()] == ['"cases": 300'] * 2
