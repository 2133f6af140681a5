"""`pullrank new --from`, as models.md has it: what a model is, by its bytes alone; what is written can be evaluated."""

import hashlib
import json
import pickle
import shutil
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.loading.weights_cache import WeightsCache
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.sandbox.adapters import sb3
from scripts.console import CommandError
from scripts.new_agents import import_model
from scripts.new_agents.import_model import open_source, recognise, write_model_agent
from scripts.repository.checkout import Checkout
from scripts.repository.layout import TEMPLATE_FOLDER
from tests.scripts.checkouts import game_board
from tests.weights_server import gives, serving

MODELS = Path(__file__).parent / "models"
SB3 = TEMPLATE_FOLDER / "sb3" / "model.zip"
ONNX = TEMPLATE_FOLDER / "onnx" / "model.onnx"


@pytest.fixture
def board(tmp_path: Path) -> Checkout:
    root = tmp_path / "board"
    root.mkdir()
    return Checkout(game_board(root))


def imported(board: Checkout, source: Path | str, *tasks: str, store: WeightsCache | None = None) -> Path:
    folder = board.root / "submissions" / "alice" / "mine"
    with open_source(str(source), board, store) as opened:
        write_model_agent(opened, folder, "Mine", list(tasks) or None, board, store)
    return folder


@pytest.mark.parametrize(
    ("source", "tasks", "files", "needs"),
    [
        (SB3, (), {"model.zip"}, ("sb3",)),
        (ONNX, ("CartPole-v1",), {"model.onnx"}, ("onnx",)),
        (MODELS / "ppo.cleanrl_model", ("CartPole-v1",), {"model.pt", "agent.py"}, ("torch",)),
        (MODELS / "policy.pt", ("CartPole-v1",), {"model.pt", "agent.py"}, ("torch",)),
    ],
)
def test_a_model_becomes_a_folder(
    board: Checkout, source: Path, tasks: tuple[str, ...], files: set[str], needs: tuple[str, ...]
) -> None:
    read = read_folder(imported(board, source, *tasks), SubmissionLimits())

    assert {blob.path for blob in read.blobs} == files | {"submission.yml"}
    assert read.submission.needs == needs
    assert read.submission.tasks == ("CartPole-v1",)  # an SB3 zip says its spaces itself


def test_the_adapter_loads_the_algorithms_that_a_folder_is_made_for() -> None:
    assert import_model._ALGORITHM_FIELDS == sb3.ALGORITHM_FIELDS


def test_a_task_with_other_spaces_than_the_model_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = "tasks:\n  - id: Pendulum-v1\n"
    (tmp_path / "challenge.yml").write_text(f"title: x\nseason: '1'\n{other}")

    imported(Checkout(tmp_path), SB3, "Pendulum-v1")

    words = "Pendulum-v1: has other spaces than the model, observations of shape (4,) and actions 2"
    assert words in capsys.readouterr().err


def test_a_folder_of_the_zoo_brings_its_statistics(board: Checkout, tmp_path: Path) -> None:
    zoo = tmp_path / "CartPole-v1_1"
    shutil.copytree(MODELS / "CartPole-v1_1", zoo / "CartPole-v1")
    shutil.copy(SB3, zoo / "CartPole-v1.zip")
    shutil.copy(SB3, zoo / "best_model.zip")

    folder = imported(board, zoo)

    assert {path.name for path in folder.iterdir()} == {"agent.py", "model.zip", "submission.yml", "vecnormalize.pkl"}
    assert 'ALGORITHM = "PPO"' in (folder / "agent.py").read_text()


def test_an_address_becomes_weights_that_need_not_be_fetched_again(board: Checkout, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.pages["/resolve/abc/model.zip"] = gives(SB3.read_bytes())
        store = server.store(tmp_path / "store")
        folder = imported(board, "https://models.example/resolve/abc/model.zip", store=store)

    weights = read_folder(folder, SubmissionLimits()).submission.weights
    assert [(each.file, each.sha256) for each in weights] == [("model.zip", hashlib.sha256(SB3.read_bytes()).hexdigest())]
    assert not (folder / "model.zip").exists()
    assert store.has(weights[0])


def test_a_connection_that_ends_early_is_the_machines_fault_and_nothing_asks_again(board: Checkout, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.pages["/model.zip"] = gives(SB3.read_bytes(), **{"Content-Length": "999999"})
        with pytest.raises(CommandError) as caught:
            imported(board, "https://models.example/model.zip", store=server.store(tmp_path / "store"))

    assert caught.value.code == 3
    assert str(caught.value).startswith("https://models.example/model.zip: models.example does not answer as it should (")
    assert str(caught.value).endswith("); nothing was written, try it again")
    assert not (board.root / "submissions").exists()


def test_layers_are_read_from_the_names_in_the_file() -> None:
    replaced = dict(recognise(MODELS / "ppo.cleanrl_model").replaced)

    assert replaced["LAYERS = []"] == 'LAYERS = ["actor.0", "actor.2", "actor.4"]'
    assert replaced["ACTIVATION = torch.tanh"] == "ACTIVATION = torch.tanh"


class Trap:
    """A pickle that leaves a file where it is loaded."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.place,)


def torch_zip(path: Path, pickled: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/data.pkl", pickled)
    return path


def sb3_zip(path: Path, data: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data", data)
        archive.writestr("policy.pth", b"")
    return path


@pytest.mark.attack(
    "statistics_that_link_to_a_secret", family="models", outcome="refused, nothing is written",
    tries="Puts a link to the variables of who imports a model where VecNormalize's statistics lie, to publish them.",
)  # fmt: skip
def test_a_link_to_somebody_elses_file_is_not_copied(board: Checkout, tmp_path: Path) -> None:
    zoo = tmp_path / "zoo"
    zoo.mkdir()
    shutil.copyfile(SB3, zoo / "model.zip")
    (zoo / "vecnormalize.pkl").symlink_to("/proc/self/environ")

    with pytest.raises(CommandError, match=r"vecnormalize\.pkl: leads to what VecNormalize did not save; remove it"):
        imported(board, zoo)

    assert not (board.root / "submissions/alice/mine").exists()


@pytest.mark.attack(
    "model_that_runs_when_it_is_imported", family="models", outcome="never unpickled; refused, or carried to the sandbox",
    tries="Publishes a model whose pickle runs code on the machine of whoever makes an agent of it.",
)  # fmt: skip
@pytest.mark.parametrize("protocol", [2, 4])
def test_nothing_is_unpickled(board: Checkout, tmp_path: Path, protocol: int) -> None:
    trap = tmp_path / "ran"
    pickled = pickle.dumps({"actor.0.weight": Trap(trap)}, protocol=protocol)
    plain = tmp_path / "plain.pt"
    plain.write_bytes(pickled)
    for path in (torch_zip(tmp_path / "net.pt", pickled), plain):
        with pytest.raises(CommandError, match=r"holds an object|holds objects|plain pickle"):
            imported(board, path, "CartPole-v1")
    zoo = tmp_path / "zoo"
    zoo.mkdir()
    shutil.copy(SB3, zoo / "model.zip")
    (zoo / "vecnormalize.pkl").write_bytes(pickled)
    imported(board, zoo)

    assert not trap.exists()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(
            b" " * (40 << 20), "more than 16 MiB",
            marks=pytest.mark.attack("model_that_unpacks_to_gigabytes", family="models", outcome="refused, read to 16 MiB",
            tries="Packs a model's description so that it unpacks to a thousand times its size."),
        ),
        pytest.param(
            b"[" * 100_000, "cannot be read",
            marks=pytest.mark.attack("model_nested_without_end", family="models", outcome="refused in one line",
            tries="Nests a model's description deeper than a parser's stack."),
        ),
        pytest.param(
            json.dumps({"n_epochs": 1, "action_space": [], "observation_space": {"_shape": [[]], "n": "9" * 99}}).encode(),
            "cannot be read|name that with --task",
            marks=pytest.mark.attack("model_with_spaces_of_nonsense", family="models", outcome="refused in one line",
            tries="Describes spaces of a model by values of other types."),
        ),
        pytest.param(
            json.dumps({"n_epochs": 1, "action_space": [1]}).encode(), "name that with --task",
            marks=pytest.mark.attack("model_with_spaces_that_are_none", family="models", outcome="refused in one line",
            tries="Describes the spaces of a model by a list, or by a text."),
        ),
        pytest.param(
            json.dumps({"n_epochs": 1, "policy_class": {"__module__": "sb3_contrib.common"}}).encode(), "is of none of PPO",
            marks=pytest.mark.attack("model_of_another_library", family="models", outcome="refused with what to do",
            tries="Passes a model of another library, with the fields of a known one."),
        ),
    ],
)  # fmt: skip
def test_a_hostile_description_is_refused_in_one_line(board: Checkout, tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(CommandError) as caught:
        imported(board, sb3_zip(tmp_path / "model.zip", data))

    assert any(part in str(caught.value) for part in why.split("|"))
    assert not (board.root / "submissions").exists()


@pytest.mark.attack(
    "model_that_cannot_be_unpacked", family="models", outcome="refused in one line",
    tries="Damages what a model's description is compressed with, so that unpacking fails in each method's own way.",
)  # fmt: skip
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_cannot_be_unpacked_is_refused_in_one_line(board: Checkout, tmp_path: Path, method: int) -> None:
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("data", json.dumps({"n_epochs": 1, "numbers": list(range(1000))}))
        archive.writestr("policy.pth", b"")
    content = bytearray(path.read_bytes())
    for place in range(34, 60):  # behind the first member's header and name
        content[place] ^= 0x5A
    path.write_bytes(content)

    with pytest.raises(CommandError, match=r"cannot be read|neither stored nor deflated"):
        imported(board, path, "CartPole-v1")


@pytest.mark.attack(
    "model_packed_by_another_method", family="models", outcome="refused before it is unpacked",
    tries="Packs a model's description by bzip2 or LZMA, of which Python unpacks all at once: a kilobyte fills the memory.",
)  # fmt: skip
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_whose_method_unpacks_all_at_once_is_not_read(board: Checkout, tmp_path: Path, method: int) -> None:
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("data", bytes(128 << 20))
        archive.writestr("policy.pth", b"")
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()

    try:
        with pytest.raises(CommandError, match="neither stored nor deflated"):
            imported(board, path, "CartPole-v1")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 64 << 20


@pytest.mark.attack(
    "model_code_in_its_names", family="models", outcome="only names of layers get into the agent, quoted",
    tries="Names a layer so that the written agent.py holds code of the model's author.",
)  # fmt: skip
def test_names_of_layers_cannot_write_code(board: Checkout, tmp_path: Path) -> None:
    names = {'actor.0"]; import os; x = ["': 1, 'actor.0"]; import os; x = [".weight': 1, "actor.2.weight": 1}

    folder = imported(board, torch_zip(tmp_path / "net.pt", pickle.dumps(names, protocol=2)), "CartPole-v1")

    assert 'LAYERS = ["actor.2"]\n' in (folder / "agent.py").read_text()


@pytest.mark.attack(
    "model_with_a_name_of_digits", family="models", outcome="refused at once",
    tries="Names a layer by a million digits, which took hours to be looked at.",
)  # fmt: skip
def test_a_long_name_of_a_layer_takes_no_time(board: Checkout, tmp_path: Path) -> None:
    begun = time.monotonic()

    with pytest.raises(CommandError, match="has no layers called"):
        imported(board, torch_zip(tmp_path / "net.pt", pickle.dumps({"1" * 1_000_000: 1}, protocol=2)), "CartPole-v1")

    assert time.monotonic() - begun < 30


def test_other_files_are_refused_with_what_to_do(board: Checkout, tmp_path: Path) -> None:
    pointer = tmp_path / "model.zip"
    pointer.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    for path, why in {
        pointer: "Git LFS pointer", MODELS / "pickled.pt": "torch.jit.script", tmp_path / "none": "is no file",
        board.root / "challenge.yml": "TorchScript or ONNX",
    }.items():  # fmt: skip
        with pytest.raises(CommandError, match=why):
            imported(board, path, "CartPole-v1")
    for url, why in {"http://a.example/x": "https", "https://hub.example/a/blob/main/x": "/resolve/"}.items():
        with pytest.raises(CommandError, match=why):
            imported(board, url)


def test_what_lies_at_an_address_and_is_no_model_is_named_by_it(board: Checkout, tmp_path: Path) -> None:
    url = "https://models.example/page"
    with serving(tmp_path) as server:
        server.pages["/page"] = gives(b"<html>")
        with pytest.raises(CommandError, match=f"^{url}: is nothing that is known here"):
            imported(board, url, "CartPole-v1", store=server.store(tmp_path / "store"))
