"""`pullrank new` in real containers: what it writes for every kind and adapter passes check and evaluate as it stands."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.host.docker import agent_image, evaluator_image
from evaluator.host.docker.engine import Engine
from evaluator.model.config.image_reference import parse_reference
from evaluator.model.config.submission import ADAPTER_EXTRAS, ADAPTERS
from tests.docker.extras import torch_index
from tests.docker.hub import need, running
from tests.docker.test_image_page import follow
from tests.hostile.arena import base
from tests.scripts.checkouts import records, run
from tests.scripts.new_agents.test_new_agent import CHALLENGE, FOLDER, SOLO

pytestmark = pytest.mark.docker
GAMES = ["tictactoe", "connect_four", "quarto"]
# What each is measured on, on a board that has everything.
WRITTEN = {
    (): [*SOLO, *GAMES, "throws"],
    ("--kind", "script"): ["pole", "swing", "lake"],
    ("--adapter", "rl-arena"): GAMES,
    ("--adapter", "kaggle-connectx"): ["connect_four"],
    ("--adapter", "evalai-grpc"): ["CartPole-v1", "FrozenLake-v1"],
    ("--adapter", "evalai-grpc", "--task", "Pendulum-v1"): ["Pendulum-v1"],
    ("--adapter", "sb3"): ["CartPole-v1"],
    ("--adapter", "predict"): SOLO,
    ("--adapter", "function"): ["CartPole-v1", "FrozenLake-v1"],
    ("--adapter", "gym-policy"): SOLO,
    ("--adapter", "onnx"): ["CartPole-v1"],
}


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """A board with tasks of all sorts."""
    (tmp_path / "challenge.yml").write_text(CHALLENGE)
    return tmp_path


@pytest.fixture(scope="module", autouse=True)
def images(engine: Engine) -> Iterator[None]:
    """The images with extras are there: how long a build takes is no matter of templates."""
    with torch_index():
        for name in ADAPTER_EXTRAS.values():
            evaluator_image.ensure_evaluator_image(engine, base(), lambda line: None, (name,))
        yield


def evaluated(board: Path, folder: str) -> dict[str, str]:
    """The verdict of each task in the docker sandbox, of a folder that passes the check."""
    assert run(board, "check", folder)[::2] == (0, "challenge.yml and 1 folder are fine.\n")
    code, out, err = run(board, "evaluate", folder, "--sandbox", "docker", "--json")
    assert code == 0, out + err
    documents = json.loads(out)
    assert {document["sandbox"] for document in documents} == {"docker"}
    return {document["task"]: document["verdict"] for document in documents}


@pytest.mark.parametrize("words", WRITTEN, ids=" ".join)
def test_what_is_written_passes_check_and_evaluate_at_once(words: tuple[str, ...], board: Path) -> None:
    code, _, output = run(board, "new", FOLDER, *words)
    assert (code, f"Next: pullrank evaluate {FOLDER}" in output) == (0, True)

    assert evaluated(board, FOLDER) == dict.fromkeys(WRITTEN[words], "ok")


def test_every_adapter_is_among_them() -> None:
    assert {words[1] for words in WRITTEN if words[:1] == ("--adapter",)} == set(ADAPTERS)


def test_an_image_is_built_pushed_and_played_as_its_readme_says(
    board: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With this machine's base and registry in place of those of the world: nothing else of the commands is changed."""
    need("docker")
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    run(board, "new", FOLDER, "--kind", "image")
    build, trial = re.findall(r"^```sh\n(.*?)^```$", (board / FOLDER / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    with running() as hub:
        commands = build.replace("ghcr.io", hub.address).replace("docker build", f"docker build --build-arg BASE={base()}")
        done = follow(board, f"set -eu\ncd {FOLDER}\n{commands}")
        assert done.returncode == 0, done.stdout + done.stderr
        entry = done.stdout.splitlines()[-1]
        write_entry(board / FOLDER / "submission.yml", entry)
        verdicts = evaluated(board, FOLDER)
        again = follow(board, f"set -eu\ncd {FOLDER}\n{trial}")
    engine.remove_image(agent_image.local_name(parse_reference(entry)))
    engine._api.remove_image(f"{hub.address}/alice/first", force=True)

    assert verdicts == dict.fromkeys([*SOLO, *GAMES, "throws"], "ok")
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stderr.count("recorded before") == len(records(board))


def write_entry(manifest: Path, entry: str) -> None:
    """What the README asks for: the digest in place of the template's."""
    text, changed = re.subn(r"^entry: .*$", f"entry: {entry}", manifest.read_text(), flags=re.MULTILINE)
    assert changed == 1
    manifest.write_text(text)
