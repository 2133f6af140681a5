"""A drill for the day when something went wrong: results are hidden, named, replayed and shown again."""

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.loading.yaml_loader import parse_challenge, parse_moderation
from evaluator.model.config.moderation import Moderation, Quarantine
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.sealed_fields import SealedPart
from leaderboard.core.eligibility import quarantine_of, with_quarantines
from leaderboard.core.entry import Entry
from leaderboard.core.store import ResultStore
from leaderboard.pages.agent.agent_page import render_agent_pages
from leaderboard.pages.render_pages import render_pages
from scripts.repository.checkout import open_checkout
from scripts.static_site.build_site import gather_site_inputs
from tests.docs.blocks import blocks_of
from tests.leaderboard.api.leaderboards import api_files
from tests.leaderboard.make import duel, result
from tests.scripts.checkouts import ILLEGAL, LEGAL, ROOT, game_board, records, run, submit

GOOD, BAD = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
BEFORE, DURING = "2026-05-01T08:00:00Z", "2026-05-02T09:00:00Z"
PLACES = {
    "api/tasks/CartPole-v1/leaderboard.json", "api/tasks/CartPole-v1/table.json", "api/status.json", "tasks/CartPole-v1.md",
    "api/agents/bob/agent.json", "agents/bob/agent/index.html",
}  # fmt: skip
WHY = ("--why", "the image's registry was broken into", "--who", "carol")


def git(board: Path, *words: str, date: str = BEFORE) -> str:
    own = ("-c", "user.name=Carol", "-c", "user.email=carol@example.org", "-c", "commit.gpgsign=false")
    stamps = {
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
        "PATH": "/usr/bin:/bin:/usr/local/bin",
        "HOME": str(board),
    }
    return subprocess.run(
        ["git", *own, *words], cwd=board, env=stamps, check=True, capture_output=True, text=True
    ).stdout.strip()


def entry_of(board: Path, login: str) -> Entry:
    folder = read_folder(board / "submissions" / login / "agent", SubmissionLimits())
    return Entry(login=login, agent="agent", submission=folder.submission, digest=folder.digest)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with results of two logins on one task, made with two images, and a duel."""
    board = game_board(tmp_path_factory.mktemp("drill"))
    for login, source in (("alice", LEGAL), ("bob", ILLEGAL)):
        submit(board, "agent", source, "[CartPole-v1, tictactoe]", login)
    (board / "moderation.yml").write_text(
        "# Who is kept off.\nexclusions: []\nquarantines: []\n# Vouched for.\nverified: []\n"
    )
    (board / ".gitignore").write_text("/results/\n/build/\n/site/\n")
    challenge = parse_challenge((board / "challenge.yml").read_bytes())
    task, game = challenge.tasks[0], challenge.tasks[1]
    store = ResultStore(results=board / "results", traces=board / "traces")
    alice, bob = entry_of(board, "alice"), entry_of(board, "bob")
    both: dict[str, Any] = {"season": "test"}
    store.write(result(alice, [100.0, 120.0], on=task, at=BEFORE, image_digest=GOOD, **both), None)
    store.write(result(bob, [300.0, 320.0], on=task, at=DURING, image_digest=BAD, **both), None)
    store.write(duel(alice, bob, "wlwd", on=game, at=DURING, image_digest=GOOD, **both))
    git(board, "init", "-q", "-b", "main")
    git(board, "add", "-A")
    git(board, "commit", "-q", "-m", "A board", date="2026-05-02T00:00:00Z")
    return board


@pytest.fixture
def board(whole: Path, tmp_path: Path) -> Path:
    shutil.copytree(whole, tmp_path / "board")
    return tmp_path / "board"


def ranked(board: Path) -> list[str]:
    code, out, _ = run(board, "rank", "--json")
    assert code == 0
    return [row["login"] for row in json.loads(out)["tasks"][0]["rows"]]


def site_of(board: Path) -> dict[str, str]:
    """Every page and document of the site that is made from results."""
    table, context = gather_site_inputs(open_checkout(board), official=True)
    context = replace(context, generated_at="now", now=None)
    files = {name: content.decode("utf-8", "replace") for name, content in api_files(table, context)}
    agents = {name: str(page) for name, page in render_agent_pages(table, context)}
    return {**files, **agents, **render_pages(table, context)}


def test_the_drill(board: Path) -> None:
    """An image was bad: its results are hidden everywhere, wanted again, and byte for byte as before once lifted."""
    moderation, recorded = (board / "moderation.yml").read_bytes(), records(board)
    standings, site = run(board, "rank", "--json")[1], site_of(board)
    assert ranked(board) == ["bob", "alice"]

    code, out, err = run(board, "quarantine", "--since", "main", "--image", BAD, *WHY)

    assert (code, out) == (0, "")
    assert "bob/agent on CartPole-v1" in err
    assert "alice/agent" not in err
    assert "@bob" in err
    assert all(name in err for name in ("PULLRANK_SEASON_SECRET", "PULLRANK_TEAMS_TOKEN", "deploy keys"))
    assert records(board) == recorded
    (quarantine,) = parse_moderation((board / "moderation.yml").read_bytes()).quarantines
    assert (quarantine.image, quarantine.login, quarantine.since) == (BAD, None, "2026-05-02T00:00:00Z")
    assert (board / "moderation.yml").read_text().endswith("\n# Vouched for.\nverified: []\n")

    words = f"in quarantine since {quarantine.until[:10]}, will be replayed"
    assert ranked(board) == ["alice"]
    hidden = site_of(board)
    saying = {name for name, text in hidden.items() if "quarantine since" in text}
    assert saying == PLACES
    assert WHY[1].replace("'", "&#39;") in hidden["ledger.md"]
    _, plan, _ = run(board, "plan", "--json", "--sandbox", "process")
    reasons = {(item["login"], item["task"]): item["reason"] for item in json.loads(plan) if "login" in item}
    assert reasons["bob", "CartPole-v1"] == words
    path = next(path for path in recorded if "/bob/" in path)
    assert f"{path.removeprefix('results/')}: {words}: the image's registry was broken into\n" in run(board, "verify")[2]

    code, _, err = run(board, "quarantine", "--lift")
    assert (code, err) == (0, "moderation.yml: 1 quarantines are lifted, and 1 results count again; commit it on main.\n")
    assert (board / "moderation.yml").read_bytes() == moderation
    assert run(board, "rank", "--json")[1] == standings
    assert site_of(board) == site
    assert records(board) == recorded


def test_of_one_owner_everything_is_hidden_and_replayed_only_where_asked(board: Path) -> None:
    code, out, _ = run(board, "quarantine", "--since", "main", "--login", "BOB", "--no-replay", "--json", *WHY)
    document = json.loads(out)

    assert code == 0
    assert document["authors"] == ["alice", "bob"]
    assert sorted(one["name"] for one in document["hidden"]) == [
        "alice/agent against bob/agent in tictactoe", "bob/agent on CartPole-v1",
    ]  # fmt: skip
    assert ranked(board) == ["alice"]
    shown = json.loads(run(board, "rank", "--json")[1])
    assert [one["quarantine"] for one in shown["tasks"][0]["waiting"] if one["login"] == "bob"] == [
        f"in quarantine since {document['quarantine']['until'][:10]}"
    ]
    assert run(board, "quarantine", "--since", "main", "--image", GOOD, *WHY)[0] == 0
    assert run(board, "quarantine", "--lift", "--login", "bob")[0] == 0
    (left,) = parse_moderation((board / "moderation.yml").read_bytes()).quarantines
    assert left.image == GOOD


@pytest.mark.parametrize(("more", "count"), [((), 5), (("--no-replay",), 4)])
def test_what_comes_next_is_numbered_without_a_gap(board: Path, more: tuple[str, ...], count: int) -> None:
    _, _, err = run(board, "quarantine", "--since", "main", "--login", "bob", *more, *WHY)

    assert re.findall(r"^(\d)\. ", err, re.MULTILINE) == [str(number) for number in range(1, count + 1)]
    assert ("replay" in err.partition("Next:")[2]) == (not more)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "say --since COMMIT, --why 'what went wrong' and --who your-login; or --lift"),
        (("--since", "nowhere", *WHY), "'nowhere' is no commit of this clone; first 'git fetch origin main results'"),
        (("--since", "--all", *WHY), "'--all' is no commit of this clone; first 'git fetch origin main results'"),
        (("--since", "main", "--login", "nobody", *WHY), "no recorded result is covered"),
        (("--since", "main", "--image", "latest", *WHY), "'image' must be sha256: and 64 of the digits 0-9 and a-f"),
        (("--since", "main", "--login", "bob", "--why", "a\nb", "--who", "carol"), "must be a single line"),
        (("--lift",), "moderation.yml has no such quarantine; nothing is lifted"),
    ],
)
def test_errors_are_one_line(board: Path, words: tuple[str, ...], line: str) -> None:
    before = (board / "moderation.yml").read_bytes()
    code, out, err = run(board, "quarantine", *words)

    assert (code, out) == (2, "")
    assert line in err
    assert err.count("\n") == 1
    assert (board / "moderation.yml").read_bytes() == before


def test_an_entry_that_was_edited_by_hand_is_not_guessed_at(board: Path) -> None:
    assert run(board, "quarantine", "--since", "main", "--login", "bob", *WHY)[0] == 0
    path = board / "moderation.yml"
    path.write_text(path.read_text().replace("who: 'carol'", 'who: "carol"  # on duty'))
    edited = path.read_bytes()

    code, _, err = run(board, "quarantine", "--lift")
    assert (code, err.count("\n")) == (2, 1)
    assert "edited by hand" in err
    assert path.read_bytes() == edited


def test_a_file_without_the_list_gets_one(board: Path) -> None:
    path = board / "moderation.yml"
    for content in ("exclusions: []", ""):
        path.unlink()
        if content:
            path.write_text(content)
        assert run(board, "quarantine", "--since", "main", "--login", "bob", *WHY)[0] == 0
        assert len(parse_moderation(path.read_bytes()).quarantines) == 1
        assert run(board, "quarantine", "--lift")[0] == 0
        assert path.read_text() == f"{content.strip()}\nquarantines: []\n".lstrip("\n")


def test_the_pages_commands_do_what_it_says(board: Path) -> None:
    declare, lift = (block.text for block in blocks_of(ROOT / "site/pages/host/incident.md")[1:])
    words = shlex.split(declare.replace("1f3c9ab", "main"))

    assert words[0] == lift.split()[0] == ".venv/bin/pullrank"
    assert run(board, *words[1:])[0] == 0
    assert ranked(board) == ["alice"]
    assert run(board, *lift.split()[1:])[0] == 0
    assert ranked(board) == ["bob", "alice"]


@pytest.mark.attack(
    "dates_its_commit_after_its_merge", family="bot", outcome="hidden since the merge",
    tries="Gives the commit of a pull request a time of its own, so that a quarantine since that commit begins too late.",
)  # fmt: skip
@pytest.mark.parametrize("forged", ["2026-05-02T10:00:00Z", "2099-01-01T00:00:00Z"])
@pytest.mark.parametrize("later", [0, 1, 2])
def test_the_time_of_a_participants_commit_begins_no_quarantine(board: Path, forged: str, later: int) -> None:
    git(board, "switch", "-q", "-c", "pull")
    (board / "submissions" / "bob" / "agent" / "notes.txt").write_text("mine")
    git(board, "add", "-A")
    git(board, "commit", "-q", "-m", "An agent", date=forged)
    pull = git(board, "rev-parse", "HEAD")
    for _ in range(later):
        git(board, "commit", "-q", "--allow-empty", "-m", "Another word", date=forged)
    git(board, "switch", "-q", "main")
    git(board, "merge", "-q", "--no-ff", "-m", "Merge", "pull", date="2026-05-02T08:00:00Z")

    code, _, err = run(board, "quarantine", "--since", pull, *WHY)

    assert (code, "bob/agent on CartPole-v1" in err) == (0, True), err
    assert parse_moderation((board / "moderation.yml").read_bytes()).quarantines[0].since == "2026-05-02T08:00:00Z"


def test_a_commit_that_main_does_not_have_begins_none(board: Path) -> None:
    git(board, "switch", "-q", "-c", "pull")
    git(board, "commit", "-q", "--allow-empty", "-m", "An agent", date="2026-05-02T10:00:00Z")
    pull = git(board, "rev-parse", "HEAD")
    git(board, "switch", "-q", "main")

    code, _, err = run(board, "quarantine", "--since", pull, *WHY)

    assert (code, err) == (
        2, f"{pull[:12]} is not on main here, so its time is its author's word; name main's commit\n",
    )  # fmt: skip


@pytest.mark.attack(
    "hides_in_the_hour_of_a_sealed_result", family="cheating", outcome="hidden",
    tries="Is evaluated in a sealed season within the hour in which a quarantine begins, of which only the hour is public.",
)  # fmt: skip
def test_a_sealed_result_of_the_hour_in_which_it_began_is_hidden(board: Path) -> None:
    (plain,) = [one for one in open_checkout(board).recorded[0] if one.login == "bob"]
    sealed = plain.model_copy(update={"sealed": SealedPart(score=1.0, nonce="a" * 24, ciphertext="aaaa")})
    since, until = "2026-05-02T09:30:00Z", "2026-05-02T12:00:00Z"
    quarantine = {"since": since, "until": until, "commit": "a" * 40, "who": "carol", "why": "a hole"}
    moderation = Moderation.model_validate({"quarantines": [quarantine]})

    assert quarantine_of(plain, moderation) is None
    assert quarantine_of(sealed, moderation) is not None


def test_who_has_the_same_files_is_not_said_to_be_in_quarantine(board: Path) -> None:
    """The same version of two owners, such as a starter: what is hidden of one says nothing of the other."""
    whose, copy = entry_of(board, "bob"), replace(entry_of(board, "bob"), login="eve")
    hidden = result(whose, [1.0], at=DURING)
    fields = {"since": BEFORE, "until": DURING, "commit": 40 * "a", "login": "BOB", "who": "host", "why": "cheated"}

    entries = with_quarantines((whose, copy), [hidden], Moderation(quarantines=(Quarantine.model_validate(fields),)))

    assert [bool(entry.quarantined) for entry in entries] == [True, False]
