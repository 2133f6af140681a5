"""The manifest as a header of agent.py: whatever somebody writes there, we, Python and a reader see the same."""

import ast
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.host.loading.manifest import manifest_of
from evaluator.host.loading.submission_folder import SubmissionFolder, assemble, read_folder, stage
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.source_header import HeaderError, find_header
from evaluator.model.config.submission import SubmissionFile
from evaluator.model.config.submission_limits import SubmissionLimits
from scripts.git.folder_history import FolderHistory
from scripts.git.pull_request_guard import GuardedPaths, PullAuthor, inspect_pull
from scripts.repository.layout import TEMPLATE_FOLDER
from tests.scripts.github.remotes import Clone, agent_files, git, make_board

ROOT = Path(__file__).parents[2]
CODE = b"class Agent:\n    def act(self, observation):\n        return 0\n"
HEADER = b"# /// pullrank\n# name: Mine\n# algorithm: a rule\n# ///\n"


def folder(source: bytes, **files: bytes) -> SubmissionFolder:
    """A folder with that agent.py and those files, in whose names `__` is a dot."""
    named = {"agent.py": source, **{name.replace("__", "."): content for name, content in files.items()}}
    blobs = tuple(SubmissionFile(path=path, executable=False, content=content) for path, content in named.items())
    return assemble(blobs, SubmissionLimits())


def fault(source: bytes, **files: bytes) -> str:
    with pytest.raises(LoadError) as caught:
        folder(source, **files)
    return caught.value.lines[0]


@pytest.mark.parametrize(
    "source",
    [
        HEADER + CODE,
        HEADER + b"\n" + CODE,
        b"#!/usr/bin/env python3\n# My agent.\n\n" + HEADER + CODE,
        b"# -*- coding: UTF-8 -*-\n" + HEADER + CODE,
        (HEADER + CODE).replace(b"\n", b"\r\n"),
        b"# /// script\n# dependencies = []\n# ///\n" + HEADER + CODE,
        HEADER.replace(b"# algorithm", b"#\n# # a comment of YAML\n# algorithm") + CODE,
    ],
)
def test_a_header_is_the_manifest(source: bytes) -> None:
    submission = folder(source).submission

    assert (submission.name, submission.algorithm, submission.entry) == ("Mine", "a rule", "agent.py")


def test_a_fault_in_a_header_has_its_line_in_the_file() -> None:
    source = b"# Mine.\n\n# /// pullrank\n# name: Mine\n# algorithm: x\n# entri: y\n# ///\n"

    assert fault(source + CODE) == "agent.py:6: unknown key 'entri'; did you mean 'entry'?"


@pytest.mark.attack(
    "parameters_in_the_header", family="cheating", outcome="another version, with other seeds",
    tries="Changes its header, which the agent reads as parameters, once the seeds of its version are known.",
)  # fmt: skip
def test_other_words_in_the_header_are_another_version_as_other_code_is() -> None:
    other = HEADER.replace(b"Mine", b"Renamed") + CODE
    loopback = HEADER.replace(b"# name", b"# loopback: true\n# name") + CODE
    digests = [folder(source).digest for source in (HEADER + CODE, other, loopback, HEADER + CODE + b"#\n")]

    assert len(set(digests)) == 4
    assert folder(CODE, submission__yml=b"name: Mine\nalgorithm: a rule\n").digest not in digests


@pytest.mark.attack(
    "parameters_in_the_manifest", family="cheating", outcome="the agent sees the same files",
    tries="Changes the description, which the agent reads as parameters, once the seeds of its version are known.",
)  # fmt: skip
def test_one_version_sees_the_same_files_whatever_its_manifest_says(tmp_path: Path) -> None:
    manifest = b"name: Mine\nalgorithm: a rule\nextras: [onnx]\n"
    spoken = manifest + b"description: play 0.7\nmeta: {a: 1}\ntasks: [CartPole-v1]\n# and a comment\n"
    one, other = (folder(CODE, submission__yml=text) for text in (manifest, spoken))
    staged = []
    for number, each in enumerate((one, other)):
        place = tmp_path / str(number)
        place.mkdir()
        stage(each, place)
        staged.append({path.name: (path.read_bytes(), path.stat().st_mode) for path in place.rglob("*")})

    assert one.digest == other.digest
    assert staged[0] == staged[1]
    assert set(staged[0]) == {"agent.py", "submission.yml"}


REFUSED: dict[str, tuple[bytes, str]] = {
    "bomb": (
        b"# /// pullrank\n# name: &a [x, x]\n# algorithm: [*a, *a]\n# ///\n",
        "agent.py:2: anchors and aliases (& and *) are not allowed; write the value out",
    ),
    "tag": (
        b"# /// pullrank\n# name: !!python/object/apply:os.system ['id']\n# ///\n",
        "agent.py:2: tags (!) are not allowed; write a plain value",
    ),
    "nesting": (
        HEADER.replace(b"# ///\n", b"# meta: " + b"[" * 4000 + b"\n# ///\n"),
        "agent.py:4: is nested deeper than 12 levels; flatten it",
    ),
    "huge": (
        b"# /// pullrank\n" + b"# # long\n" * 4000 + b"# ///\n",
        "agent.py:1: the header does not end within 16 KiB; end it with '# ///'",
    ),
    "no end": (
        b"# /// pullrank\n# name: Mine\n" + CODE,
        "agent.py:3: a line of the header begins with '# ', and its last line is '# ///'; add one",
    ),
    "two headers": (HEADER + HEADER, "agent.py:5: a second header begins here; keep one"),
    "second header below the code": (HEADER + CODE + HEADER, "agent.py:8: a second header begins here; keep one"),
    "second header in a text": (HEADER + b'"""\n' + HEADER + b'"""\n', "agent.py:6: a second header begins here; keep one"),
    "indented": (b"  " + HEADER, "agent.py:1: looks like a header; write its first line exactly as '# /// pullrank'"),
    "other capitals": (
        HEADER.replace(b"pullrank", b"PullRank"),
        "agent.py:1: looks like a header; write its first line exactly as '# /// pullrank'",
    ),
    "lone carriage return": (
        HEADER.replace(b"# algorithm", b"# x: y\rimport os\n# algorithm"),
        "agent.py:4: a line of the header begins with '# ', and its last line is '# ///'; add one",
    ),
    "carriage returns only": (
        HEADER.replace(b"\n", b"\r") + CODE,
        "agent.py:1: holds the invisible character U+000D; remove it",
    ),
    "form feed": (HEADER.replace(b"Mine", b"Mi\x0cne"), "agent.py:2: holds the invisible character U+000C; remove it"),
    "line separator": (
        HEADER.replace(b"Mine", "x\u2028algorithm: y".encode()),
        "agent.py:2: holds the invisible character U+2028; remove it",
    ),
    "next line": (HEADER.replace(b"Mine", "x\x85y".encode()), "agent.py:2: holds the invisible character U+0085; remove it"),
    "bidirectional": (
        HEADER.replace(b"Mine", "\u202eeniM".encode()),
        "agent.py:2: holds the invisible character U+202E; remove it",
    ),
    "bidirectional before it": (
        "# \u202e\n".encode() + HEADER,
        "agent.py:1: holds the invisible character U+202E; remove it",
    ),
    "byte order mark": (
        b"\xef\xbb\xbf" + HEADER,
        "agent.py:1: looks like a header; write its first line exactly as '# /// pullrank'",
    ),
    "UTF-7": (
        b"# coding: utf-7\n" + HEADER.replace(b"Mine", b"x+AAo-import os"),
        "agent.py:1: a file with a header is UTF-8; leave out the declaration of another encoding",
    ),
    "UTF-7 inside it": (
        HEADER.replace(b"# name", b"# # vim: set fileencoding=utf_7 :\n# name"),
        "agent.py:2: a file with a header is UTF-8; leave out the declaration of another encoding",
    ),
    "not UTF-8": (HEADER.replace(b"Mine", b"\xff"), "agent.py:2: is not UTF-8 text; save the file as UTF-8"),
    "zero byte": (HEADER.replace(b"Mine", b"\0"), "agent.py:2: holds the invisible character U+0000; remove it"),
    "another file": (
        HEADER.replace(b"# algorithm", b"# entry: other.py\n# algorithm"),
        "agent.py:3: a header speaks of its own file only, but 'entry' names 'other.py'; write submission.yml instead",
    ),
    "a model": (
        HEADER.replace(b"# algorithm", b"# adapter: sb3\n# algorithm"),
        "agent.py:1: a model is no text that a header could stand in; write submission.yml instead",
    ),
    "empty": (b"# /// pullrank\n# ///\n", "agent.py:1: must be a mapping of keys to values, such as 'name: My agent'"),
}


@pytest.mark.attack(
    "header_yaml_bomb", family="supply", outcome="refused with its line",
    tries="Puts a bomb of anchors, a tag that makes objects, or 4,000 brackets into the header of agent.py.",
)  # fmt: skip
@pytest.mark.attack(
    "header_twice", family="supply", outcome="refused with its line",
    tries="Writes two headers, one of them below the code or inside a text, to be two agents for two readers.",
)  # fmt: skip
@pytest.mark.attack(
    "header_with_hidden_code", family="supply", outcome="refused with its line",
    tries="Hides code in the header by a carriage return, a form feed or a separator, a line end for one reader only.",
)  # fmt: skip
@pytest.mark.attack(
    "header_in_another_encoding", family="supply", outcome="refused with its line",
    tries="Declares UTF-7, in which a comment of the header is code, or begins with a byte order mark.",
)  # fmt: skip
@pytest.mark.attack(
    "header_that_hides", family="supply", outcome="refused with its line",
    tries="Writes bidirectional and invisible characters into the header, and above it.",
)  # fmt: skip
@pytest.mark.attack(
    "header_without_end", family="supply", outcome="refused with its line",
    tries="Writes a header of 40 KB, or one that never ends.",
)  # fmt: skip
@pytest.mark.parametrize("name", REFUSED)
def test_a_header_that_readers_could_see_differently_is_refused(name: str) -> None:
    head, expected = REFUSED[name]
    line = fault(head + CODE)

    assert line == expected
    assert len(line) < 200


@pytest.mark.attack(
    "header_beside_a_manifest", family="supply", outcome="refused in one line",
    tries="Writes submission.yml and a header that says something else, for readers to choose.",
)  # fmt: skip
@pytest.mark.parametrize("head", [HEADER, HEADER.replace(b"Mine", b"&a x"), b"#///PULLRANK\n"])
def test_a_header_beside_submission_yml_is_refused(head: bytes) -> None:
    line = fault(head + CODE, submission__yml=b"name: Other\nalgorithm: x\n")

    assert line.startswith(
        ("agent.py: has a header, and there is submission.yml too; keep one of them", "agent.py:1: looks like")
    )


@pytest.mark.attack(
    "header_in_a_text", family="supply", outcome="is no header",
    tries="Writes the header's lines inside a text of the code, where Python sees no comment.",
)  # fmt: skip
def test_a_header_inside_a_text_is_none() -> None:
    source = b'"""\n' + HEADER + b'"""\n' + CODE

    assert find_header(source) is None
    assert fault(source) == (
        "submission.yml: is missing; and a header stands at the top of agent.py, before any code: move it there"
    )
    assert folder(source, submission__yml=b"name: Mine\nalgorithm: x\n").submission.algorithm == "x"


PIECES = [
    b"# /// pullrank", b"# ///", b"# name: Mine", b"# algorithm: x", b"#", b"import os", b"x = 1", b'"""', b"'", b"\\",
    b"\n", b"\r", b"\r\n", b"\x0c", b" ", b"\t", b"\xef\xbb\xbf", "\u2028".encode(), b"\x85", b"# coding: utf-7",
    b"# coding: latin-1",
    b"+AAo-y = 2", b"\xff", b"\0",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.booleans())
def test_what_we_take_for_a_header_is_only_comments_for_python(pieces: list[bytes], headed: bool) -> None:
    source = (HEADER.removesuffix(b"# ///\n") if headed else b"") + b"".join(pieces)
    try:
        header = find_header(source)
        tree = ast.dump(ast.parse(source)) if header else ""
    except (HeaderError, SyntaxError, ValueError):
        return
    if header:
        assert tree == ast.dump(ast.parse(header.rest.decode()))


def judged(board: Clone, files: dict[str, bytes | None], login: str = "alice") -> GuardedPaths:
    head = board.commit(files)
    main = git(board.path, "rev-parse", "origin/main")
    return inspect_pull(board.repository, main, head, PullAuthor(login=login), SubmissionLimits())


def one_file(login: str, source: bytes) -> dict[str, bytes | None]:
    return {f"submissions/{login}/a/agent.py": source}


@pytest.mark.attack(
    "copy_with_another_header", family="people", outcome="refused as a copy",
    tries="Copies an agent and writes its own name into the header, or moves the manifest from a file into a header.",
)  # fmt: skip
@pytest.mark.parametrize("theirs", [one_file("bob", HEADER + CODE), agent_files("bob", source=CODE)])
def test_a_copy_with_another_header_is_refused(tmp_path: Path, theirs: dict[str, bytes | None]) -> None:
    board = make_board(tmp_path, theirs)
    mine = HEADER.replace(b"Mine", b"All my own work") + b"\n" + CODE.replace(b"\n", b"\r\n")

    assert judged(board, one_file("alice", mine)).faults[0] == (
        "submissions/alice/a: is the same agent as submissions/bob/a apart from the header, which stands on main already; "
        "enter one of your own"
    )
    assert judged(board, one_file("alice", mine + b"# mine\n")).is_clean


@pytest.mark.attack(
    "copy_of_an_image_from_another_registry", family="people", outcome="refused as a copy",
    tries="Pushes another agent's image to a registry of its own and names it there.",
)  # fmt: skip
def test_an_image_is_the_same_agent_in_whatever_registry(tmp_path: Path) -> None:
    board = make_board(tmp_path, {"submissions/bob/a/submission.yml": IMAGE.encode()})
    pushed, built = IMAGE.replace("ghcr.io/bob/agent", "docker.io/alice/mine"), IMAGE.replace("5" * 64, "6" * 64)

    assert (
        "is the same agent as submissions/bob/a"
        in judged(board, {"submissions/alice/a/submission.yml": pushed.encode()}).faults[0]
    )
    assert judged(board, {"submissions/alice/a/submission.yml": built.encode()}).is_clean


STARTERS = (
    "policy", "policy-any", "policy-game", "script", "predict", "function", "gym-policy", "rl-arena", "kaggle-connectx",
    "evalai-grpc", "sb3", "onnx",
)  # fmt: skip


@pytest.mark.parametrize("name", STARTERS)
def test_a_starter_is_nobodys(tmp_path: Path, name: str) -> None:
    starter = TEMPLATE_FOLDER / name
    texts = {path.name: path.read_bytes() for path in starter.iterdir() if path.is_file() and path.name != "README.md"}
    bobs = {f"submissions/bob/a/{path}": content for path, content in texts.items()}
    alices = {
        f"submissions/alice/a/{path}": content.replace(b"ACTION = 0", b"ACTION = 1") for path, content in texts.items()
    }
    board = make_board(tmp_path, dict(bobs))

    assert judged(board, dict(alices)).is_clean
    assert not judged(board, {path.replace("/a/", "/b/"): content for path, content in bobs.items()}, "bob").is_clean


STARTER = TEMPLATE_FOLDER / "function" / "policy.py"
FETCHED = """name: Mine
algorithm: a network
extras: [torch]
weights: [{file: model.pt, url: https://example.org/model.pt, sha256: %s, bytes: 9}]
""" % ("5a" * 32)
FETCHED_MODEL = FETCHED.replace("extras: [torch]", "adapter: onnx\nentry: model.onnx").replace("model.pt", "model.onnx")
IMAGE = f"name: Mine\nalgorithm: a network\nkind: image\nentry: ghcr.io/bob/agent@sha256:{'5' * 64}\n"
UNDER_A_STARTER = {
    "code in the line that is filled in": {
        "policy.py": STARTER.read_bytes().replace(b"ACTION = 0", b"ACTION = __import__('secret').plan()"),
        "submission.yml": b"name: Mine\nalgorithm: a rule\nadapter: function\nentry: policy.py:act\n",
    },
    "a statement after the action": {
        "policy.py": STARTER.read_bytes().replace(b"ACTION = 0", b"ACTION = 0; exec('')"),
        "submission.yml": b"name: Mine\nalgorithm: a rule\nadapter: function\nentry: policy.py:act\n",
    },
    "a table in place of the action": {
        "policy.py": STARTER.read_bytes().replace(b"ACTION = 0", b"ACTION = [" + b"1, " * 5000 + b"1]"),
        "submission.yml": b"name: Mine\nalgorithm: a rule\nadapter: function\nentry: policy.py:act\n",
    },
    "fetched weights": {
        "agent.py": (TEMPLATE_FOLDER / "torchscript" / "agent.py").read_bytes(),
        "submission.yml": FETCHED.encode(),
    },
    "a fetched model": {
        "train.py": (TEMPLATE_FOLDER / "sb3" / "train.py").read_bytes(), "submission.yml": FETCHED_MODEL.encode(),
    },
    "an image": {
        "agent.py": (TEMPLATE_FOLDER / "image" / "agent.py").read_bytes(), "submission.yml": IMAGE.encode(),
    },
}  # fmt: skip


@pytest.mark.attack(
    "copy_under_a_starter", family="people", outcome="refused as a copy",
    tries="Copies an agent whose files are a starter's, but for its action, its fetched weights or its image.",
)  # fmt: skip
@pytest.mark.parametrize("how", UNDER_A_STARTER)
def test_what_somebody_made_of_a_starter_is_theirs(tmp_path: Path, how: str) -> None:
    files = UNDER_A_STARTER[how]
    board = make_board(tmp_path, {f"submissions/bob/a/{path}": content for path, content in files.items()})

    faults = judged(board, {f"submissions/alice/a/{path}": content for path, content in files.items()}).faults

    assert "is the same agent as submissions/bob/a" in "".join(faults)


def test_the_starter_of_the_site_is_known() -> None:
    starters = {path.read_bytes() for path in TEMPLATE_FOLDER.glob("*/*.py")}

    assert {path.read_bytes() for path in (ROOT / "site/assets/start").iterdir()} <= starters


def test_the_history_of_a_folder_reads_headers(tmp_path: Path) -> None:
    board = make_board(tmp_path)
    first = board.commit(one_file("alice", HEADER + CODE))
    renamed = board.commit(one_file("alice", HEADER.replace(b"Mine", b"Renamed") + CODE))
    board.commit({
        **one_file("alice", CODE), "submissions/alice/a/submission.yml": b"name: Mine\nalgorithm: a rule\n",
    })  # fmt: skip
    back = board.commit({**one_file("alice", HEADER + CODE), "submissions/alice/a/submission.yml": None})
    history = FolderHistory(board.repository, back)
    (name,) = {state.name for state in history.of("alice")}
    stays = history.stays({name: ["CartPole-v1"]})[name, "CartPole-v1"]

    assert [(stay.began.sha, stay.left) for stay in stays] == [(first, renamed), (back, None)]
    assert history.digests([name])[name] == folder(HEADER + CODE).digest
    assert history.first([name])[name].sha == first


def test_a_folder_on_disk_is_read_by_its_header(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_bytes(HEADER + CODE)
    read = read_folder(tmp_path, SubmissionLimits())

    assert (read.submission.name, read.manifest.file, read.manifest.lines()["name",]) == ("Mine", "agent.py", 2)
    assert manifest_of({"agent.py": HEADER}).parse() == read.submission


@pytest.mark.attack(
    "header_above_millions_of_lines", family="supply", outcome="read without a list of its lines",
    tries="Puts a header above megabytes of line ends, which git packs to nothing, so that no report comes to an end.",
)  # fmt: skip
@pytest.mark.parametrize("end", [b"\r", b"\n", b"\r\n"])
def test_what_a_file_has_below_its_header_takes_no_memory(end: bytes) -> None:
    lines = end * (1 << 20)
    for source in (HEADER + lines, lines, HEADER + lines + HEADER):
        tracemalloc.start()
        try:
            folder(source)
        except LoadError as error:
            told = str(error)
        else:
            told = ""
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

        assert most < 4 * len(source) + (1 << 20)
        assert told.startswith(
            {HEADER + lines: "", lines: "submission.yml: is missing"}.get(source, "agent.py:1048581: a sec")
        )
