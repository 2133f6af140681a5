"""Agents that play by words which are no part of their version.

A version's seeds are known from its merge on. Whoever could change what it does and keep the version would merge it, compute
its episodes, and then write into its description how to play them: before the official run comes to it, or for a task, a
season or a measurement version that is evaluated later.
"""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.host.loading.weights_cache import WeightsCache
from evaluator.host.sandboxes.select_sandbox import select_sandbox
from evaluator.host.solo.evaluate_agent import evaluate_agent
from evaluator.model.config.submission import WeightsFile
from evaluator.model.records.verdict import Verdict
from tests.hostile.arena import MANIFEST, order_of, write_agent

READS = """
from pathlib import Path

HERE = Path(__file__).parent
WORDS = "".join(path.read_text() for path in sorted(HERE.iterdir()) if path.name in ("submission.yml", "agent.py"))

class Agent:
    def act(self, observation):
        right = observation[2] + 0.02 * observation[3] > 0
        return int(right) if "knows " + "the episodes" in WORDS else 0
"""
PLAIN = MANIFEST + "description: nothing\n"
KNOWING = MANIFEST + "description: knows the episodes\n"


def played(folder: Path) -> tuple[str, tuple[float, ...]]:
    """The version, and what it earns."""
    wanted = order_of(folder)
    chosen = select_sandbox("process", "", lambda line: None)
    done = evaluate_agent(wanted, chosen.kind, chosen.opener, lambda: datetime.now(UTC), lambda done: None)
    assert done.result.verdict is Verdict.OK, done.result.message
    return wanted.folder.digest, done.result.returns


@pytest.mark.attack(
    "plan_in_the_description", family="cheating", outcome="the agent never sees it",
    tries="Writes into submission.yml how to play the episodes, once they are known, and reads it there.",
)  # fmt: skip
def test_an_agent_does_not_see_the_words_of_its_manifest(tmp_path: Path) -> None:
    before = played(write_agent(tmp_path / "before", READS, PLAIN))
    after = played(write_agent(tmp_path / "after", READS, KNOWING))

    assert after == before


ASKS_WHICH_CAME_FIRST = """
from pathlib import Path

def born(name):
    status = (Path(__file__).parent / name).stat()
    return status.st_ctime_ns, status.st_ino

KNOWS = born("b.bin") < born("a.bin")

class Agent:
    def act(self, observation):
        right = observation[2] + 0.02 * observation[3] > 0
        return int(right) if KNOWS else 0
"""


@pytest.mark.attack(
    "plan_in_the_order_of_weights", family="cheating", outcome="the files are written in the order of their names",
    tries="Reorders its weights in submission.yml, once its episodes are known, and reads the order by the files' inodes.",
)  # fmt: skip
def test_an_agent_does_not_see_the_order_of_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lines = []
    for name in ("a.bin", "b.bin"):
        content = name.encode()
        kept = WeightsFile(
            file=name, url=f"https://example.org/{name}", sha256=hashlib.sha256(content).hexdigest(), bytes=len(content)
        )
        assert WeightsCache().add(kept, [content])
        lines.append(f"  - {{file: {name}, url: {kept.url}, sha256: {kept.sha256}, bytes: {kept.bytes}}}\n")
    before = played(write_agent(tmp_path / "before", ASKS_WHICH_CAME_FIRST, f"{MANIFEST}weights:\n{lines[0]}{lines[1]}"))
    after = played(write_agent(tmp_path / "after", ASKS_WHICH_CAME_FIRST, f"{MANIFEST}weights:\n{lines[1]}{lines[0]}"))

    assert after == before
