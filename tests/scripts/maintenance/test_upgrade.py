"""`pullrank upgrade` on a copy of a template: what is the host's stays, what upstream dropped goes, nothing conflicts."""

import subprocess
from pathlib import Path

import pytest

from tests.scripts.checkouts import run

BASE = {
    "challenge.yml": "title: Origin\nseason: one\ntasks:\n  - id: CartPole-v1\n",
    "moderation.yml": "exclusions: []\n",
    ".github/CODEOWNERS": "* @origin\n",
    "README.md": "Origin\n",
    "Makefile": "a:\n\ttrue\n\nb:\n\ttrue\n\nc:\n\ttrue\n",
    "scripts/old.py": "old\n",
    "scripts/tool.py": "one\n",
    "evaluator/model/measurement_version.py": "MEASUREMENT_VERSION = 2\n",
    "submissions/origin/pole/agent.py": "theirs\n",
}


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=t", "-c", "user.email=t@t.invalid")
    return subprocess.run(["git", *names, *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def write(folder: Path, files: dict[str, str | None], message: str = "change") -> str:
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Upstream, and a copy made from it as GitHub does: one commit with the same files and another history."""
    upstream, copy = tmp_path / "upstream", tmp_path / "copy"
    for folder in (upstream, copy):
        folder.mkdir()
        git(folder, "init", "-qb", "main")
    write(upstream, {"first.txt": "x\n"})
    write(upstream, {**BASE, "first.txt": None})
    write(copy, dict(BASE), "Initial commit")
    return upstream, copy


def upgrade(sides: tuple[Path, Path], *words: str) -> tuple[int, str]:
    upstream, copy = sides
    code, _, err = run(copy, "upgrade", "--from", str(upstream), *words)
    return code, err


def text(copy: Path, name: str) -> str | None:
    return (copy / name).read_text() if (copy / name).exists() else None


def test_the_hosts_files_stay_and_upstreams_come(sides: tuple[Path, Path]) -> None:
    upstream, copy = sides
    own = {
        "challenge.yml": BASE["challenge.yml"].replace("Origin", "Mine"), "moderation.yml": "# mine\nexclusions: []\n",
        ".github/CODEOWNERS": "* @me\n", "README.md": "Mine\n", "evaluator/environments/maze.py": "maze\n",
        "submissions/origin/pole/agent.py": None, "submissions/ada/net/agent.py": "ada\n",
        "scripts/tool.py": "mine\n", "Makefile": BASE["Makefile"].replace("a:\n\ttrue", "a:\n\tfalse"),
    }  # fmt: skip
    write(copy, own)
    new = write(upstream, {
        "challenge.yml": BASE["challenge.yml"] + "  - id: Taxi-v4\n", "moderation.yml": "exclusions: []\n# more\n",
        ".github/CODEOWNERS": "* @origin2\n", "README.md": "Origin 2\n", "scripts/old.py": None, "scripts/new.py": "new\n",
        "scripts/tool.py": "two\n", "Makefile": BASE["Makefile"].replace("c:\n\ttrue", "c:\n\tfalse"),
        "submissions/origin/pole/agent.py": "theirs 2\n",
    })  # fmt: skip
    before = git(copy, "rev-parse", "HEAD")

    code, err = upgrade(sides)
    assert code == 0, err
    for name in ("challenge.yml", "moderation.yml", ".github/CODEOWNERS", "README.md", "evaluator/environments/maze.py"):
        assert text(copy, name) == own[name]
    assert text(copy, "submissions/ada/net/agent.py") == "ada\n"
    assert text(copy, "submissions/origin/pole/agent.py") is None
    assert (text(copy, "scripts/old.py"), text(copy, "scripts/new.py")) == (None, "new\n")
    assert text(copy, "scripts/tool.py") == "two\n"
    assert git(copy, "show", "HEAD^:scripts/tool.py") == "mine"
    assert text(copy, "Makefile") == BASE["Makefile"].replace("true", "false").replace("b:\n\tfalse", "b:\n\ttrue")
    assert (git(copy, "rev-parse", "main"), git(copy, "rev-parse", "HEAD^")) == (before, before)
    assert git(copy, "branch", "--show-current") == f"upgrade-{new[:12]}"
    assert git(copy, "status", "--porcelain") == ""
    assert "Dropped, as upstream did: scripts/old.py." in err
    assert "yours is in 'git show" in err
    assert "Nothing will be played again" in err


def test_each_file_is_listed_once_as_what_became_of_it(sides: tuple[Path, Path]) -> None:
    upstream, copy = sides
    start: dict[str, str | None] = {f"site/pages/{name}.md": "a\n" for name in ("deleted", "changed", "kept", "gone")}
    for folder in sides:
        write(folder, {**start, "scripts/dropped.py": "a\n"})
    write(copy, {
        "site/pages/deleted.md": None, "site/pages/gone.md": None, "site/pages/changed.md": "mine\n",
        "site/pages/kept.md": "mine\n", "scripts/dropped.py": "mine\n", "scripts/tool.py": "mine\n",
    })  # fmt: skip
    write(upstream, {
        "site/pages/deleted.md": "b\n", "site/pages/gone.md": None, "site/pages/changed.md": "b\n",
        "site/pages/kept.md": None, "scripts/dropped.py": None, "scripts/tool.py": "two\n",
    })  # fmt: skip

    code, err = upgrade(sides, "--base", git(upstream, "rev-parse", "HEAD^"))
    assert code == 0, err
    commit = git(copy, "rev-parse", "--short", "HEAD^")
    assert err.splitlines()[1:6] == [
        f"Dropped, as upstream did, with your changes, which are in 'git show {commit}:PATH': scripts/dropped.py.",
        f"Upstream's, changed on both sides; yours is in 'git show {commit}:PATH': scripts/tool.py.",
        "Left out, since you deleted it; upstream has a newer one: site/pages/deleted.md.",
        "Yours, where upstream has another: site/pages/changed.md.",
        "Yours, where upstream has none any more: site/pages/kept.md.",
    ]
    assert (text(copy, "site/pages/deleted.md"), text(copy, "scripts/dropped.py")) == (None, None)
    assert (text(copy, "site/pages/changed.md"), text(copy, "site/pages/kept.md")) == ("mine\n", "mine\n")


def test_the_next_upgrade_begins_where_the_last_one_ended(sides: tuple[Path, Path]) -> None:
    upstream, copy = sides
    write(copy, {"challenge.yml": BASE["challenge.yml"].replace("Origin", "Mine")})
    first = write(upstream, {"scripts/tool.py": "two\n"})
    assert upgrade(sides)[0] == 0
    git(copy, "checkout", "-q", "main")
    git(copy, "merge", "-q", "--squash", f"upgrade-{first[:12]}")
    git(copy, "commit", "-qm", f"Upgrade\n\nPullrank-Upstream: {first}")
    write(upstream, {"scripts/tool.py": "three\n", "evaluator/model/measurement_version.py": "MEASUREMENT_VERSION = 3\n"})

    code, err = upgrade(sides)
    assert code == 0, err
    assert text(copy, "scripts/tool.py") == "three\n"
    assert "measurement_version.py: 2 becomes 3" in err
    assert "Everything will be played again, once." in err
    assert upgrade(sides)[1].endswith("there is nothing to upgrade.\n")


def test_work_that_is_not_committed_is_not_touched(sides: tuple[Path, Path]) -> None:
    upstream, copy = sides
    write(upstream, {"scripts/tool.py": "two\n"})
    (copy / "README.md").write_text("unsaved\n")

    code, err = upgrade(sides)
    assert (
        code,
        "not committed: 1 changed file, such as README.md; commit it first" in err,
        text(copy, "README.md"),
    ) == (2, True, "unsaved\n")


def put_path(upstream: Path, path: str, mode: str = "100644", content: str = "hostile\n") -> None:
    """A commit with a path that no file system would take from `git add`."""
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=upstream, input=content, capture_output=True, text=True, check=True
    ).stdout.strip()
    blob = git(upstream, "rev-parse", "HEAD") if mode == "160000" else blob
    tree = blob
    for depth, name in enumerate(reversed(path.split("/"))):
        line = f"{mode} {'commit' if mode == '160000' else 'blob'} {blob}" if depth == 0 else f"040000 tree {tree}"
        others = git(upstream, "ls-tree", "HEAD") + "\n" if depth == path.count("/") else ""
        given = "".join(f"{one}\n" for one in others.splitlines() if one.partition("\t")[2] != name) + f"{line}\t{name}\n"
        tree = subprocess.run(
            ["git", "mktree", "--missing"], cwd=upstream, input=given, capture_output=True, text=True, check=True
        ).stdout.strip()
    git(upstream, "update-ref", "refs/heads/main", git(upstream, "commit-tree", tree, "-p", "HEAD", "-m", "odd"))


@pytest.mark.parametrize(
    ("path", "mode", "words"),
    [
        pytest.param(".GIT/hooks/post-checkout", "100755", "could lead elsewhere", id="hook"),
        pytest.param("site/.git /config", "100644", "could lead elsewhere", id="git-with-a-space"),
        pytest.param("scripts/link", "120000", "is no plain file", id="symlink"),
        pytest.param("vendored", "160000", "is no plain file", id="submodule"),
        pytest.param("Challenge.YML", "100644", "could overwrite a file of the host's", id="case"),
        pytest.param(
            "Submissions/ada/net/agent.py", "100644", "could overwrite a file of the host's", id="case-of-a-folder"
        ),
        pytest.param("submissions", "100644", "would take the place of a folder", id="file-for-a-folder"),
        pytest.param("a\\b", "100644", "could lead elsewhere", id="backslash"),
    ],
)
@pytest.mark.attack(
    "upstream_with_odd_paths", family="supply", outcome="refused in one line, nothing changed",
    tries="An upstream with hooks, links, submodules, or names that another file system takes for the host's own files.",
)  # fmt: skip
def test_odd_paths_of_upstream_are_refused(sides: tuple[Path, Path], path: str, mode: str, words: str) -> None:
    upstream, copy = sides
    write(copy, {"submissions/ada/net/agent.py": "ada\n"})
    put_path(upstream, path, mode)
    before = git(copy, "rev-parse", "HEAD")

    code, err = upgrade(sides)
    assert (code, err.count("\n")) == (2, 1), err
    assert words in err
    assert (git(copy, "rev-parse", "HEAD"), git(copy, "branch", "--format=%(refname:short)")) == (before, "main")
    assert text(copy, "submissions/ada/net/agent.py") == "ada\n"


@pytest.mark.attack(
    "upstream_address_that_runs_a_program", family="supply", outcome="refused in one line",
    tries="An address of upstream that git would take for an option or a program.",
)  # fmt: skip
@pytest.mark.parametrize(
    "address", ["--upload-pack=touch ran", "ext::sh -c 'touch ran'", "ssh://-oProxyCommand=touch/x", "git://h/x"]
)
def test_an_address_runs_nothing(sides: tuple[Path, Path], address: str) -> None:
    code, _, err = run(sides[1], "upgrade", f"--from={address}")

    assert (code, err.count("\n")) == (2, 1)
    assert not (sides[1] / "ran").exists()


@pytest.mark.attack(
    "copy_whose_files_are_written_by_a_program", family="supply", outcome="not run, and nothing is written elsewhere",
    tries="Hands out a copy whose configuration names a filter, or another folder, for the files that an upgrade writes.",
)  # fmt: skip
@pytest.mark.parametrize("setting", ["filter.x.smudge", "filter.x.process", "core.worktree"])
def test_a_copys_own_configuration_does_not_say_how_files_are_written(sides: tuple[Path, Path], setting: str) -> None:
    upstream, copy = sides
    elsewhere, mark = upstream.parent / "elsewhere", upstream.parent / "ran"
    elsewhere.mkdir()
    write(upstream, {"scripts/tool.py": "two\n"})
    (copy / ".git/info/attributes").write_text("* filter=x\n")
    is_filter = setting.startswith("filter.")
    git(copy, "update-index", "--skip-worktree", *git(copy, "ls-files").splitlines())
    git(copy, "config", setting, f"touch {mark}; cat" if is_filter else str(elsewhere))

    code, err = upgrade(sides)

    assert code == (0 if is_filter else 2), err
    assert text(copy, "scripts/tool.py") == ("two\n" if is_filter else "one\n")
    assert not mark.exists()
    assert not list(elsewhere.iterdir())


@pytest.mark.attack(
    "upstream_ref_that_is_an_option", family="supply", outcome="refused in one line",
    tries="A branch or base commit of upstream that begins like an option, or is a refspec that moves the host's branches.",
)  # fmt: skip
@pytest.mark.parametrize("words", [["--to=--force"], ["--to=main:refs/heads/main"], ["--to=a..b"], ["--base=--all"]])
def test_a_ref_is_no_option(sides: tuple[Path, Path], words: list[str]) -> None:
    write(sides[0], {"scripts/tool.py": "two\n"})
    before = git(sides[1], "for-each-ref", "refs/heads")

    code, err = upgrade(sides, *words)
    assert (code, err.count("\n")) == (2, 1)
    assert git(sides[1], "for-each-ref", "refs/heads") == before


@pytest.mark.attack(
    "upstream_that_brings_moderation_and_submissions", family="supply", outcome="the host's files are never upstream's",
    tries="An upstream that excludes a participant, replaces an agent and names other owners.",
)  # fmt: skip
def test_upstream_decides_nothing_about_people(sides: tuple[Path, Path]) -> None:
    upstream, copy = sides
    write(copy, {"submissions/ada/net/agent.py": "ada\n"})
    write(upstream, {
        "submissions/ada/net/agent.py": "replaced\n", "submissions/eve/net/agent.py": "eve\n",
        "moderation.yml": "exclusions: [ada]\n", ".github/CODEOWNERS": "* @eve\n", "results/season.json": "{}\n",
    })  # fmt: skip

    code, err = upgrade(sides)
    assert code == 0, err
    assert git(copy, "diff", "--name-only", "main") == ""


@pytest.mark.attack(
    "upstream_that_names_itself_the_base", family="supply", outcome="only commits of upstream's history are a base",
    tries="A commit message in the copy that names another commit as the last upgrade, so that changes go missing.",
)  # fmt: skip
def test_a_false_trailer_is_no_base(sides: tuple[Path, Path]) -> None:
    upstream, copy = sides
    write(copy, {"README.md": "mine\n"}, "words\n\nPullrank-Upstream: " + "a" * 40)
    write(upstream, {"scripts/tool.py": "two\n"})

    assert upgrade(sides)[0] == 0
    assert text(copy, "scripts/tool.py") == "two\n"


@pytest.mark.attack(
    "participant_that_withholds_an_upgrade", family="supply", outcome="commits of participants are no upgrade",
    tries="A pull request whose message says that upstream's newest commit is here already, by merge or squash.",
)  # fmt: skip
@pytest.mark.parametrize("how", ["--squash", "--no-ff"])
@pytest.mark.parametrize("detour", [False, True])
def test_a_participants_trailer_is_no_upgrade(sides: tuple[Path, Path], how: str, detour: bool) -> None:
    upstream, copy = sides
    new = write(upstream, {"scripts/tool.py": "mended\n"})
    words = f"An agent\n\nPullrank-Upstream: {new}"
    git(copy, "switch", "-qc", "theirs")
    write(copy, {"submissions/mallory/a/agent.py": "pass\n"}, words)
    if detour:  # What the path guard sees is the whole change.
        write(copy, {"README.md": "theirs\n"}, words)
        write(copy, {"README.md": BASE["README.md"]}, words)
    git(copy, "switch", "-q", "main")
    git(copy, "merge", "-q", how, "theirs", *(["-m", words] if how == "--no-ff" else []))
    if how == "--squash":
        git(copy, "commit", "-qm", words)

    code, err = upgrade(sides)
    assert code == 0, err
    assert text(copy, "scripts/tool.py") == "mended\n"


def test_an_upgrade_that_was_merged_is_known_whatever_came_beside_it(sides: tuple[Path, Path]) -> None:
    upstream, copy = sides
    write(upstream, {"scripts/tool.py": "two\n"})
    assert upgrade(sides)[0] == 0
    branch = git(copy, "branch", "--show-current")
    git(copy, "switch", "-q", "main")
    write(copy, {"submissions/ada/net/agent.py": "ada\n", "README.md": "Mine\n"})
    git(copy, "merge", "-q", "--no-ff", "-m", "Merge", branch)

    assert upgrade(sides)[1].endswith("there is nothing to upgrade.\n")
