"""Folders that never reach a container: each is refused in one clear line that says what, where and what to do."""

import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.submission_limits import SubmissionLimits
from scripts.commands import check, new
from scripts.console import CommandError
from scripts.repository.checkout import Checkout
from scripts.runs.eligible_tasks import eligible_tasks

GOOD = "name: Mine\nalgorithm: a rule\n"
SOURCE = "class Agent:\n    def act(self, observation):\n        return 0\n"
LIMITS = SubmissionLimits(files=5, kib=64)


def folder_of(root: Path, manifest: str | bytes = GOOD, **files: str | bytes) -> Path:
    """A submission with that manifest and those files besides agent.py; `__` in a name is a slash."""
    folder = root / "submissions" / "alice" / "agent"
    for name, content in {"submission.yml": manifest, "agent.py": SOURCE, **files}.items():
        place = folder / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root reads everything; it looks with the rights of nobody. Everybody else keeps their own."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(mine)


def refusal(folder: Path, limits: SubmissionLimits = LIMITS) -> list[str]:
    """The lines with which the folder is refused."""
    with pytest.raises(LoadError) as caught:
        read_folder(folder, limits)
    return list(caught.value.lines)


def test_good_folder_is_read(tmp_path: Path) -> None:
    folder = read_folder(folder_of(tmp_path, weights=b"\x00\xff"), LIMITS)

    assert [blob.path for blob in folder.blobs] == ["agent.py", "submission.yml", "weights"]


DEEP = "meta: " + "{a: " * 13 + "1" + "}" * 13 + "\n"
BOMB = "name: &a [x, x]\nalgorithm: &b [*a, *a]\n"
MANIFESTS: dict[str, tuple[str | bytes, str]] = {
    "missing key": ("name: Mine\n", "submission.yml:1: the key 'algorithm' is missing; add it"),
    "unknown key": (GOOD + "entri: a.py\n", "submission.yml:3: unknown key 'entri'; did you mean 'entry'?"),
    "key like nothing": (GOOD + "zzz: 1\n", "submission.yml:3: unknown key 'zzz'; known keys are: name, algorithm, "),
    "duplicate key": (GOOD + "name: Other\n", "submission.yml:3: the key 'name' stands twice; keep one"),
    "duplicate quoted key": (GOOD + "'name': Other\n", "submission.yml:3: the key 'name' stands twice; keep one"),
    "number for text": (
        "name: 7\nalgorithm: x\n",
        "submission.yml:1: 'name' must be text; write it in quotes",
    ),
    "list for text": (
        "name: [a]\nalgorithm: x\n",
        "submission.yml:1: 'name' must be text; write it in quotes",
    ),
    "unknown kind": (GOOD + "kind: virus\n", "submission.yml:3: 'kind' must be 'policy', 'script' or 'image'"),
    "empty name": ("name: ''\nalgorithm: x\n", "submission.yml:1: 'name' must not be empty or begin or end with a space"),
    "name of two lines": ('name: "a\\nb"\nalgorithm: x\n', "submission.yml:1: 'name' must be a single line"),
    "long name": (f"name: {'x' * 61}\nalgorithm: x\n", "submission.yml:1: 'name' "),
    "javascript address": (
        GOOD + "url: javascript:alert(1)\n",
        "submission.yml:3: 'url' must be an https:// address",
    ),
    "no tasks": (GOOD + "tasks: []\n", "submission.yml:1: 'tasks' is an empty list; name a task or write 'all'"),
    "path as task": (GOOD + "tasks: ['../../x']\n", "submission.yml:3: "),
    "bomb": (BOMB, "submission.yml:1: anchors and aliases (& and *) are not allowed; write the value out"),
    "merge key": (
        "base: &b {name: x}\n<<: *b\n",
        "submission.yml:1: anchors and aliases (& and *) are not allowed; write the value out",
    ),
    "tag": (
        "name: !!python/object/apply:os.system ['id']\n",
        "submission.yml:1: tags (!) are not allowed; write a plain value",
    ),
    "local tag": ("name: !x y\n", "submission.yml:1: tags (!) are not allowed; write a plain value"),
    "nesting": (GOOD + DEEP, "submission.yml:3: is nested deeper than 12 levels; flatten it"),
    "deep brackets": (GOOD + "meta: " + "[" * 20_000, "submission.yml:3: is nested deeper than 12 levels; flatten it"),
    "list at the top": ("- name\n", "submission.yml:1: must be a mapping of keys to values, such as 'name: My agent'"),
    "nothing": ("", "submission.yml:1: must be a mapping of keys to values, such as 'name: My agent'"),
    "two documents": (GOOD + "---\n" + GOOD, "submission.yml:3: "),
    "not YAML": ("name: 'open\n", "submission.yml:2: found unexpected end of stream; check the quotes"),
    "list as key": ("? [a, b]\n: c\n", "submission.yml:1: a key must be a plain word"),
    "tabs": ("name:\n\t- x\n", "submission.yml:2: "),
    "not UTF-8": (b"name: Mine\nalgorithm: \xff\n", "submission.yml:2: is not UTF-8 text; save it as UTF-8"),
    "UTF-16": ("name: Mine\n".encode("utf-16"), "submission.yml:1: is not UTF-8 text; save it as UTF-8"),
    "zero byte": (GOOD + "#\0\n", "submission.yml:3: holds the invisible character U+0000; remove it"),
    "bidirectional": (GOOD + "# \u202e\n", "submission.yml:3: holds the invisible character U+202E; remove it"),
    "escaped bidirectional": (
        'name: "a\\u202eb"\nalgorithm: x\n',
        "submission.yml:1: 'name' holds the invisible character U+202E; remove it",
    ),
    "too long": (GOOD + "#" * 70_000, "submission.yml: has 70029 bytes, the limit is 65536; shorten it"),
    "odd date": (
        "name: 2024-99-99\nalgorithm: x\n",
        "submission.yml:1: '2024-99-99' looks like a number or a date but is none; write it in quotes",
    ),
    "odd zone": (
        GOOD + "meta: {a: 2024-01-01 00:00:00+99:99}\n",
        "submission.yml:3: '2024-01-01 00:00:00+99:99' looks like a number or a date but is none; write it in quotes",
    ),
    "odd integer": (
        GOOD + "meta: {a: 0b_}\n",
        "submission.yml:3: '0b_' looks like a number or a date but is none; write it in quotes",
    ),
    "endless integer": (
        GOOD + "meta: {a: " + "9" * 50_000 + "}\n",
        "submission.yml:3: '" + "9" * 40 + "' looks like a number or a date but is none; write it in quotes",
    ),
    "long integer": (GOOD + "meta: {a: " + "9" * 4000 + "}\n", "submission.yml:3: '" + "9" * 40 + "' is a number of"),
    "not a number": (GOOD + "meta: {a: .nan}\n", "submission.yml:3: "),
    "absolute entry": (
        GOOD + "entry: /etc/passwd\n",
        "/etc/passwd: the entry file does not exist; write it, or correct 'entry' in submission.yml",
    ),
    "entry outside": (
        GOOD + "entry: ../../etc/passwd\n",
        "../../etc/passwd: the entry file does not exist; write it, or correct 'entry' in submission.yml",
    ),
    "entry by a detour": (
        GOOD + "entry: ./agent.py\n",
        "./agent.py: the entry file does not exist; write it, or correct 'entry' in submission.yml",
    ),
    "entry like an option": (
        GOOD + "entry: --help\n",
        "--help: the entry file does not exist; write it, or correct 'entry' in submission.yml",
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_bad_manifest_is_refused_with_its_line(name: str, tmp_path: Path) -> None:
    manifest, expected = MANIFESTS[name]

    begun = time.monotonic()
    lines = refusal(folder_of(tmp_path, manifest), SubmissionLimits())

    assert time.monotonic() - begun < 20
    assert any(line.startswith(expected) for line in lines), lines
    assert all("\n" not in line and len(line) < 500 for line in lines)
    assert not any("pydantic" in line or "Traceback" in line for line in lines)


def test_every_fault_of_a_manifest_is_told(tmp_path: Path) -> None:
    lines = refusal(folder_of(tmp_path, "name: 7\nkind: virus\nentri: x\n"))

    assert len(lines) == 4


FILES: dict[str, tuple[str, str]] = {
    "git attributes": (".gitattributes", "'.gitattributes': git's own files are not allowed in a submission; remove it"),
    "git folder": (".git/config", "'.git': git's own files are not allowed in a submission; remove it"),
    "git folder in capitals": ("sub/.GIT", "'sub/.GIT': git's own files are not allowed in a submission; remove it"),
    "control character": ("a\nb.py", "'a\\nb.py': names of files and folders are letters, digits or '_.+-'"),
    "escape": ("\x1b[2J.py", "'\\x1b[2J.py': names of files and folders are"),
    "bidirectional": ("\u202eyp.tnega", "'\\u202eyp.tnega': names of files and folders are"),
    "markdown": ("[click](x).py", "'[click](x).py': names of files and folders are"),
    "HTML": ("<img src=x>", "'<img src=x>': names of files and folders are"),
    "space": ("my agent.py", "'my agent.py': names of files and folders are"),
    "option": ("-rf", "'-rf': names of files and folders are"),
    "backslash": ("..\\x", "'..\\\\x': names of files and folders are"),
    "shell": ("$(id).py", "'$(id).py': names of files and folders are"),
    "hidden": (".env", "'.env': names of files and folders are"),
    "cyrillic": ("аgent.py", "'аgent.py': names of files and folders are"),
    "long name": ("x" * 101, "'" + "x" * 101 + "': names of files and folders are"),
    "deep": ("a/b/c/d/e/f/g.py", "'a/b/c/d/e/f/g.py': lies in more than 5 folders; flatten it"),
    "very deep": ("/".join("a" * 100), "'a/a/a/a/a/a/a': lies in more than 5 folders; flatten it"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_name_is_refused(name: str, tmp_path: Path) -> None:
    path, expected = FILES[name]
    place = folder_of(tmp_path) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("x")

    (line,) = refusal(folder_of(tmp_path))

    assert line.startswith(expected)
    assert line.isprintable()


def test_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.py"))).write_text("x")

    (line,) = refusal(folder)

    assert line.startswith("'\\udcff.py': names of files and folders are")


@pytest.mark.attack(
    "files_that_differ_by_case", family="supply", outcome="refused in one line",
    tries="Commits two files whose names differ by case only.",
)  # fmt: skip
def test_names_that_differ_by_case_only_are_refused(tmp_path: Path) -> None:
    assert refusal(folder_of(tmp_path, **{"Agent.py": "x"})) == ["agent.py: differs from Agent.py only by case; rename one"]


LINKS: dict[str, Callable[[Path], object]] = {
    "to a file outside": lambda place: place.symlink_to("/etc/passwd"),
    "to a file inside": lambda place: place.symlink_to("agent.py"),
    "to nothing": lambda place: place.symlink_to("nowhere"),
    "to itself": lambda place: place.symlink_to(place),
    "to a folder": lambda place: place.symlink_to("/etc"),
    "to a folder above": lambda place: place.symlink_to(".."),
}


@pytest.mark.parametrize("name", LINKS)
def test_symbolic_link_is_refused(name: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    LINKS[name](folder / "link")

    assert refusal(folder) == ["link: is a symbolic link; put the file itself there"]


def test_linked_entry_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "agent.py").unlink()
    (folder / "agent.py").symlink_to("/etc/passwd")

    assert refusal(folder) == ["agent.py: is a symbolic link; put the file itself there"]


@pytest.mark.attack(
    "link_to_a_pipe", family="supply", outcome="refused before it is opened",
    tries="Puts a link to a pipe into a folder, so that reading never ends.",
)  # fmt: skip
def test_link_in_a_folder_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, sub__a="x")
    os.mkfifo(folder / "pipe")
    (folder / "sub" / "link").symlink_to(folder / "pipe")

    assert refusal(folder) == ["pipe: is neither a file nor a folder; remove it"]
    (folder / "pipe").unlink()
    assert refusal(folder) == ["sub/link: is a symbolic link; put the file itself there"]


@pytest.mark.attack(
    "folder_that_is_a_link", family="supply", outcome="refused",
    tries="Commits a link in place of the agent's folder.",
)  # fmt: skip
def test_linked_submission_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder_of(tmp_path))

    assert refusal(tmp_path / "link") == [f"{tmp_path}/link: is not a folder; name the folder that holds submission.yml"]


def test_missing_submission_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == [
        f"{tmp_path}/none: cannot be read (No such file or directory); name the folder of an agent"
    ]


@pytest.mark.attack(
    "pipe_in_the_folder", family="supply", outcome="refused without waiting",
    tries="Puts a pipe into the folder.",
)  # fmt: skip
def test_fifo_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    os.mkfifo(folder / "pipe")

    assert refusal(folder) == ["pipe: is neither a file nor a folder; remove it"]


def test_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folder_of(tmp_path)
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("door")

        assert refusal(folder) == ["door: is neither a file nor a folder; remove it"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_device_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    try:
        os.mknod(folder / "null", 0o020666, os.makedev(1, 3))
    except OSError:
        pytest.skip("devices are not granted here")

    assert refusal(folder) == ["null: is neither a file nor a folder; remove it"]


def test_unreadable_file_is_refused(tmp_path: Path) -> None:
    # In a folder of its own, since nobody may enter those of pytest.
    with as_nobody(), tempfile.TemporaryDirectory() as place:
        folder = folder_of(Path(place), secret="x")
        (folder / "secret").chmod(0)

        assert refusal(folder) == ["secret: cannot be read (Permission denied); make it readable or remove it"]


def test_too_many_files_are_refused_without_reading_them_all(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, **{f"f{i}": "x" for i in range(2000)})

    assert refusal(folder) == ["the folder holds more than 5 files; leave out what the agent does not need"]


def test_empty_folders_are_not_counted_but_cannot_be_deep(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "a/b").mkdir(parents=True)

    assert len(read_folder(folder, LIMITS).blobs) == 2


def test_too_large_folder_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, a=b"x" * 40_000, b=b"x" * 40_000)

    held = "the folder holds 79 KiB of at most 64 KiB; largest: a 40 KiB"
    assert refusal(folder) == [f"{held}; have it fetched: 'weights' in the manifest"]


@pytest.mark.attack(
    "sparse_terabyte", family="supply", outcome="refused, not read whole",
    tries="Puts a file of a terabyte without content into the folder.",
)  # fmt: skip
def test_sparse_terabyte_is_not_read_whole(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    for name in ("a", "b", "c"):
        with (folder / name).open("wb") as file:
            file.truncate(1 << 40)

    begun = time.monotonic()
    lines = refusal(folder, SubmissionLimits())

    assert time.monotonic() - begun < 20
    held = "the folder holds 3145728 MiB of at most 25 MiB; largest: a 1048576 MiB"
    assert lines == [f"{held}; have it fetched: 'weights' in the manifest"]


def test_missing_manifest_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "submission.yml").unlink()

    assert refusal(folder) == ["submission.yml: is missing; write it, or a header in agent.py, or let 'pullrank new' do so"]


@pytest.mark.attack(
    "entry_that_is_no_source", family="supply", outcome="refused in one line",
    tries="Names a program for the processor as the agent's source.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"x = 1\n\xff\xfe\n", "agent.py:2: is not UTF-8 text; save the source as UTF-8"),
        (b"\x7fELF\x00\x01", "agent.py: holds a zero byte, so it is not Python source; commit the .py file"),
        ("class Agent: ...".encode("utf-16"), "agent.py:1: is not UTF-8 text; save the source as UTF-8"),
    ],
)
def test_entry_that_is_no_text_is_refused(source: bytes, expected: str, tmp_path: Path) -> None:
    assert refusal(folder_of(tmp_path, **{"agent.py": source})) == [expected]


def test_manifest_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "submission.yml").unlink()
    (folder / "submission.yml").mkdir()
    (folder / "submission.yml" / "x").write_text("x")

    assert refusal(folder) == ["submission.yml: is missing; write it, or a header in agent.py, or let 'pullrank new' do so"]


@pytest.fixture
def board(tmp_path: Path) -> Checkout:
    """A board with one task."""
    (tmp_path / "challenge.yml").write_text("title: T\nseason: '1'\ntasks: [{id: CartPole-v1}]\n")
    return Checkout(tmp_path)


@pytest.mark.parametrize("login", ["-alice", "alice-", "a" * 40, "_alice", "al.ice", "älice", "alice[bot]"])
def test_folder_of_an_impossible_login_is_refused(login: str, board: Checkout) -> None:
    folder = folder_of(board.root)
    place = board.root / "submissions" / login
    folder.parent.rename(place)

    with pytest.raises(LoadError) as caught:
        board.find(place / "agent")

    where = os.path.relpath(place / "agent")
    assert caught.value.lines == (
        f"{where}: {login!r} is not a GitHub login; the folder is submissions/<your login>/<agent>",
    )


def test_unknown_task_is_refused_with_the_known_ones(board: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(board.root)
    entry = board.find(folder_of(board.root, GOOD + "tasks: [CartPole-v2]\n"))

    with pytest.raises(LoadError) as caught:
        eligible_tasks(board.challenge, entry)

    assert caught.value.lines == (
        "submissions/alice/agent/submission.yml:3: there is no task 'CartPole-v2'; did you mean 'CartPole-v1'?",
    )


@pytest.mark.parametrize("name", ["m.json", "index.html", "readme.md", "a.svg", "feed.xml"])
def test_a_folder_named_like_a_file_is_refused_where_it_would_come_in_and_read_where_it_is_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "challenge.yml").write_text("title: T\nseason: '1'\ntasks:\n  - {id: CartPole-v1, episodes: 3}\n")
    folder = folder_of(tmp_path).rename(tmp_path / "submissions" / "alice" / name)
    shown = folder.relative_to(tmp_path)

    with pytest.raises(CommandError, match=r"must not end in \.json, \.html, \.md, \.svg or \.xml") as checked:
        check.run([shown])
    with pytest.raises(CommandError, match="must not end in") as made:
        new.run(Path("submissions/bob") / name)

    assert [len(str(caught.value).splitlines()) for caught in (checked, made)] == [1, 1]
    assert str(shown) in str(checked.value)
    assert not (tmp_path / "submissions/bob").exists()
    assert Checkout(tmp_path).find(folder).agent == name


@pytest.mark.parametrize(
    ("top", "line", "words"),
    [
        ("# name: Mine\n# algorithm: a rule\n# ///\n", 1, "write '# /// pullrank' above its keys and '# ///' below them"),
        ("# // pullrank\n# name: Mine\n# ///\n", 1, "write its first line exactly as '# /// pullrank'"),
        ("/// pullrank\n", 1, "write its first line exactly as '# /// pullrank'"),
        ('"""A rule."""\n\n# pullrank\n# name: Mine\n', 3, "write its first line exactly as '# /// pullrank'"),
        ("# /// pullrank\n# name: Mine\n", 3, "its last line is '# ///'; add one"),
    ],
)
def test_a_broken_header_is_named_with_its_line(tmp_path: Path, top: str, line: int, words: str) -> None:
    folder = folder_of(tmp_path, **{"agent.py": top + SOURCE})
    (folder / "submission.yml").unlink()

    (told,) = refusal(folder)

    assert f"agent.py:{line}: " in told
    assert words in told
