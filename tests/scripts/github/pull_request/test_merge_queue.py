"""A commit of a merge queue says what the bot said of every pull request that it would merge."""

from typing import Any

import pytest

from scripts.console import CommandError
from scripts.github.pull_request import merge_queue
from scripts.github.pull_request.reconcile import reconcile_pulls
from tests.github.world import BOT
from tests.scripts.github.pull_request.test_shared_commits import propose, tell
from tests.scripts.github.remotes import agent_files, git
from tests.scripts.github.scenes import Scene, previewed

PREFIX = "refs/heads/gh-readonly-queue/main"


def enter(scene: Scene, number: int, after: str = "", **changes: Any) -> dict[str, Any]:
    """The event of a pull request that enters the queue behind a commit, main's tip where none is named."""
    path, head = scene.clone.path, scene.world.pulls[number].head_sha
    base = after or scene.clone.head
    git(path, "fetch", "-q", "origin", head)
    sha = git(path, "commit-tree", f"{head}^{{tree}}", "-p", base, "-p", head, "-m", f"Merge pull request #{number}")
    ref = f"{PREFIX}/pr-{number}-{base}"
    git(path, "push", "-q", "origin", f"{sha}:{ref}")
    group = {"head_sha": sha, "head_ref": ref, "base_sha": base, "base_ref": "refs/heads/main", **changes}
    return {"action": "checks_requested", "merge_group": group}


def say(scene: Scene, number: int, state: str, by: str = BOT) -> None:
    """Somebody said something of a pull request's newest commit."""
    sha = scene.world.pulls[number].head_sha
    status = {"state": state, "context": "pullrank", "description": state, "target_url": "", "creator": by}
    scene.world.statuses.append({**status, "at": scene.world.now(), "sha": sha})


def told(scene: Scene, event: dict[str, Any]) -> tuple[str, str]:
    """What the queue's commit is told."""
    assert merge_queue.set_queue_status(scene.context("merge_group", event)) == 0
    (status,) = scene.statuses(event["merge_group"]["head_sha"])
    return status


def test_what_passed_by_itself_passes_in_the_queue(scene: Scene) -> None:
    scene.bring()
    say(scene, 7, "success")
    event = enter(scene, 7)

    assert told(scene, event) == ("success", "#7 has passed")
    assert [line for line in scene.standin.made() if "POST" in line] == [
        f"POST /statuses/{event['merge_group']['head_sha']}"
    ]


@pytest.mark.parametrize("state", ["failure", "pending", "error"])
def test_what_has_not_passed_does_not(scene: Scene, state: str) -> None:
    scene.bring()
    say(scene, 7, "success")
    say(scene, 7, state)

    assert told(scene, enter(scene, 7)) == ("failure", f"#7 has not passed: {state}")


def test_what_nothing_was_said_of_does_not(scene: Scene) -> None:
    scene.bring()

    assert told(scene, enter(scene, 7)) == ("failure", "#7 has not passed: nothing was said of its newest commit")


@pytest.mark.attack(
    "queue_status_of_another_account", family="bot", outcome="it does not pass",
    tries="Writes the status that a merge queue waits for with another account.",
)  # fmt: skip
def test_another_accounts_word_is_nothing(scene: Scene) -> None:
    scene.bring()
    say(scene, 7, "success", by="eve")

    assert told(scene, enter(scene, 7))[0] == "failure"


def test_a_newer_commit_has_to_pass_by_itself(scene: Scene) -> None:
    scene.bring()
    say(scene, 7, "success")
    event = enter(scene, 7)
    scene.bring(source=b"x = 2\n")

    assert told(scene, event)[0] == "failure"


@pytest.mark.attack(
    "change_that_follows_a_move_in_a_queue", family="bot", outcome="it does not pass",
    tries="Queues a withdrawal and an older change of one agent, so that the change is made in a file that is like it.",
)  # fmt: skip
@pytest.mark.parametrize("is_queued", [False, True])
def test_what_was_found_good_is_judged_again_with_what_is_ahead_of_it(scene: Scene, is_queued: bool) -> None:
    """Git's merge would make its change in the file that is like the one that main has lost."""
    scene.clone.commit(agent_files("alice"))
    scene.clone.push()
    scene.push(dict.fromkeys(agent_files("alice")))
    scene.bring(8)
    say(scene, 7, "success")
    say(scene, 8, "success")
    assert told(scene, enter(scene, 8))[0] == "success"

    ahead = enter(scene, 7)["merge_group"]["head_sha"] if is_queued else scene.merge(7)
    state, words = told(scene, enter(scene, 8, after=ahead))
    assert (state, words[:41]) == ("failure", "#8 has not passed: submissions/alice/a: m")


def test_those_ahead_in_the_queue_are_merged_too(scene: Scene) -> None:
    """GitHub can be set to look at the last commit of a group alone."""
    scene.bring()
    scene.bring(8, "bob", "b", b"y = 1\n")
    say(scene, 8, "success")
    first = enter(scene, 7)
    second = enter(scene, 8, after=first["merge_group"]["head_sha"])

    assert told(scene, second) == ("failure", "#7 has not passed: nothing was said of its newest commit")
    say(scene, 7, "success")
    merge_queue.set_queue_status(scene.context("merge_group", second))
    assert scene.statuses(second["merge_group"]["head_sha"])[-1] == ("success", "#7, #8 have passed")


def test_what_is_merged_already_is_not_asked_about(scene: Scene) -> None:
    scene.bring()
    scene.bring(8, "bob", "b", b"y = 1\n")
    say(scene, 8, "success")
    first = enter(scene, 7)
    second = enter(scene, 8, after=first["merge_group"]["head_sha"])
    git(scene.clone.path, "push", "-q", "origin", f"{first['merge_group']['head_sha']}:refs/heads/main")

    assert told(scene, second) == ("success", "#8 has passed")


def test_a_pull_request_of_another_branch_does_not_pass(scene: Scene) -> None:
    scene.bring()
    say(scene, 7, "success")
    scene.world.pulls[7].base_ref = "old"

    assert told(scene, enter(scene, 7)) == ("failure", "#7 has not passed: it is not an open pull request into main")


def test_a_queue_that_has_moved_on_is_told_nothing(scene: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    scene.bring()
    say(scene, 7, "success")
    event = enter(scene, 7)
    git(scene.clone.path, "push", "-q", "origin", f":{event['merge_group']['head_ref']}")

    assert merge_queue.set_queue_status(scene.context("merge_group", event)) == 0
    assert scene.statuses(event["merge_group"]["head_sha"]) == []
    assert "has moved on" in capsys.readouterr().err


@pytest.mark.attack(
    "queue_event_of_another_branch", family="bot", outcome="refused",
    tries="Sends the event of a merge queue of another branch or commit.",
)  # fmt: skip
@pytest.mark.parametrize(
    "changes",
    [
        {"head_ref": "refs/heads/main"},
        {"head_ref": f"{PREFIX}/pr-7"},
        {"head_ref": f"{PREFIX}/pr-07-{'a' * 40}"},
        {"head_ref": f"refs/heads/gh-readonly-queue/old/pr-7-{'a' * 40}"},
        {"head_ref": None},
        {"head_sha": "main"},
        {"base_ref": "refs/heads/old"},
    ],
)
def test_an_event_that_github_would_not_send_is_refused(scene: Scene, changes: dict[str, Any]) -> None:
    scene.bring()
    say(scene, 7, "success")

    with pytest.raises(CommandError):
        merge_queue.set_queue_status(scene.context("merge_group", enter(scene, 7, **changes)))
    assert scene.world.statuses[1:] == []


@pytest.mark.attack(
    "twin_of_a_queues_commit", family="bot", outcome="the queue's status stays; the twin is refused on its own page",
    tries="Opens a pull request with a merge queue's own commit, so that its refusal throws another out of the queue.",
)  # fmt: skip
@pytest.mark.parametrize("is_announced", [True, False], ids=["told as it begins", "told at its end"])
def test_whoever_proposes_a_queues_commit_does_not_speak_for_it(scene: Scene, is_announced: bool) -> None:
    scene.bring()
    say(scene, 7, "success")
    event = enter(scene, 7)
    passed, queued = told(scene, event), event["merge_group"]["head_sha"]
    propose(scene, queued)

    if is_announced:
        scene.ran(32, 8, status="in_progress", conclusion=None)
        tell(scene, 32, "in_progress")
        assert scene.statuses(queued)[-1] == passed
        scene.ran(32, 8, conclusion="cancelled")
        tell(scene, 32)
    else:
        scene.ran(32, 8, content=previewed(scene, queued))
        reconcile_pulls(scene.context())

    assert scene.statuses(queued)[-1] == passed
    assert scene.world.labelled[8] == ["needs-review"]
    assert len(scene.bodies(8)) == 1
