"""A scratch folder says whose it is; only what a process that has ended left behind is removed."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from evaluator.host.process_owner import abandoned_names, remove_abandoned, scratch_folder, scratch_prefix

ROOT = Path(__file__).parents[3]
HOLDER = """
import sys, time
from evaluator.host.process_owner import scratch_folder
folder = scratch_folder("test")
print(folder.name, flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """A process that holds a folder in `tmp_path`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", HOLDER], env=environment, stdout=subprocess.PIPE, text=True)
    yield process
    process.kill()
    process.communicate()


def folder_of(holder: subprocess.Popen[str]) -> Path:
    assert holder.stdout is not None
    return Path(holder.stdout.readline().strip())


def test_folder_of_a_living_process_stays(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    folder = folder_of(holder)

    remove_abandoned(tmp_path)

    assert folder.is_dir()


def test_folder_of_a_killed_process_is_removed_with_all_that_is_in_it(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    folder = folder_of(holder)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "file").write_text("x")
    holder.kill()
    holder.wait()

    remove_abandoned(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_folder_of_a_process_that_nobody_waited_for_is_removed(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    folder = folder_of(holder)
    os.kill(holder.pid, signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)

    remove_abandoned(tmp_path)

    assert not folder.exists()


def test_next_process_removes_it_by_making_a_folder_of_its_own(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    left = folder_of(holder)
    holder.kill()
    holder.wait()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    code = HOLDER.replace("time.sleep(600)", "sys.exit()")

    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)

    assert not left.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_only_looks_like_ours_stays(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    left = folder_of(holder)
    holder.kill()
    holder.wait()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("x")
    link = tmp_path / f"{left.name[:-8]}aaaaaaaa"
    link.symlink_to(elsewhere)
    file = tmp_path / f"{left.name[:-8]}bbbbbbbb"
    file.write_text("x")
    others = [tmp_path / "pullrank-agent-abcdefgh", tmp_path / "pullrank-test-00000000-0123456789abcdef-aaaaaaaa"]
    for folder in others:
        folder.mkdir()

    remove_abandoned(tmp_path)

    assert not left.exists()
    assert (elsewhere / "file").exists()
    assert link.is_symlink()
    assert file.exists()
    assert all(folder.is_dir() for folder in others)


def test_folder_of_another_user_stays(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder to another user")
    folder = folder_of(holder)
    holder.kill()
    holder.wait()
    os.chown(folder, 65534, 65534)

    remove_abandoned(tmp_path)

    assert folder.is_dir()


def test_own_name_is_not_abandoned() -> None:
    with scratch_folder("test") as name:
        assert Path(name).name.startswith(scratch_prefix("test"))
        assert abandoned_names([Path(name).name]) == frozenset()
    assert not Path(name).exists()
    assert Path(name).parent == Path(tempfile.gettempdir())
