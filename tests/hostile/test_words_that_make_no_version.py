"""Agents that play by words which are no part of their version.

A version's seeds are known from its merge on. Whoever could change what it does and keep the version would merge it, compute
its episodes, and then write into its description how to play them: before the official run comes to it, or for a task, a
season or a protocol that is evaluated later.
"""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.host.loading.submission_folder import read_folder, stage
from evaluator.host.sandboxes.select import select_sandbox
from evaluator.host.solo.evaluate_agent import evaluate_agent
from evaluator.model.config.challenge import SubmissionLimits
from evaluator.model.records.verdict import Verdict
from scripts.git.folder_history import FolderHistory
from tests.hostile.arena import MANIFEST, order_of, write_agent
from tests.scripts.github.remotes import git, make_board

READS = """
from pathlib import Path

HERE = Path(__file__).parent
WORDS = "".join(path.read_text() for path in sorted(HERE.iterdir()) if path.name in ("submission.yml", "agent.py"))

class Agent:
    def act(self, observation):
        right = observation[2] + 0.02 * observation[3] > 0
        return int(right) if "knows " + "the episodes" in WORDS else 0
"""
COUNTS = """
import sys

LINE = sys._getframe().f_lineno

class Agent:
    def act(self, observation):
        right = observation[2] + 0.02 * observation[3] > 0
        return int(right) if LINE == 9 else 0
"""
PLAIN = MANIFEST + "description: nothing\n"
KNOWING = MANIFEST + "description: knows the episodes\n"
LONGER = MANIFEST + "description: nothing\nlicense: MIT\n"


def header(manifest: str) -> str:
    return "".join(f"{line}\n" for line in ("# /// pullrank", *(f"# {line}" for line in manifest.splitlines()), "# ///"))


def in_header(folder: Path, source: str, manifest: str) -> Path:
    folder.mkdir()
    (folder / "agent.py").write_text(header(manifest) + source)
    return folder


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


@pytest.mark.attack(
    "plan_in_the_header", family="cheating", outcome="the agent never sees it",
    tries="The same in the header of agent.py.",
)  # fmt: skip
def test_an_agent_does_not_see_the_words_of_its_header(tmp_path: Path) -> None:
    before = played(in_header(tmp_path / "before", READS, PLAIN))
    after = played(in_header(tmp_path / "after", READS, KNOWING))

    assert after == before


@pytest.mark.attack(
    "length_of_the_header", family="cheating", outcome="another number of lines is another version",
    tries="Chooses how to play by the number of lines that stand above the code.",
)  # fmt: skip
def test_a_version_has_as_many_lines_above_its_code(tmp_path: Path) -> None:
    (short, low), (long, high) = (
        played(in_header(tmp_path / name, COUNTS, words)) for name, words in (("short", PLAIN), ("long", LONGER))
    )

    assert low != high
    assert short != long


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("blank", ["", "\n"])
def test_equal_digests_are_equal_files_in_the_sandbox(tmp_path: Path, ends: str, blank: str) -> None:
    """Of a header remain its lines, and everything else as it was."""
    texts = []
    for name, words in (("one", PLAIN), ("two", KNOWING)):
        folder = in_header(tmp_path / name, "", words)
        (folder / "agent.py").write_bytes((header(words) + blank + READS).replace("\n", ends).encode())
        (tmp_path / f"staged-{name}").mkdir()
        stage(read_folder(folder, SubmissionLimits()), tmp_path / f"staged-{name}")
        texts.append((tmp_path / f"staged-{name}" / "agent.py").read_bytes())

    assert texts[0] == texts[1]
    assert texts[0].endswith((blank + READS).replace("\n", ends).encode())
    assert len(texts[0].splitlines()) == len((header(PLAIN) + blank + READS).splitlines())


def test_the_history_of_folders_has_the_same_versions(tmp_path: Path) -> None:
    """Other words keep the version's seeds; another number of lines draws anew."""
    board = make_board(tmp_path, {})
    commits = []
    for words in (PLAIN, KNOWING, LONGER):
        folder = board.path / "submissions" / "mallory" / "agent"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "agent.py").write_text(header(words) + READS)
        git(board.path, "add", "-A")
        git(board.path, "commit", "-qm", words)
        commits.append(git(board.path, "rev-parse", "HEAD").strip())
        state = FolderHistory(board.repository, commits[-1]).first([("mallory", "agent")])  # type: ignore[list-item]
        assert [one.sha for one in state.values()] == [commits[0] if words is not LONGER else commits[-1]]
