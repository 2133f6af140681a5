"""`pullrank season`: sealing, revealing and closing as a host does it, by the lines that the pages say."""

import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
from itertools import accumulate
from pathlib import Path

import pytest
import yaml

from evaluator.host.deterministic import pinned_variables
from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.progress import ignore_progress
from evaluator.host.seeds.season_secret import SECRET_VARIABLE, SeasonSecret
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import SandboxKind, Tier
from leaderboard.core.store import ResultStore
from leaderboard.text.phases import not_open
from scripts.git.git_repository import GitRepository
from scripts.maintenance.close_season import Citation, counted_record_files
from scripts.repository.checkout import AgentFolder, Checkout, open_checkout
from scripts.repository.season_file import RevealedSecret, SeasonEntry, SeasonFile, seal_result
from scripts.runs.local_evaluator import open_evaluator
from scripts.standings.recorded_standings import recorded_input
from tests.forked_command import forked_pullrank
from tests.scripts.checkouts import ROOT, run
from tests.scripts.github.remotes import git

SECRET = SeasonSecret(bytes(range(32)))
OPEN = 'title: "A & B_board"\nseason: "2026"\ntasks:\n  - {id: CartPole-v1, episodes: 3}\n'
PAGES = ROOT / "site" / "pages" / "host"


def blocks(page: str, language: str) -> list[str]:
    """The code of a page, block by block."""
    return re.findall(rf"^```{language}\n(.*?)^```", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board's repository whose branches hold one sealed, official result."""
    place = tmp_path_factory.mktemp("origin")
    root, bare = place / "main", place / "origin.git"
    shutil.copytree(ROOT / "site", root / "site")
    shutil.copy(ROOT / "mkdocs.yml", root / "mkdocs.yml")
    (root / "challenge.yml").write_text(OPEN + blocks("sealed.md", "yaml")[0])
    agent = root / "submissions" / "alice" / "pole"
    agent.mkdir(parents=True)
    (agent / "agent.py").write_text("class Agent:\n    def act(self, o):\n        return int(o[2] + 0.3 * o[3] > 0)\n")
    (agent / "submission.yml").write_text("name: Pole <b>\nalgorithm: none\n")
    bare.mkdir()
    git(bare, "init", "-q", "--bare", "-b", "main", ".")
    git(root, "init", "-q", "-b", "main", ".")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    git(root, "push", "-q", str(bare), "main")
    play(root, place)
    for branch, folder in (("results", place / "results"), ("traces-2026", place / "traces")):
        git(folder, "init", "-q", "-b", branch, ".")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "all")
        git(folder, "push", "-q", str(bare), branch)
    return bare


def play(root: Path, place: Path, drawn_from: str | None = None) -> None:
    """The agent's result and trace, as the official run leaves them, but for the sandbox; sealed, or on a commit's seeds."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in pinned_variables().items():
            patch.setenv(name, value)
        board = Checkout(root)
        path = root / "submissions" / "alice" / "pole"
        outcome = AgentFolder(login="alice", agent="pole", path=path, folder=read_folder(path, board.challenge.submissions))
        evaluator = open_evaluator(board, "process")
        order = evaluator.request(outcome, board.challenge.tasks[0], drawn_from or SECRET.beacon)
        commit = GitRepository(root).resolve("HEAD")
        secret = None if drawn_from else SECRET
        order = dataclasses.replace(order, secret=secret, tier=Tier.OFFICIAL, commit=commit)
        result, trace = evaluator.run(order, ignore_progress)
    held = Result.with_self_hash({**result.document(), "sandbox": SandboxKind.DOCKER})
    store = ResultStore(results=place / "results", traces=place / "traces")
    store.write(*(seal_result(board.challenge, secret, held, trace) if secret else (held, trace)))


@pytest.fixture
def clone(origin: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", str(origin), "clone")
    binary = tmp_path / "bin" / "pullrank"
    binary.parent.mkdir()
    binary.write_text(forked_pullrank(ROOT))
    binary.chmod(0o755)
    return tmp_path / "clone"


def follow(clone: Path, lines: str) -> subprocess.CompletedProcess[str]:
    """Lines of a page, as a host types them."""
    path = f"{clone.parent / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(clone.parent)}
    return subprocess.run(
        ["bash", "-euc", lines], cwd=clone, env=environment, capture_output=True, text=True, timeout=900, check=False
    )


def without_seal(clone: Path) -> Path:
    (clone / "challenge.yml").write_text(OPEN)
    return clone


def test_seal_says_what_goes_where_and_its_lines_make_a_challenge(clone: Path) -> None:
    done = follow(without_seal(clone), blocks("sealed.md", "sh")[0])
    (secret,) = re.findall(r"^  ([0-9a-f]{64})$", done.stderr, re.MULTILINE)
    lines = "\n".join(line.strip() for line in done.stderr.splitlines() if re.match(r"\s+(seeds|sealed|quota):", line))
    made = Challenge.model_validate(yaml.safe_load(OPEN + lines))

    assert done.returncode == 0
    assert made.sealed
    assert made.sealed.secret_sha256 == hashlib.sha256(bytes.fromhex(secret)).hexdigest()
    assert secret not in done.stdout
    assert f"gh secret set {SECRET_VARIABLE} --env season" in done.stderr


def test_seal_for_machines_is_one_document_and_never_the_same(clone: Path) -> None:
    without_seal(clone)
    made = [json.loads(run(clone, "season", "seal", "--json", "--decimals", "-1")[1]) for _ in range(2)]

    assert made[0]["secret"] != made[1]["secret"]
    assert made[0]["decimals"] == -1
    assert hashlib.sha256(bytes.fromhex(made[0]["secret"])).hexdigest() == made[0]["secret_sha256"]


def test_a_new_season_gets_a_new_secret(clone: Path) -> None:
    rules = yaml.safe_load((clone / "challenge.yml").read_text())
    (clone / "challenge.yml").write_text(yaml.safe_dump({**rules, "season": "2027"}))
    published = RevealedSecret(secret=SECRET.raw.hex(), at="2026-06-01T00:00:00Z")
    (clone / "results").mkdir(exist_ok=True)
    seasons = SeasonFile(seasons=(SeasonEntry(season="2026", revealed=published),))
    (clone / "results/season.json").write_bytes(seasons.serialised())

    code, out, _ = run(clone, "season", "seal", "--json")

    assert code == 0
    assert json.loads(out)["secret_sha256"] != rules["sealed"]["secret_sha256"]
    assert "has the secret of season 2026" in run(clone, "plan")[2]


def test_a_plan_names_the_season_that_has_recorded_results_of_its_secret(clone: Path) -> None:
    assert follow(clone, blocks("season.md", "sh")[1]).returncode == 0
    rules = yaml.safe_load((clone / "challenge.yml").read_text())
    (clone / "challenge.yml").write_text(yaml.safe_dump({**rules, "season": "2027"}))

    assert "Nothing is wanted: season 2027 has the secret of season 2026" in run(clone, "plan", "--sandbox", "process")[2]


def test_a_season_is_not_sealed_twice_and_an_open_one_not_revealed(clone: Path) -> None:
    again = run(clone, "season", "seal")
    unopened = run(without_seal(clone), "season", "reveal")

    assert (again[0], again[2]) == (2, "season 2026 is sealed already; a secret cannot change in a season\n")
    assert (unopened[0], unopened[2]) == (2, "season 2026 is not sealed, so there is nothing to reveal\n")


@pytest.mark.parametrize(
    ("secret", "message"), [("", "is not set"), ("ab" * 32, "is not the secret whose hash"), ("x", "64 hex")]
)
def test_a_wrong_secret_reveals_nothing(clone: Path, monkeypatch: pytest.MonkeyPatch, secret: str, message: str) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, secret)
    code, out, err = run(clone, "season", "reveal")

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert not (clone / "results" / "season.json").exists()


def test_a_sealed_season_is_not_closed_before_it_is_revealed(clone: Path) -> None:
    code, _, err = run(clone, "season", "close", "--by", "us")

    assert (code, err) == (2, "season 2026 is sealed; run 'pullrank season reveal' first\n")


def test_the_pages_lines_reveal_and_close_a_season(clone: Path) -> None:
    """Everything that the two pages say, in order."""
    close, fetch = blocks("season.md", "sh")
    fetched = follow(clone, fetch)
    hidden = run(clone, "verify")
    revealed = follow(clone, blocks("sealed.md", "sh")[1])
    verified = run(clone, "verify")
    stood = merge_another_version(clone)
    hidden_names = close_with_hidden_names(clone)
    closed = follow(clone, close)
    folder = clone / "site" / "pages" / "seasons" / "2026"
    known = json.loads((clone / "results" / "season.json").read_text())["seasons"]

    assert [fetched.returncode, revealed.returncode, closed.returncode] == [0, 0, 0], fetched.stderr + closed.stderr
    assert "1 sealed" in hidden[2]
    assert "1 verified" in verified[2]
    assert [one["season"] for one in known] == ["2026"]
    assert (known[0]["revealed"]["secret"], known[0]["closed"]["results"]) == (SECRET.raw.hex(), 1)
    assert known[0]["revealed"]["commit"] == stood
    assert (hidden_names[0], hidden_names[2].startswith("season 2026 still hides names")) == (2, True), hidden_names[2]
    assert "too late: the submissions of season 2026 have ended" in run(clone, "check", "submissions/alice/pole")[2]
    assert known[0]["closed"]["by"] == "The organisers"
    assert "Pole &lt;b&gt;" in (folder / "summary.md").read_text().replace("&#60;", "&lt;").replace("&#62;", "&gt;")
    assert "<b>" not in (folder / "summary.md").read_text()
    assert "Pole" in (folder / "index.html").read_text()
    shown = recorded_input(open_checkout(clone), official=True).challenge
    assert not_open(shown, None) == "The submissions of season 2026 have ended."
    check_archive(clone, known[0]["closed"])
    check_citation(clone, folder)
    check_what_comes_after(clone)


def merge_another_version(clone: Path) -> str:
    """Merge a version that takes no part any more; returns the commit before."""
    before, agent = git(clone, "rev-parse", "HEAD"), clone / "submissions" / "alice" / "pole"
    (agent / "submission.yml").write_text("name: Late\nalgorithm: none\n")
    (agent / "agent.py").write_text("class Agent:\n    def act(self, o):\n        return 0\n")
    git(clone, "commit", "-qam", "too late")
    return before


def close_with_hidden_names(clone: Path) -> tuple[int, str, str]:
    challenge = clone / "challenge.yml"
    rules = challenge.read_text()
    challenge.write_text(rules + "people: {anonymous_until: '2999-01-01T00:00:00Z'}\n")
    refused = run(clone, "season", "close", "--by", "us")
    challenge.write_text(rules)
    return refused


def check_archive(clone: Path, closing: dict[str, str]) -> None:
    path = clone / "build" / "seasons" / "2026.tar.gz"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == closing["archive_sha256"]
    with tarfile.open(path) as tar:
        held = {member.name: tar.extractfile(member) for member in tar.getmembers()}
        content = {name: file.read() for name, file in held.items() if file}
        assert {(m.uid, m.gid, m.uname, m.mode) for m in tar.getmembers()} == {(0, 0, "", 0o644)}
    manifest = content["season-2026/MANIFEST.sha256"]
    assert hashlib.sha256(manifest).hexdigest() == closing["files_sha256"]
    listed = dict(reversed(line.split("  ", 1)) for line in manifest.decode().splitlines())
    assert {f"season-2026/{name}" for name in listed} | {"season-2026/MANIFEST.sha256"} == set(content)
    assert all(hashlib.sha256(content[f"season-2026/{name}"]).hexdigest() == digest for name, digest in listed.items())
    tops = {name.split("/")[0] for name in listed}
    assert tops == {"results", "traces", "site", "challenge.yml", "CITATION.cff"}


def check_citation(clone: Path, folder: Path) -> None:
    cited = yaml.safe_load((clone / "CITATION.cff").read_text())
    assert (cited["cff-version"], cited["title"], cited["authors"]) == (
        "1.2.0", "A & B_board, season 2026", [{"name": "The organisers"}],
    )  # fmt: skip
    assert r"title = {{A \& B\_board, season 2026}}" in (folder / "citation.bib").read_text()


def check_what_comes_after(clone: Path) -> None:
    again = run(clone, "season", "close", "--by", "us")
    planned = run(clone, "plan", "--sandbox", "process")
    rebuilt = run(clone, "site", "build")

    assert again[0] == 2
    assert "was closed at" in again[2]
    assert "Nothing is wanted: season 2026 was closed" in planned[2]
    assert rebuilt[0] == 0, rebuilt[2]
    assert (clone / "build" / "site" / "seasons" / "2026" / "index.html").exists()
    assert "signed off by" in (clone / "build" / "site" / "seasons" / "2026" / "summary" / "index.html").read_text()
    reopened = run(clone, "season", "reopen")
    known = json.loads((clone / "results" / "season.json").read_text())["seasons"]

    assert reopened[0] == 0, reopened[2]
    assert "CITATION.cff still cites the close: delete it, or put its content from before back" in reopened[2]
    assert [one.keys() for one in known] == [{"season", "revealed"}]
    assert not (clone / "site" / "pages" / "seasons" / "2026").exists()
    assert run(clone, "season", "reopen")[::2] == (2, "season 2026 is not closed, so there is nothing to reopen\n")


def test_a_season_without_results_is_not_closed_by_mistake(clone: Path) -> None:
    assert follow(clone, blocks("sealed.md", "sh")[1]).returncode == 0
    shutil.rmtree(clone / "results", ignore_errors=True)
    assert follow(clone, blocks("sealed.md", "sh")[1]).returncode == 0

    refused = run(clone, "season", "close", "--by", "us")
    assert refused[0] == 2
    assert refused[2].startswith("season 2026 has no official result here; run 'pullrank recorded'")
    assert "closed" not in (clone / "results" / "season.json").read_text()
    assert run(clone, "season", "close", "--by", "us", "--yes")[0] == 0


def test_an_open_season_is_closed_on_its_final_draws_alone(clone: Path) -> None:
    """Each refusal says the next step; what came to main after the end of submissions has no place."""
    challenge = without_seal(clone) / "challenge.yml"
    challenge.write_text(OPEN.replace('"2026"\n', '"2026" # the year\nfinal: "2025"\n'))
    git(clone, "commit", "-qam", "open")
    play(clone, clone, git(clone, "rev-list", "--max-parents=0", "HEAD"))
    unended = run(clone, "season", "close", "--by", "us")
    ended = run(clone, "season", "final")
    unmerged = run(clone, "season", "close", "--by", "us")
    again = run(clone, "season", "final")
    git(clone, "commit", "-qam", "end")
    final = git(clone, "rev-parse", "HEAD")
    (clone / "submissions" / "alice" / "pole" / "agent.py").write_text("class Agent: pass\n")
    git(clone, "commit", "-qam", "too late")
    undrawn = run(clone, "season", "close", "--by", "us")

    assert [code for code, _, _ in (unended, ended, unmerged, again, undrawn)] == [2, 0, 2, 2, 2]
    assert "season 2026 has no final draws yet; run 'pullrank season final', merge challenge.yml" in unended[2]
    assert challenge.read_text() == OPEN.replace('"2026"\n', '"2026" # the year\nfinal: "2026"\n')
    assert "no commit of main says so" in unmerged[2]
    assert "says already" in again[2]
    assert undrawn[2] == (
        "season 2026 lacks 1 final draws (alice/pole on CartPole-v1); wait for the official run, then run "
        "'pullrank recorded' and close it\n"
    )

    git(clone, "checkout", "-q", final)
    play(clone, clone, final)
    git(clone, "checkout", "-q", "main")
    rules = challenge.read_text()
    challenge.write_text(rules + "people: {anonymous_until: '2999-01-01T00:00:00Z'}\n")
    hidden = run(clone, "season", "close", "--by", "us")
    challenge.write_text(rules)
    closed = run(clone, "season", "close", "--by", "us")
    ranked = json.loads(run(clone, "rank", "--official", "--json")[1])

    assert (hidden[0], hidden[2].startswith("season 2026 still hides names")) == (2, True), hidden[2]
    assert closed[0] == 0, closed[2]
    assert "2 results verified" in closed[2]
    drawn = next(
        one for one in ResultStore(results=clone / "results", traces=clone / "traces").read()[0] if one.beacon == final
    )
    assert [row["key"] for row in ranked["tasks"][0]["rows"]] == [drawn.key]
    assert ranked["tasks"][0]["waiting"] == []


def test_submissions_do_not_end_by_mistake_while_a_phase_is_open(tmp_path: Path) -> None:
    challenge = tmp_path / "challenge.yml"
    rules = OPEN.replace("  - {id: Cart", "  - {id: Acrobot-v1, episodes: 3}\n  - {id: Taxi-v4, episodes: 3}\n  - {id: Cart")
    rules += """phases:
  - {id: one, name: One, end: "2020-01-01T00:00:00Z", tasks: [CartPole-v1]}
  - {id: two, name: Two, end: "2999-12-18T00:00:00Z", tasks: [Acrobot-v1]}
  - {id: three, name: Three, start: "2999-12-18T00:00:00Z", tasks: [Taxi-v4]}
"""
    challenge.write_text(rules)

    code, out, err = run(tmp_path, "season", "final")

    assert (code, out, challenge.read_text()) == (2, "", rules)
    assert err == (
        "phases 'two' (until 2999-12-18 00:00 UTC: open), 'three' (from 2999-12-18 00:00 UTC: begins later) would end with "
        "the submissions of season 2026, which cannot be taken back; wait for the end, or pass --yes to end them too\n"
    )
    assert run(tmp_path, "season", "final", "--yes")[0] == 0
    assert 'final: "2026"' in challenge.read_text()


def test_what_does_not_verify_closes_nothing(clone: Path) -> None:
    follow(clone, blocks("season.md", "sh")[1])
    follow(clone, blocks("sealed.md", "sh")[1])
    years = "since: '2000-01-01T00:00:00Z', until: '2999-01-01T00:00:00Z'"
    for replay in (True, False):
        hidden = f"{{commit: {'a' * 40}, {years}, who: host, why: x, replay: {str(replay).lower()}}}"
        (clone / "moderation.yml").write_text(f"quarantines: [{hidden}]\n")
        if replay:
            awaited = run(clone, "season", "close", "--by", "us")
        else:
            assert counted_record_files(open_checkout(clone)) == []
    (clone / "moderation.yml").unlink()
    assert awaited[0] == 2
    assert "1 results of season 2026 are in quarantine and wait for their replay" in awaited[2]
    for trace in (clone / "traces").rglob("*.json"):
        trace.unlink()

    code, _, err = run(clone, "season", "close", "--by", "us")

    assert code == 1
    assert "1 result cannot be verified; nothing was closed" in err
    assert "its trace is not in this clone" in err
    assert "refuted" not in err
    assert "fetch the traces: git fetch origin traces-2026 && mkdir -p traces && git archive FETCH_HEAD | tar -x" in err
    assert not (clone / "site" / "pages" / "seasons").exists()
    assert "closed" not in json.loads((clone / "results" / "season.json").read_text())["seasons"][0]


def test_the_reveal_reaches_the_branch(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET.raw.hex())
    git(clone, "remote", "set-url", "origin", copy_of_origin(clone))

    merged = git(clone, "rev-parse", "HEAD")
    git(clone, "commit", "-q", "--allow-empty", "-m", "of this clone alone")

    code, _, err = run(clone, "season", "reveal", "--push")

    assert code == 0, err
    (known,) = json.loads(git(clone.parent / "copy.git", "show", "results:season.json"))["seasons"]
    assert (known["revealed"]["secret"], known["revealed"]["commit"]) == (SECRET.raw.hex(), merged)

    monkeypatch.setenv(SECRET_VARIABLE, SECRET.raw.hex())
    (clone / "results" / "season.json").unlink()
    git(clone, "push", "-q", "origin", "main")
    code, _, err = run(clone, "season", "reveal", "--push")

    assert (code, "season 2026 was revealed at" in err) == (2, True)
    assert merged in git(clone.parent / "copy.git", "show", "results:season.json")


def test_what_was_recorded_in_the_clone_first_is_pushed_later(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = copy_of_origin(clone)
    git(clone, "remote", "set-url", "origin", copy)
    assert follow(clone, blocks("season.md", "sh")[1]).returncode == 0
    for words in (("reveal",), ("close", "--by", "us")):
        monkeypatch.setenv(SECRET_VARIABLE, SECRET.raw.hex())
        code, _, err = run(clone, "season", *words)
        assert code == 0, err
        monkeypatch.setenv(SECRET_VARIABLE, SECRET.raw.hex())
        code, _, err = run(clone, "season", *words, "--push")
        assert code == 0, err
        pushed = git(clone.parent / "copy.git", "show", "results:season.json")

        assert json.loads(pushed) == json.loads((clone / "results" / "season.json").read_text())
        assert {"reveal": "revealed", "close": "closed"}[words[0]] in pushed
        monkeypatch.setenv(SECRET_VARIABLE, SECRET.raw.hex())
        assert run(clone, "season", *words, "--push")[0] == 2


def test_a_season_with_hidden_boards_is_not_closed(clone: Path) -> None:
    assert follow(clone, blocks("sealed.md", "sh")[1]).returncode == 0
    (clone / "challenge.yml").open("a").write(
        "phases: [{id: late, name: Late, tasks: [CartPole-v1], public_from: '2999-01-01T00:00:00Z'}]\n"
    )

    code, _, err = run(clone, "season", "close", "--by", "us")

    assert (code, err.startswith("season 2026 still hides the boards of late")) == (2, True), err


def copy_of_origin(clone: Path) -> str:
    source = git(clone, "remote", "get-url", "origin")
    git(clone.parent, "clone", "-q", "--mirror", source, "copy.git")
    git(clone.parent / "copy.git", "config", "uploadpack.allowFilter", "true")
    return str(clone.parent / "copy.git")


def test_names_with_special_letters_are_cited_without_harm() -> None:
    hostile = Challenge.model_validate({"title": 'a" \\ {$%#^~}', "season": "1", "tasks": [{"id": "t"}]})
    citation = Citation(challenge=hostile, by="x: [y]", date="2026-05-01")

    assert yaml.safe_load(citation.cff())["title"] == 'a" \\ {$%#^~}, season 1'
    assert yaml.safe_load(citation.cff())["authors"] == [{"name": "x: [y]"}]
    assert r"\textbackslash{} \textbraceleft{}\$\%\#\textasciicircum{}\textasciitilde{}" in citation.bibtex()


@pytest.mark.parametrize("title", ["Hold the {", "Hold } it", '}}, author = "Somebody else", title = {{x'])
def test_a_brace_in_a_title_ends_no_field_of_a_citation(title: str) -> None:
    """BibTeX counts braces, also those behind a backslash."""
    challenge = Challenge.model_validate({"title": title, "season": "1", "tasks": [{"id": "t"}]})

    first, *fields, last = Citation(challenge=challenge, by="x", date="2026-05-01").bibtex().splitlines()

    assert (first, last) == (f"@misc{{{first[6:-1]},", "}")
    for field in fields:
        value = field.partition(" = ")[2].removesuffix(",")
        open_braces = list(accumulate((letter == "{") - (letter == "}") for letter in value))
        assert open_braces.index(0) == len(value) - 1, field


def test_a_person_of_a_sealed_season_is_erased_in_the_season_after_its_reveal(clone: Path) -> None:
    """What is sealed is bound to the owner's name: under another one it could not be opened, and its score would be lost."""
    assert follow(clone, blocks("season.md", "sh")[1]).returncode == 0
    before = records_of(clone)

    code, _, err = run(clone, "erase", "alice")

    assert (code, err.count("\n")) == (2, 1)
    assert "sealed until season 2026 is revealed, so nothing was changed" in err
    assert records_of(clone) == before
    assert follow(clone, blocks("sealed.md", "sh")[1]).returncode == 0
    assert "agents of alice stand at the end of season 2026, so nothing was changed" in run(clone, "erase", "alice")[2]
    (clone / "challenge.yml").write_text(OPEN.replace("2026", "2027"))

    assert run(clone, "erase", "alice", "--push")[0] == 0

    assert not any(b"alice" in path.encode() + content for path, content in records_of(clone).items())
    assert "1 verified" in run(clone, "verify")[2]
    revealed = (clone / "results/season.json").read_bytes()
    shutil.rmtree(clone / "results")
    shutil.rmtree(clone / "traces")
    assert follow(clone, blocks("season.md", "sh")[1]).returncode == 0
    (clone / "results/season.json").write_bytes(revealed)
    assert "1 verified" in run(clone, "verify")[2]


def records_of(clone: Path) -> dict[str, bytes]:
    """Results and traces by path."""
    files = [*(clone / "results").rglob("*.json"), *(clone / "traces").rglob("*.json")]
    return {str(path.relative_to(clone)): path.read_bytes() for path in files if path.name != "season.json"}
