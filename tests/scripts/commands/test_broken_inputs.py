"""Every input that a command reads, broken in every way: a line that names it, an exit code, no library's own words."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scripts.checkouts import run
from tests.scripts.maintenance.test_erase import BOARD, enter, git

AGENT = "submissions/ada/net"
READERS = {
    "challenge.yml": (("check",),),
    "moderation.yml": (("rank",),),
    "submissions": (("check", AGENT), ("rank",)),
    "results": (("rank", "--official"), ("verify",), ("show", AGENT)),
    "traces": (("verify",), ("watch", AGENT)),
    "season.json": (("rank",), ("season", "close")),
}
READ_THE_CHALLENGE = (
    ("check",), ("evaluate", AGENT, "--sandbox", "process"), ("show", AGENT), ("watch", AGENT), ("ready", AGENT), ("rank",),
    ("field", AGENT, "--sandbox", "process"), ("duel", AGENT, AGENT, "--sandbox", "process"), ("verify",), ("grades",),
    ("tournament", "--sandbox", "process"), ("plan", "--sandbox", "process"),
)  # fmt: skip
# Words of libraries, in place of ours.
FOREIGN = ("pydantic", "validation error", "Traceback", "input_value", "type=", "failed: ", "our fault", "yaml.", "Errno")
GARBAGE = {"empty": b"", "binary": bytes(range(256)), "list": b"[1, 2]", "number": b"7", "text": b"'", "deep": b"[" * 3000}
YAML_ENDS = {
    "unknown": b"\nflavour: sour\n", "wrong_type": b"\nseason: {a: 1}\n", "alias": b"\na: &a [*a]\n", "tab": b"\n\tx: 1\n",
    "twice": b"\ntitle: again\n", "tag": b"\nx: !!python/object/apply:os.system [ls]\n",
}  # fmt: skip


def _write(path: str, content: bytes) -> Callable[[Path], None]:
    def spoil(root: Path) -> None:
        (root / path).write_bytes(content)

    return spoil


def _append(path: str, content: bytes) -> Callable[[Path], None]:
    def spoil(root: Path) -> None:
        (root / path).write_bytes((root / path).read_bytes() + content)

    return spoil


def _every(pattern: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def spoil(root: Path) -> None:
        paths = [path for path in root.glob(pattern) if path.is_file()]
        assert paths
        for path in paths:
            path.write_bytes(change(path.read_bytes()))

    return spoil


def _always(content: bytes) -> Callable[[bytes], bytes]:
    return lambda _: content


def _with(name: str, value: object) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps({**json.loads(content), name: value}, indent=1).encode() + b"\n"


def _directory(path: str) -> Callable[[Path], None]:
    def spoil(root: Path) -> None:
        target = root / path
        target.unlink(missing_ok=True)
        target.mkdir()

    return spoil


WRITTEN = ("challenge.yml", "moderation.yml", "submissions/ada/net/submission.yml")
BROKEN: dict[str, Callable[[Path], None]] = {
    **{f"{path}: {name}": _write(path, content) for path in WRITTEN for name, content in GARBAGE.items()},
    **{f"{path}: {name}": _append(path, content) for path in WRITTEN for name, content in YAML_ENDS.items()},
    **{f"{path}: a folder": _directory(path) for path in WRITTEN},
    **{f"results: {name}": _every("results/**/*.json", _always(content)) for name, content in GARBAGE.items()},
    "results: another type": _every("results/**/*.json", _with("returns", {"a": 1})),
    "results: an unknown field": _every("results/**/*.json", _with("flavour", "sour")),
    "results: infinite": _every("results/**/*.json", _with("returns", [1e999])),
    "results: a strange verdict": _every("results/**/*.json", _with("verdict", "splendid")),
    "results: impossible cards": _every("results/**/*.json", _with("gpus", {"wanted": 2, "cards": ["one"]})),
    "results: continued backwards": _every("results/**/*.json", _with("continued_after", [5, 1])),
    "traces: binary": _every("traces/**/*", lambda _: bytes(range(256))),
    "season.json: a list": _write("results/season.json", b"[1]"),
    "season.json: a strange field": _write("results/season.json", b'{"schema": 1, "flavour": 1}'),
    "submissions: agent.py is no Python": _write("submissions/ada/net/agent.py", b"class Agent(:\n"),
    "submissions: agent.py is binary": _write("submissions/ada/net/agent.py", bytes(range(256))),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board that is copied for each test."""
    root = tmp_path_factory.mktemp("sound")
    (root / "challenge.yml").write_text(BOARD)
    (root / "moderation.yml").write_text("exclusions: []\n")
    (root / ".gitignore").write_text("results/\ntraces/\n")
    for login, score in (("ada", 400.0), ("Bob", 300.0)):
        enter(root, login, "net", score)
    git(root, "init", "-qb", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "all")
    return root


@pytest.fixture
def board(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "board")


@pytest.mark.parametrize("name", BROKEN)
def test_no_broken_input_shows_a_library_s_words(board: Path, name: str) -> None:
    BROKEN[name](board)

    for words in next(commands for begin, commands in READERS.items() if name.startswith(begin)):
        code, out, err = run(board, *words)

        _assert_plain(words, code, out, err)


def _assert_plain(words: tuple[str, ...], code: int, out: str, err: str) -> None:
    """An exit code of ours, and lines of ours, none of them empty."""
    assert code in (0, 1, 2, 3), (words, code)
    assert not [foreign for foreign in FOREIGN if foreign in out + err], (words, err)
    assert code == 0 or err.strip(), words
    assert all(line.strip() for line in err.strip().splitlines()), (words, err)


@pytest.mark.parametrize("content", [b"title: [", b"- 1", b"title: A\nseason: {}\ntasks: 7\n"], ids=["cut", "list", "types"])
def test_commands_name_a_broken_challenge_in_one_line(board: Path, content: bytes) -> None:
    (board / "challenge.yml").write_bytes(content)

    for words in READ_THE_CHALLENGE:
        code, out, err = run(board, *words)
        _assert_plain(words, code, out, err)
        assert code == 2, (words, code, err)
        faults = [line for line in err.splitlines() if not line.startswith("Note: ")]
        assert all(line.startswith("challenge.yml:") for line in faults), (words, err)


@pytest.mark.attack(
    "broken_result_quotes_itself", family="supply", outcome="a line that names the file, without its content",
    tries="Breaks a recorded result so that the message about it quotes what stands in the file.",
)  # fmt: skip
def test_a_broken_result_is_named_and_not_quoted(board: Path) -> None:
    _every("results/**/*.json", _with("login_id", "\u202eSECRET https://example.org/"))(board)

    _, out, err = run(board, "rank")

    assert "SECRET" not in out + err
    assert "login_id: must be a whole number" in " ".join(err.split())


def test_without_a_repository_one_line_says_so(board: Path) -> None:
    shutil.rmtree(board / ".git")

    for words in (("ready", "submissions/ada/net"), ("erase", "bob", "--push"), ("season", "close")):
        code, _, err = run(board, *words)
        assert code in (1, 2, 3)
        assert not [foreign for foreign in FOREIGN if foreign in err], (words, err)
