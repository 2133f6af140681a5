"""`pullrank grades` on the history of a course's board: own environment, teams, deadlines, pushes that came late."""

import csv
import io
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from leaderboard.core.entry import Entry
from leaderboard.core.store import ResultStore
from scripts.repository.checkout import Checkout
from tests.leaderboard import make
from tests.leaderboard.pages import samples
from tests.scripts.checkouts import put, run

COURSE = """\
title: Course
season: '2026'
baselines: []
people:
  team_size: 2
  fields: [{name: student, required: true, shown: false}]
tasks:
  - {id: grid, env: "gridworld:GridWorld-v0", episodes: 10}
  - {id: CartPole-v1, episodes: 10}
phases:
  - {id: hw1, name: Homework 1, end: 2026-02-01T00:00:00+01:00, tasks: [grid]}
"""
WORLD = """\
import gymnasium
import numpy as np
from gymnasium import spaces


class GridWorld(gymnasium.Env):
    observation_space = spaces.Box(0, 9, (1,), np.int64)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = self.np_random.integers(0, 9, 1)
        return self.at.copy(), {}

    def step(self, action):
        return self.at.copy(), float(action), True, False, {}


gymnasium.register("GridWorld-v0", entry_point="gridworld:GridWorld", max_episode_steps=9)
"""
GAME = """\
title: Course
season: '2026'
baselines: []
tasks:
  - {id: tictactoe, game: pettingzoo.classic.tictactoe_v3, matches: 2}
"""
ANONYMOUS = "people: {anonymous_until: 2100-01-01T00:00:00Z}\n"
HIDDEN_BOARD = "phases: [{id: hw, name: Homework, public_from: 2100-01-01T00:00:00Z, tasks: [tictactoe]}]\n"
IN_TIME, LAST_MOMENT, LATE = "2026-01-20T12:00:00Z", "2026-01-31T22:59:59Z", "2026-01-31T23:00:01Z"


def git(root: Path, *words: str, at: str = IN_TIME) -> str:
    """A git command whose commits have this time."""
    env = {**os.environ, "GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z"}
    names = ("-c", "user.name=t", "-c", "user.email=t@t.invalid")
    done = subprocess.run(["git", *names, *words], cwd=root, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def push(
    root: Path, name: tuple[str, str], scores: dict[str, float | None], at: str, source: str = "", **manifest: str
) -> None:
    """A version of an agent, merged at a time, and its official results; None for a task without one."""
    login, agent = name
    folder = root / "submissions" / login / agent
    folder.mkdir(parents=True, exist_ok=True)
    lines = {"name": agent, "algorithm": "x", "tasks": f"[{', '.join(scores)}]", **manifest}
    (folder / "submission.yml").write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    (folder / "agent.py").write_text(
        f"class Agent:\n    def act(self, observation):\n        return 0  # {login} {source}\n"
    )
    git(root, "checkout", "-q", "-b", "work")
    git(root, "add", "-A")
    git(root, "commit", "-qm", f"{login}: {agent}", at=IN_TIME)  # the student's own clock, which says anything
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "-m", "Merge", "work", at=at)
    git(root, "branch", "-qD", "work")
    checkout = Checkout(root)
    found = checkout.find(folder)
    entry = Entry(login=login, agent=agent, submission=found.folder.submission, digest=found.folder.digest)
    store = ResultStore(results=root / "results", traces=root / "traces")
    for task_id, score in scores.items():
        task = checkout.challenge.task(task_id)
        assert task is not None
        if score is None:
            continue
        # Evaluated long after the deadline, as a full queue has it: what counts is when it was merged.
        late = {"evaluated_at": "2026-03-01T00:00:00Z", "commit": git(root, "rev-parse", "HEAD")}
        returns = (score,) * 10
        store.write(samples.result(entry, task, returns, provenance=late, trace_sha256=samples.digest("trace")), b"trace")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ada and Bob are a team, Carl hands in too late, Dora twice, Eve too late for a result, Fay has none yet."""
    root = tmp_path_factory.mktemp("course")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.syspath_prepend(str(root))  # where the command finds the course's own environment
    (root / "challenge.yml").write_text(COURSE)
    (root / "gridworld.py").write_text(WORLD)
    (root / ".gitignore").write_text("results/\ntraces/\n__pycache__/\n")
    git(root, "init", "-qb", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Course", at="2026-01-01T00:00:00Z")
    push(root, ("ada", "net"), {"grid": 0.5}, IN_TIME, authors='["@bob"]', meta="{student: '11'}")
    push(root, ("bob", "tree"), {"grid": 0.75, "CartPole-v1": 90}, LAST_MOMENT, authors='["@ada"]', meta="{student: '22'}")
    push(root, ("carl", "net"), {"grid": 1.0}, LATE, meta="{student: '33'}")
    push(root, ("dora", "net"), {"grid": 0.25}, IN_TIME, "first", meta="{student: '44'}")
    push(root, ("dora", "net"), {"grid": 1.0}, LATE, "second", meta="{student: '44'}")
    push(root, ("Mallory", "net"), {"CartPole-v1": 500}, LATE, authors='["@dora"]', meta="{student: '55'}")
    push(root, ("eve", "net"), {"grid": None, "CartPole-v1": None}, LATE, meta="{student: '66'}")
    push(root, ("fay", "net"), {"grid": None}, IN_TIME, meta="{student: '77'}")
    monkeypatch.undo()
    return root


@pytest.fixture(scope="module")
def rows(course: Path) -> dict[str, dict[str, str]]:
    """The rows of the gradebook by people."""
    code, out, err = run(course, "grades")
    assert (code, err) == (0, ""), err
    return {row["people"]: row for row in csv.DictReader(io.StringIO(out))}


def test_a_team_has_its_best_before_the_deadline(rows: dict[str, dict[str, str]]) -> None:
    team = rows["ada bob"]

    assert (team["grid"], team["grid state"], team["grid agent"]) == ("0.8", "ok", "bob/tree")
    assert (team["student"], team["grid arrived"], team["grid late"]) == ("11 / 22", LAST_MOMENT, "")


def test_the_merge_decides_what_is_late_and_no_clock_of_the_student(rows: dict[str, dict[str, str]]) -> None:
    carl = rows["carl"]

    assert (carl["grid state"], carl["grid agent"], carl["grid arrived"]) == ("late", "carl/net", LATE)
    assert (carl["grid"], carl["grid late"]) == ("", "1.0"), "a sum over the column of scores counts nothing late"


def test_what_came_too_late_to_be_evaluated_is_late(rows: dict[str, dict[str, str]]) -> None:
    eve = rows["eve"]

    assert (eve["grid"], eve["grid state"], eve["grid agent"], eve["grid arrived"]) == ("", "late", "eve/net", LATE)
    assert (eve["grid late"], eve["CartPole-v1 state"], rows["fay"]["grid state"]) == ("", "missing", "missing")


def test_a_late_push_takes_nothing_from_what_was_in_time(rows: dict[str, dict[str, str]]) -> None:
    dora = rows["dora"]

    assert (dora["grid"], dora["grid state"], dora["grid late"]) == ("0.2", "ok", "1.0")


@pytest.mark.attack(
    "draws_in_a_folder_that_cannot_be_read", family="people", outcome="all of its draws are graded",
    tries="Makes the folder faulty in which its bad draw was recorded, so that the good one alone is graded.",
)  # fmt: skip
def test_a_folder_that_became_faulty_takes_no_draw_along(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor what was in time: the results of such a folder were left out."""
    root = tmp_path / "course"
    shutil.copytree(course, root)
    monkeypatch.syspath_prepend(str(root))
    (root / "submissions/dora/net/submission.yml").write_text("name: [\n")
    git(root, "commit", "-qam", "A fault", at=LATE)

    code, out, _ = run(root, "grades")

    assert code == 0
    (dora,) = (row for row in csv.DictReader(io.StringIO(out)) if row["people"] == "dora")
    assert (dora["grid"], dora["grid state"], dora["grid late"]) == ("0.2", "ok", "1.0")


@pytest.mark.attack(
    "graded_though_it_is_excluded", family="people", outcome="its grade goes with its place",
    tries="Renames its folder, so that the name under which the hosts exclude it is not the one of its graded result.",
)  # fmt: skip
@pytest.mark.parametrize("named", ["agent: oak", "digest: {digest}", "agent: oak, digest: {digest}"])
def test_what_is_excluded_is_not_graded_whatever_its_folder_was_called(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    root = tmp_path / "course"
    shutil.copytree(course, root)
    monkeypatch.syspath_prepend(str(root))
    git(root, "mv", "submissions/bob/tree", "submissions/bob/oak")
    version = named.format(digest=Checkout(root).find(root / "submissions/bob/oak").folder.digest)
    rest = "since: '2026-03-02', who: prof, why: copied, link: 'https://github.com/c/c/issues/1'"
    (root / "moderation.yml").write_text(f"exclusions: [{{login: bob, {version}, {rest}}}]\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Rename, and exclude", at=IN_TIME)

    code, out, _ = run(root, "grades")

    assert code == 0
    (team,) = (row for row in csv.DictReader(io.StringIO(out)) if "ada" in row["people"])
    assert (team["grid"], team["grid agent"], team["CartPole-v1 state"]) == ("0.5", "ada/net", "missing")


@pytest.mark.attack(
    "graded_though_it_is_a_baseline", family="people", outcome="is in no grade",
    tries="Has a grade by the best of as many versions as it likes, since an entry that is a baseline has no quota.",
)  # fmt: skip
def test_a_baseline_is_not_graded_and_its_owner_s_other_entries_are(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "course"
    shutil.copytree(course, root)
    monkeypatch.syspath_prepend(str(root))
    (root / "challenge.yml").write_text(COURSE.replace("baselines: []", "baselines: [bob/tree]"))
    push(root, ("bob", "own"), {"grid": 0.5}, IN_TIME, "own", meta="{student: '22'}")

    code, out, _ = run(root, "grades")

    assert code == 0
    (bob,) = (row for row in csv.DictReader(io.StringIO(out)) if "bob" in row["people"])
    assert (bob["grid"], bob["grid agent"], bob["CartPole-v1 state"]) == ("0.5", "bob/own", "missing")


def test_a_task_without_a_deadline_is_never_late(rows: dict[str, dict[str, str]]) -> None:
    assert (rows["ada bob"]["CartPole-v1"], rows["ada bob"]["CartPole-v1 state"]) == ("90.0", "ok")
    assert (rows["carl"]["CartPole-v1"], rows["carl"]["CartPole-v1 state"]) == ("", "missing")


@pytest.mark.attack(
    "author_without_consent", family="people", outcome="a row of one's own: only who name each other are a team",
    tries="Names a classmate as author, who does not, to share that classmate's grades.",
)  # fmt: skip
def test_naming_somebody_is_no_team(rows: dict[str, dict[str, str]]) -> None:
    assert set(rows) == {"ada bob", "carl", "dora", "eve", "fay", "mallory"}
    assert (rows["mallory"]["grid"], rows["mallory"]["grid state"]) == ("", "missing")


@pytest.mark.attack(
    "grade_of_a_version_of_last_year", family="people", outcome="late: its return in this season counts",
    tries="Hands in, after the deadline, what it had on main in an earlier season of the course.",
)  # fmt: skip
def test_what_stood_in_an_earlier_season_only_came_when_it_returned(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "course"
    monkeypatch.syspath_prepend(str(course))
    root.mkdir()
    (root / "challenge.yml").write_text(COURSE.replace("'2026'", "'2025'"))
    shutil.copy(course / "gridworld.py", root)
    (root / ".gitignore").write_text("results/\ntraces/\n__pycache__/\n")
    git(root, "init", "-qb", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Course", at="2025-01-01T00:00:00Z")
    for name in ("gil", "hal"):
        push(root, (name, "net"), {"grid": None}, "2025-01-20T12:00:00Z", meta="{student: '11'}")
    (root / "challenge.yml").write_text(COURSE)
    git(root, "rm", "-rq", "submissions")
    git(root, "commit", "-qam", "Next year", at="2026-01-01T00:00:00Z")
    push(root, ("gil", "net"), {"grid": None}, LATE, meta="{student: '11'}")
    # Evaluated, since the deadline was a later one then.
    push(root, ("hal", "net"), {"grid": 1.0}, LATE, meta="{student: '11'}")

    code, out, err = run(root, "grades")

    assert (code, err) == (0, "")
    graded = {row["people"]: row for row in csv.DictReader(io.StringIO(out))}
    assert [(graded[name]["grid"], graded[name]["grid state"]) for name in ("gil", "hal")] == [("", "late")] * 2
    assert {graded[name]["grid arrived"] for name in ("gil", "hal")} == {LATE}


@pytest.mark.attack(
    "grade_by_a_draw_under_way_at_the_end", family="people", outcome="no draw made after the end counts but the final one",
    tries="Knows its final draw, and lets the live one that is still under way fail unless it raises the mean.",
)  # fmt: skip
def test_a_live_draw_made_after_the_end_is_in_no_grade(
    course: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "course"
    shutil.copytree(course, root)
    monkeypatch.syspath_prepend(str(root))
    (root / "challenge.yml").write_text(COURSE.replace("title:", "final: '2026'\ntitle:"))
    git(root, "commit", "-qam", "End", at="2026-02-28T00:00:00Z")
    checkout = Checkout(root)
    folder, task = checkout.find(root / "submissions/fay/net"), checkout.challenge.task("grid")
    entry = Entry(login="fay", agent="net", submission=folder.folder.submission, digest=folder.folder.digest)
    store = ResultStore(results=root / "results", traces=root / "traces")

    def grade(beacon: str, score: float, at: str) -> str:
        provenance = {"evaluated_at": at, "commit": git(root, "rev-parse", "HEAD")}
        store.write(
            samples.result(entry, task, (score,) * 10, beacon=beacon, provenance=provenance, key=beacon + "0" * 24), b""
        )
        rows = csv.DictReader(io.StringIO(run(root, "grades")[1]))
        return next(row["grid"] for row in rows if row["people"] == "fay")

    assert grade(git(root, "rev-parse", "HEAD"), 0.5, "2026-03-02T00:00:00Z") == "0.5"
    assert grade("1" * 40, 1.0, "2026-02-28T00:30:00Z") == "0.5"
    assert grade("2" * 40, 1.0, "2026-02-27T23:30:00Z") == "0.8"


@pytest.mark.parametrize("hidden", ["", ANONYMOUS, HIDDEN_BOARD])
def test_what_the_board_hides_is_graded(tmp_path: Path, hidden: str) -> None:
    """In a game, too: the ratings are those of the leaderboard, which may show neither the board nor the names."""
    (tmp_path / "challenge.yml").write_text(GAME + hidden)
    for login in ("ada", "bob"):
        put(tmp_path / "submissions" / login / "net", f"class Agent:\n    pass  # {login}\n", "all")
    git(tmp_path, "init", "-qb", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Players")
    checkout = Checkout(tmp_path)
    ada, bob = (checkout.find(tmp_path / "submissions" / login / "net").entry() for login in ("ada", "bob"))
    for one, other, outcomes in ((ada, ada, "wl"), (bob, bob, "wl"), (ada, bob, "ww")):
        duel = make.duel(one, other, outcomes, on=checkout.challenge.tasks[0], season="2026")
        ResultStore(results=tmp_path / "results", traces=tmp_path / "traces").write(duel)

    code, out, err = run(tmp_path, "grades")

    assert code == 0, err
    rows = {row["people"]: row for row in csv.DictReader(io.StringIO(out))}
    assert {people: row["tictactoe state"] for people, row in rows.items()} == {"ada": "ok", "bob": "ok"}
    assert float(rows["ada"]["tictactoe"]) > float(rows["bob"]["tictactoe"])
