"""Whose account a folder on main is, from its merge on."""

import pytest

from scripts.git.pull_request_guard import GuardedPaths
from scripts.github.pull_request import report_previews
from scripts.github.pull_request.judge_preview import guard_pull
from scripts.github.pull_request.reconcile import reconcile_pulls
from tests.leaderboard import make
from tests.scripts.github.remotes import agent_files
from tests.scripts.github.scenes import POLE, Scene, completed, previewed


def merged(scene: Scene, number: int = 7, agent: str = "a") -> str:
    """A pull request of Alice's that was merged."""
    scene.bring(number, agent=agent, source=f"x = {number}\n".encode())
    sha = scene.merge(number)
    scene.world.commits[sha] = [number]
    return sha


def registered_anew(scene: Scene, old: str) -> None:
    """Alice gave her login up, and somebody else took it."""
    scene.world.person(old, 11)
    scene.world.person("alice", 99)
    for pull in scene.world.pulls.values():
        pull.author = old


def judge(scene: Scene, number: int) -> GuardedPaths:
    return guard_pull(scene.context(), scene.github.pull(number))


@pytest.mark.attack(
    "login_registered_again_before_a_result", family="people", outcome="refused",
    tries="Registers a login that was given up and changes its agent before anything is recorded.",
)  # fmt: skip
@pytest.mark.parametrize("old", ["ghost", "alice-as-she-is-now"])
def test_a_login_registered_anew_before_the_first_result_does_not_inherit(scene: Scene, old: str) -> None:
    merged(scene)
    registered_anew(scene, old)
    sha = scene.bring(8, agent="b", source=b"x = 2\n")
    scene.ran(31, number=8, content=previewed(scene, scene.world.pulls[7].head_sha))
    report_previews.report_preview(scene.context("workflow_run", completed(31)))

    assert "belongs to another account" in scene.bodies(8)[0]
    assert scene.statuses(sha)[0][0] == "failure"


def test_the_same_account_costs_one_request(scene: Scene) -> None:
    merged(scene)
    sha = merged(scene, 8, "b")
    scene.bring(9, agent="c", source=b"x = 3\n")
    scene.standin.calls.clear()

    assert judge(scene, 9).is_clean
    assert [one for one in scene.standin.made() if "/commits/" in one] == [f"GET /commits/{sha}/pulls"]


@pytest.mark.attack(
    "pull_requests_that_each_ask_who_brought_a_folder", family="bot", outcome="asked once for all, and requests are left",
    tries="Opens many pull requests for a folder whose commits no merge brought, of which GitHub starts no run.",
)  # fmt: skip
def test_whose_a_folder_is_is_asked_once_for_many_pull_requests(scene: Scene) -> None:
    """Else each costs six requests in every hour, of a thousand for all jobs: then no official run can be started."""
    for number in range(3):
        scene.clone.commit(agent_files("alice", "early", b"x = %d\n" % number))
    scene.clone.push()
    for number in (7, 8, 9):
        scene.bring(number, agent=f"a{number}", source=b"x = 1%d\n" % number)

    reconcile_pulls(scene.context())
    asked = [one for one in scene.standin.made() if "/commits/" in one and one.endswith("/pulls")]
    assert len(asked) == len(set(asked)) == 3

    scene.world.left["core"] = report_previews.REPORTS_LEAVE_REQUESTS + 1
    scene.standin.calls.clear()
    reconcile_pulls(scene.context())
    assert len([one for one in scene.standin.made() if one.startswith("GET /pulls/")]) <= 1


def test_who_has_no_folder_and_who_has_a_result_costs_none(scene: Scene) -> None:
    scene.bring(7)
    assert judge(scene, 7).is_clean
    merged(scene, 8)
    result = make.result(scene.entry(scene.clone.head), (1.0,), on=POLE, login_id=11)
    scene.record(result)
    scene.bring(9, agent="c", source=b"x = 3\n")

    assert judge(scene, 9).is_clean
    assert [one for one in scene.standin.made() if "/commits/" in one] == []


def test_a_folder_that_no_pull_request_brought_is_not_held_against_its_owner(scene: Scene) -> None:
    scene.clone.commit(agent_files("alice", "early", b"x = 0\n"))
    scene.clone.push()
    scene.bring(7, source=b"x = 3\n")

    assert judge(scene, 7).is_clean


def test_another_spelling_on_main_is_the_same_login(scene: Scene) -> None:
    scene.push(agent_files("Alice", "a", b"x = 1\n"), 7, "Alice")
    sha = scene.merge(7)
    scene.world.commits[sha] = [7]
    registered_anew(scene, "ghost")
    scene.push(agent_files("Alice", "b", b"x = 2\n"), 8, "alice")

    assert any("belongs to another account" in fault for fault in judge(scene, 8).faults)
