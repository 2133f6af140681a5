"""What comes with a pull request or a folder: byte code, names, links, filters, bombs, and models that run when opened."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import LoadError, parse_submission
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission_limits import SubmissionLimits
from scripts.commands import check, recorded
from scripts.console import CommandError
from scripts.git.data_branches import open_branches, results_commit
from scripts.git.folder_history import FolderHistory
from scripts.git.git_repository import GitRepository
from scripts.git.main_entries import read_entries
from scripts.git.pull_request_guard import GuardedPaths, PullAuthor, inspect_pull
from tests.scripts.github.remotes import AGENT, Clone, agent_files, git, make_board

RULES = Challenge.model_validate({"title": "Test", "season": "1", "tasks": [{"id": "CartPole-v1"}]})
ALICE = PullAuthor(login="alice", id=1)
AT = "submissions/alice/a"


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    return make_board(tmp_path, agent_files("bob", "b"))


def judge(board: Clone, files: dict[str, bytes | None], limits: SubmissionLimits | None = None) -> GuardedPaths:
    main = board.head
    return inspect_pull(board.repository, main, board.commit(files), ALICE, limits or SubmissionLimits())


def refused(board: Clone, path: str, content: bytes = b"x\n") -> str:
    """The one line with which a pull request is refused that holds a file besides a good agent."""
    (fault,) = judge(board, {**agent_files("alice"), path: content}).faults
    assert fault.isprintable()
    return fault


BYTE_CODE = "Python's byte code is no part of an agent; remove it"
MODULE = "is another repository; put its files there"
LINK = "is a symbolic link; put the file itself there"
GIT = "git's own files are not allowed in a submission; remove it"
LONG = "has more than 120 characters, so nobody could clone it on Windows; shorten it"
NAMES = (
    "names of files and folders are letters, digits or '_.+-', beginning with a letter, digit or '_', at most 100; rename it"
)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param(f"{AT}/agent.pyc", BYTE_CODE, marks=pytest.mark.attack(
            "byte_code_beside_the_source", family="supply", outcome="refused in one line",
            tries="Puts byte code beside the source, which Python imports and nobody can read.")),
        pytest.param(f"{AT}/deep/Helper.PYC", BYTE_CODE, id="byte code in capitals"),
        pytest.param(f"{AT}/deep/__pycache__/x.py", BYTE_CODE, marks=pytest.mark.attack(
            "byte_code_in_a_cache", family="supply", outcome="refused in one line",
            tries="Commits a cache of byte code made from other source.")),
        pytest.param(f"{AT}/x.pyo", BYTE_CODE, id="optimised byte code"),
        pytest.param(f"160000:{AT}/module", MODULE, marks=pytest.mark.attack(
            "submodule", family="supply", outcome="refused in one line",
            tries="Commits another repository as a folder, whose files nobody has looked at.")),
        pytest.param(f"120000:{AT}/weights", LINK, marks=pytest.mark.attack(
            "link_in_git", family="supply", outcome="refused in one line",
            tries="Commits a symbolic link to a file of the machine that reads it.")),
        pytest.param(f"{AT}/.gitattributes", GIT, marks=pytest.mark.attack(
            "attributes_in_the_folder", family="supply", outcome="refused in one line",
            tries="Brings attributes with filters of Git LFS for a later checkout.")),
        pytest.param(f"{AT}/.gitmodules", GIT, marks=pytest.mark.attack(
            "modules_in_the_folder", family="supply", outcome="refused in one line",
            tries="Brings a list of submodules with commands as addresses.")),
        pytest.param(f"{AT}/data\\..\\..\\agent.py", NAMES, marks=pytest.mark.attack(
            "path_of_windows", family="supply", outcome="refused in one line",
            tries="Leaves the folder with a path that only Windows takes for one.")),
        pytest.param(f"{AT}/con", "Windows takes 'con' for a device, so nobody could clone there; rename it", id="device"),
        pytest.param(f"{AT}/{'d' * 60}/{'e' * 60}", LONG, marks=pytest.mark.attack(
            "path_longer_than_windows_takes", family="supply", outcome="refused in one line",
            tries="Commits a file so deep in long folders that no clone on Windows can hold it.")),
        pytest.param(f"{AT}/ag\u0435nt.py", NAMES, marks=pytest.mark.attack(
            "file_with_letters_that_look_alike", family="supply", outcome="refused in one line",
            tries="Names a file like the entry, with a letter that looks alike.")),
        pytest.param(f"{AT}/agent\u200b.py", NAMES, marks=pytest.mark.attack(
            "file_with_invisible_letters", family="supply", outcome="refused in one line",
            tries="Names a file like the entry, with an invisible letter.")),
    ],
)  # fmt: skip
def test_what_is_no_plain_file_does_not_come_in(board: Clone, path: str, words: str) -> None:
    content = board.head.encode() if path.startswith("160000") else b"/etc/passwd"

    assert refused(board, path, content).endswith(words)


@pytest.mark.attack(
    "folders_that_differ_by_case", family="supply", outcome="refused in one line",
    tries="Commits two folders that are one where capitals do not matter, so that another file runs there.",
)  # fmt: skip
@pytest.mark.parametrize("pair", [("Data/x.py", "data/y.py"), ("lib/A/x.py", "lib/a/x.txt"), ("helper", "Helper/x.py")])
def test_folders_that_differ_by_case_do_not_come_in(board: Clone, pair: tuple[str, str]) -> None:
    first, second = pair
    (fault,) = judge(board, {**agent_files("alice"), f"{AT}/{first}": b"1\n", f"{AT}/{second}": b"2\n"}).faults

    assert "differs from" in fault
    assert fault.endswith("only by case; rename one")


def test_a_folder_that_came_in_before_these_rules_can_still_be_read(board: Clone) -> None:
    sha = board.commit({**agent_files("alice"), f"{AT}/Data/x.py": b"", f"{AT}/data/y.py": b"", f"{AT}/aux.py": b""})

    assert len(assemble(board.repository.blobs(sha, AT), SubmissionLimits()).blobs) == 5


@pytest.mark.attack(
    "results_that_are_a_link", family="supply", outcome="refused, nothing is written",
    tries="Gives away a board whose results/ is a link to a home folder, and records the settings of a program as a result.",
)  # fmt: skip
def test_recorded_results_are_not_written_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = make_board(tmp_path / "home", {"120000:results": b".."})
    board.commit({".docker/config.json": b"{}\n"})
    board.push("results")
    git(board.path, "checkout-index", "-f", "challenge.yml", "results")
    monkeypatch.chdir(board.path)

    with pytest.raises(CommandError, match=r"results: is a link, and nothing is written through it; remove it"):
        recorded.run()

    assert not (tmp_path / "home/.docker").exists()


@pytest.mark.attack(
    "blob_bomb", family="supply", outcome="refused by its size, not read",
    tries="Commits a large file of zeros, which git packs a thousand times smaller.",
)  # fmt: skip
def test_a_blob_that_unpacks_to_much_more_is_refused_by_its_size(board: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = GitRepository.read
    monkeypatch.setattr(GitRepository, "read", lambda self, oids, *rest: read.extend(oids) or plain(self, oids, *rest))
    with (board.path / "zeros").open("wb") as file:
        file.truncate(1 << 25)
    oid = git(board.path, "hash-object", "-w", "zeros")
    git(board.path, "update-index", "--add", "--cacheinfo", f"100644,{oid},{AT}/weights.bin")
    (fault,) = judge(board, agent_files("alice")).faults

    held = "holds 32 MiB of at most 25 MiB; largest: weights.bin 32 MiB"
    assert fault.endswith(f"{held}; have it fetched: 'weights' in the manifest")
    assert oid not in read


@pytest.mark.attack(
    "large_agents_side_by_side", family="supply", outcome="all agents of the board are read, few files at once",
    tries="Enters forty-two agents of 25 MiB each, in packs of some kilobytes: together more than git may print at once.",
)  # fmt: skip
def test_agents_that_are_large_together_do_not_keep_the_board_from_being_read(board: Clone) -> None:
    files: dict[str, bytes | None] = {}
    for number in range(42):
        files |= agent_files("alice", f"a{number}", AGENT + b"# %d\n" % number)
        files[f"submissions/alice/a{number}/weights.bin"] = b"%d" % number + bytes(25_500 << 10)
    assert judge(board, files).is_clean
    entries, faults = read_entries(board.repository, board.head, RULES)

    assert (len(entries), faults) == (43, [])
    history = FolderHistory(board.repository, board.head)
    assert history.digests(entry.spelled_name for entry in entries) == {
        entry.spelled_name: entry.digest for entry in entries
    }


@pytest.mark.attack(
    "folders_that_are_compared_for_hours", family="supply", outcome="each file is read twice at most",
    tries="Changes many folders with the same source and large files in every other one, which are compared pair by pair.",
)  # fmt: skip
@pytest.mark.parametrize("name", ["weights.bin", "submission.yml"])
def test_each_file_is_read_once_however_many_folders_are_alike(
    board: Clone, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, bytes | None] = {}
    for number in range(20):
        files |= agent_files("alice", f"a{number}", AGENT + b"# alice\n")
        if number % 2:
            files[f"submissions/alice/a{number}/{name}"] = b"%d" % number + bytes(1 << 20)
    printed: list[int] = []
    plain = GitRepository.run

    def run(self: GitRepository, *arguments: str, **options: Any) -> bytes:
        output = plain(self, *arguments, **options)
        printed.append(len(output))
        return output

    monkeypatch.setattr(GitRepository, "run", run)
    assert len(judge(board, files).faults) > 1
    assert sum(printed) < 25 << 20


class _Canary:
    """Writes a file when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.place,)


def saved_model(place: Path) -> bytes:
    """A zip as sb3 saves it: a pickle in JSON and one as a file, both with a canary."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data", pickle.dumps(_Canary(place)))
        archive.writestr("../../../escaped", b"x")
        archive.writestr("policy.pth", pickle.dumps(_Canary(place)))
    return file.getvalue()


# A model of ONNX whose one tensor has its data in a file: location ../../../../etc/passwd.
EXTERNAL = b"\x08\x08\x3a\x2a\x2a\x28\x08\x01\x10\x01\x70\x01\x6a\x20\x0a\x08location\x12\x14../../../etc/passwd\x00"


@pytest.mark.parametrize(
    ("adapter", "name"),
    [
        pytest.param("sb3", "model.zip", marks=pytest.mark.attack(
            "pickle_that_a_check_would_open", family="supply", outcome="hashed, never opened outside of the container",
            tries="Saves a model whose unpickling runs code on whoever checks it.")),
        pytest.param("onnx", "model.onnx", marks=pytest.mark.attack(
            "model_with_its_data_outside", family="supply", outcome="hashed, never opened outside of the container",
            tries="Saves a model of ONNX whose tensors lie in files of the machine that checks it.")),
    ],
)  # fmt: skip
def test_the_trusted_side_opens_no_model(
    adapter: str, name: str, board: Clone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "ran"
    content = saved_model(mark) if adapter == "sb3" else EXTERNAL
    manifest = f"name: Model\nalgorithm: saved\nadapter: {adapter}\nentry: {name}\n".encode()
    files: dict[str, bytes | None] = {f"{AT}/{name}": content, f"{AT}/submission.yml": manifest}
    paths = judge(board, files)
    folder = assemble(board.repository.blobs(board.head, AT), SubmissionLimits())
    place = tmp_path / "clone" / AT
    place.mkdir(parents=True)
    for path, text in files.items():
        (tmp_path / "clone" / path).write_bytes(text or b"")
    (tmp_path / "clone" / "challenge.yml").write_text("title: T\nseason: '1'\ntasks: [{id: CartPole-v1, episodes: 30}]\n")
    monkeypatch.chdir(tmp_path / "clone")

    assert paths.is_clean
    assert check.run([Path(AT)]) == 0
    assert {blob.path: blob.content for blob in folder.blobs}[name] == content
    assert not mark.exists()
    assert not list(tmp_path.rglob("escaped"))
    pickle.loads(pickle.dumps(_Canary(mark)))
    assert mark.exists()  # the canary sings where something opens it


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(b"name: *a\nalgorithm: x\n", marks=pytest.mark.attack(
            "yaml_alias_of_nothing", family="supply", outcome="refused in one line",
            tries="Refers to an anchor that is not there.")),
        pytest.param(b"%TAG ! tag:x,2000:\n---\nname: !a x\nalgorithm: y\n", marks=pytest.mark.attack(
            "yaml_directive", family="supply", outcome="refused in one line",
            tries="Renames YAML's tags with a directive.")),
        pytest.param(b"name: x\nalgorithm: y\nmeta: {<<: {a: b}, a: c, a: d}\n", marks=pytest.mark.attack(
            "yaml_merge_and_twins", family="supply", outcome="refused in one line",
            tries="Gives a key twice, so that two readers take different values.")),
        pytest.param(b"name: x\nalgorithm: y\n? {a: b}\n: c\n", marks=pytest.mark.attack(
            "yaml_mapping_as_key", family="supply", outcome="refused in one line",
            tries="Uses a mapping as a key, which Python cannot hash.")),
        pytest.param(b"name: 0o17\nalgorithm: 1:30:00\nextras: 2020-01-01\n", marks=pytest.mark.attack(
            "yaml_values_of_other_types", family="supply", outcome="refused in lines with their places",
            tries="Writes texts that YAML reads as numbers, times and dates.")),
        pytest.param(
            b"name: x\nalgorithm: y\nweights:\n- {file: a.bin, url: https://a.b/c, sha256: '%s', bytes: 0x%s}\n"
            % (b"a" * 64, b"f" * 30_000),
            marks=pytest.mark.attack(
                "yaml_number_that_cannot_be_printed", family="supply", outcome="refused in one line",
                tries="Gives the size of a file in 30,000 hexadecimal digits, which fail to be printed in the refusal.")),
        *(
            pytest.param(b'name: x\nalgorithm: "\\U%s"\n' % digits, marks=pytest.mark.attack(
                "yaml_escape_of_no_character", family="supply", outcome="refused in one line",
                tries="Escapes a character whose number no character has, on which the second of two parsers fails."))
            for digits in (b"ffffffff", b"00110000", b"7fffffff")
        ),
        pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfname: x\nalgorithm: y\n", marks=pytest.mark.attack(
            "yaml_byte_order_mark", family="supply", outcome="refused in one line",
            tries="Begins a manifest with marks of byte order, which readers drop or keep.")),
    ],
)  # fmt: skip
def test_clever_yaml_is_refused(manifest: bytes) -> None:
    with pytest.raises(LoadError) as caught:
        parse_submission(manifest)

    assert all(line.startswith("submission.yml") and len(line) < 500 for line in caught.value.lines)


@pytest.mark.attack(
    "manifest_of_many_faults", family="supply", outcome="refused in a hundred lines",
    tries="Lists thousands of unknown keys, or of empty files to fetch: a report writes their lines for minutes.",
)  # fmt: skip
@pytest.mark.attack(
    "manifest_of_many_values", family="supply", outcome="refused in one line, before it is read",
    tries="Has tens of thousands of values of one letter, on which two parsers take turns for seconds.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("values", "lines"),
    [
        (b"".join(b"k%d: 1\n" % number for number in range(4000)), 100),
        (b"weights: [%s]\n" % (b"{}," * 21_800), 1),
        (b"x: {%s}}\n" % (b"a ," * 20_000), 1),
    ],
)
def test_a_manifest_is_refused_in_few_lines_whatever_it_has_room_for(values: bytes, lines: int) -> None:
    with pytest.raises(LoadError) as caught:
        parse_submission(b"name: x\nalgorithm: y\n" + values)

    assert len(caught.value.lines) == lines
    assert lines > 1 or "too many values" in caught.value.lines[0]


def test_check_says_the_same_of_folders_on_a_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "challenge.yml").write_text("title: T\nseason: '1'\ntasks: [{id: CartPole-v1, episodes: 30}]\n")
    folders = []
    for name, path in (("a", "x.pyc"), ("b", "Data/x"), ("c", "nul.txt")):
        folder = tmp_path / "submissions" / "alice" / name
        for file, content in (
            ("agent.py", "class Agent: ...\n"),
            ("submission.yml", "name: x\nalgorithm: y\n"),
            (path, "x"),
        ):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(content)
        folders.append(folder)
    (folders[1] / "data").mkdir()
    (folders[1] / "data" / "y").write_text("y")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(CommandError) as caught:
        check.run(folders)

    assert str(caught.value).splitlines() == [
        f"submissions/alice/a/x.pyc: {BYTE_CODE}",
        "submissions/alice/b: data differs from Data only by case; rename one",
        "submissions/alice/c/nul.txt: Windows takes 'nul' for a device, so nobody could clone there; rename it",
    ]


@pytest.mark.attack(
    "branch_whose_name_ends_in_results", family="supply", outcome="the branch results is read",
    tries="May push, but not change what is recorded: makes a branch `a/refs/heads/results`, which git lists first.",
)  # fmt: skip
def test_a_branch_whose_name_ends_in_another_is_not_taken_for_it(board: Clone) -> None:
    recorded_at = board.commit({"FrozenLake-v1/bob/b/1.json": b"{}"})
    board.push("results")
    board.commit({"FrozenLake-v1/bob/b/1.json": None})
    for name in (b"a/refs/heads/results", b"\xff/refs/heads/results"):
        board.repository.run("push", "-q", "origin", f"HEAD:refs/heads/{name.decode(errors='surrogateescape')}")

    assert results_commit(board.repository) == recorded_at
    with open_branches(board.repository, "1") as branches:
        assert branches.tips()["results"] == recorded_at
