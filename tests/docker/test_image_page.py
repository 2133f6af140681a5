"""The page about images, done as it says: its commands, in a board of its own, against a real registry."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from evaluator.host.docker import agent_image
from evaluator.host.docker.engine import Engine
from evaluator.model.config.image_reference import parse_reference
from tests.docker.hub import Hub, need, running
from tests.docker.test_image_agents import LEGACY
from tests.forked_command import forked_pullrank
from tests.scripts.checkouts import ROOT, game_board, records, run

pytestmark = pytest.mark.docker
PAGE = ROOT / "site" / "pages" / "agents" / "image.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def board(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "example_agents" / "languages", tmp_path / "example_agents" / "languages")
    return game_board(tmp_path)


def test_the_commands_of_the_page(board: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    need("docker", "gcc")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    with running() as hub:
        script = "set -eu\n" + "\n".join(BLOCKS).replace("localhost:5000", hub.address)
        done = follow(board, script)
        assert done.returncode == 0, done.stdout + done.stderr
        entry = re.search(r"entry: (\S+)", (board / "submissions/alice/pole/submission.yml").read_text())
        assert entry
        named_by_tag(board, hub, entry[1])
        named_wrongly(board, hub)
    engine.remove_image(agent_image.local_name(parse_reference(entry[1])))
    engine._api.remove_image(f"{hub.address}/alice/pole", force=True)

    assert len(BLOCKS) == 3
    assert "1 folder are fine" in done.stderr
    (recorded,) = records(board).values()
    assert b'"verdict": "ok"' in recorded or b'"verdict":"ok"' in recorded


def follow(board: Path, script: str) -> subprocess.CompletedProcess[str]:
    """The commands as a shell runs them, with `pullrank` on the path."""
    place = board / "bin"
    place.mkdir(exist_ok=True)
    (place / "pullrank").write_text(forked_pullrank(ROOT))
    (place / "pullrank").chmod(0o755)
    environment = {k: v for k, v in LEGACY.items() if not k.startswith(("PULLRANK_PINNED", "GITHUB_ACTIONS"))}
    environment["PATH"] = f"{place}:{os.environ['PATH']}"
    return subprocess.run(["bash", "-c", script], cwd=board, env=environment, capture_output=True, text=True, timeout=900)


def named_by_tag(board: Path, hub: Hub, entry: str) -> None:
    """A tag is refused, with the digest that it means."""
    path = board / "submissions" / "alice" / "pole" / "submission.yml"
    good = path.read_text()
    path.write_text(good.replace(entry, f"{hub.address}/alice/pole"))
    code, _, output = run(board, "check", "submissions/alice/pole")
    path.write_text(good)

    assert code == 1
    assert "may be another image tomorrow" in output
    assert f"today that is {entry}; write it after 'entry:'" in output


def named_wrongly(board: Path, hub: Hub) -> None:
    """What the registry does not have is a fault; a registry that does not answer is none."""
    path = board / "submissions" / "alice" / "pole" / "submission.yml"
    good = path.read_text()
    path.write_text(re.sub("sha256:.*", "sha256:" + "1" * 64, good))
    absent = run(board, "check", "submissions/alice/pole")
    path.write_text(re.sub("entry: .*", "entry: localhost:9/a@sha256:" + "1" * 64, good))
    silent = run(board, "check", "submissions/alice/pole")
    path.write_text(good)

    assert absent[0] == 1
    assert "submissions/alice/pole/submission.yml: the registry" in absent[2]
    assert "has no such image; push it, and make it public" in absent[2]
    assert silent[0] == 0
    assert "so it was not looked at" in silent[2]
