"""The board's own copies of weights: kept once, whole or not at all, and used where the address is dead."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.host.errors import AgentFault
from evaluator.host.loading.weights_cache import WeightsCache
from scripts.git import weights_branch
from scripts.git.data_branches import BranchCommit, DataBranches, tip_of
from scripts.git.git_repository import GitError
from scripts.git.weights_branch import bring_weights, keep_weights
from scripts.repository.layout import WEIGHTS_BRANCH
from tests.scripts.github.remotes import Clone, git, make_board
from tests.weights_server import drips, gives, serving, weights

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTENT = bytes(range(256)) * 10
MINE = weights(CONTENT)


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return make_board(tmp_path)


def test_a_dead_link_does_no_harm_once_the_board_has_a_copy(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights_branch, "PART_BYTES", 1000)
    with serving(tmp_path) as server:
        server.pages["/net.bin"] = gives(CONTENT)
        assert keep_weights(clone.repository, [MINE, MINE], NOW, server.store(tmp_path / "publish")) == 1
        tip = tip_of(clone.repository, WEIGHTS_BRANCH)
        assert keep_weights(clone.repository, [MINE], NOW, server.store(tmp_path / "publish")) == 0
        dead = server.store(tmp_path / "later")
        server.pages.clear()

        bring_weights(clone.repository, [MINE], dead)

    assert tip_of(clone.repository, WEIGHTS_BRANCH) == tip
    assert dead.has(MINE)
    dead.copy(MINE, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == CONTENT


@pytest.mark.attack(
    "weights_changed_on_the_branch", family="supply", outcome="not taken",
    tries="Writes other bytes under the hash on the board's branch of weights.",
)  # fmt: skip
def test_what_the_branch_has_is_hashed(clone: Clone, tmp_path: Path) -> None:
    other = Clone(tmp_path / "other")
    other.path.mkdir()
    git(other.path, "init", "--quiet")
    other.commit({f"{MINE.sha256}/0": CONTENT[:-1] + b"x"})
    address = git(clone.path, "remote", "get-url", "origin")
    git(other.path, "push", "--quiet", str((clone.path / address).resolve()), f"HEAD:refs/heads/{WEIGHTS_BRANCH}")
    store = WeightsCache(folder=tmp_path / "store")

    bring_weights(clone.repository, [MINE], store)

    assert list((tmp_path / "store").iterdir()) == []


def test_what_cannot_be_had_is_said_and_the_rest_is_kept(
    clone: Clone, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = weights(b"gone", path="/gone")
    with serving(tmp_path) as server:
        server.pages["/net.bin"] = gives(CONTENT)
        server.pages["/gone"] = gives(b"other")

        assert keep_weights(clone.repository, [gone, MINE], NOW, server.store(tmp_path / "publish")) == 1

    assert "No copy was kept: weights net.bin: the address gives" in capsys.readouterr().err
    bring_weights(clone.repository, [gone, MINE], store := WeightsCache(folder=tmp_path / "later"))
    assert (store.has(gone), store.has(MINE)) == (False, True)


def test_without_a_branch_the_address_is_left(clone: Clone, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        store = server.store(tmp_path / "store")
        bring_weights(clone.repository, [MINE], store)
        server.pages["/net.bin"] = gives(CONTENT)
        store.fetch([MINE])

    assert store.has(MINE)
    with pytest.raises(AgentFault):
        WeightsCache(folder=tmp_path / "no").copy(MINE, tmp_path / "copy")


@pytest.mark.attack(
    "weights_that_keep_publish_waiting", family="supply", outcome="left for the next round, results are recorded",
    tries="Names many files on slow hosts, which are all asked for before anybody's results are recorded.",
)  # fmt: skip
def test_hosts_that_answer_slowly_do_not_keep_results_from_being_recorded(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weights_branch, "KEEPING_SECONDS", 0.4)
    content = [CONTENT + bytes([i]) for i in range(50)]
    with serving(tmp_path) as server:
        server.pages |= {f"/{i}": drips(b"x") for i in range(50)}
        every = [weights(each, path=f"/{i}") for i, each in enumerate(content)]

        assert keep_weights(clone.repository, every, NOW, server.store(tmp_path / "kept", server.https(seconds=0.3))) == 0

        assert 0 < len(server.asked) < len(every)
    assert "There was no time to keep copies of" in capsys.readouterr().err


@pytest.mark.attack(
    "weights_that_fill_the_disk", family="supply", outcome="left for the next round, results are recorded",
    tries="Names so many large files that the machine which keeps copies of them has no room, or the remote refuses one.",
)  # fmt: skip
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), GitError("push", "fatal: too large")])
def test_what_cannot_be_kept_does_not_keep_results_from_being_recorded(
    clone: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    other, failed = weights(CONTENT * 2, path="/other"), []
    build = DataBranches.build

    def build_second(self: DataBranches, tip: str | None, commit: BranchCommit, now: datetime) -> str:
        if not failed:
            failed.append(self.repository.path)
            raise fault
        assert not failed[0].exists()
        return build(self, tip, commit, now)

    monkeypatch.setattr(DataBranches, "build", build_second)
    with serving(tmp_path) as server:
        server.pages |= {"/net.bin": gives(CONTENT), "/other": gives(CONTENT * 2)}
        assert keep_weights(clone.repository, [MINE, other], NOW, server.store(tmp_path / "publish")) == 1

    assert list((tmp_path / "publish").iterdir()) == []


@pytest.mark.attack(
    "weights_of_a_rival_on_a_dead_host", family="supply", outcome="a copy is kept from the rival's address",
    tries="Names a rival's file at an address of one's own that gives it no longer, so that the board keeps no copy of it.",
)  # fmt: skip
@pytest.mark.parametrize("order", [1, -1])
def test_a_file_that_several_name_is_kept_from_whichever_address_gives_it(clone: Clone, tmp_path: Path, order: int) -> None:
    dead = weights(CONTENT, path="/dead")
    with serving(tmp_path) as server:
        server.pages["/net.bin"] = gives(CONTENT)
        kept = keep_weights(clone.repository, [MINE, dead][::order], NOW, server.store(tmp_path / "publish"))

    assert kept == 1
    assert list((tmp_path / "publish").iterdir()) == []
