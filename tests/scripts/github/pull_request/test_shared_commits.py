"""Pull requests at somebody else's commit, and such of which GitHub plays nothing: what the commit is told."""

import pytest

from scripts.console import CommandError
from scripts.github.pull_request import report_previews
from scripts.github.pull_request.reconcile import reconcile_pulls
from tests.github import queries
from tests.github.world import PullRequest
from tests.scripts.github.remotes import AGENT, agent_files
from tests.scripts.github.scenes import Scene, completed, previewed

SCORED = ("success", "preview: 1 of 1 evaluations scored; unofficial until merged")
OUTSIDE = ("failure", "no score: it changes files outside the author's folder, so a maintainer has to look")


def tell(scene: Scene, run_id: int, action: str = "completed") -> None:
    """A preview run has moved."""
    event = completed(run_id)
    event["action"] = action
    event["workflow_run"]["head_sha"] = scene.world.runs[run_id].head_sha
    assert report_previews.report_recent(scene.context("workflow_run", event)) == 0


def propose(scene: Scene, sha: str, number: int = 8, author: str = "mallory") -> None:
    """Somebody pushes a commit that is there already to a branch, and opens a pull request with it."""
    scene.world.person(author, 666)
    scene.world.pulls[number] = PullRequest(number, author, sha, branch=f"branch-{number}", fork_id=2000 + number)


@pytest.mark.attack(
    "twin_of_an_open_pull_request", family="bot", outcome="the owner's outcome is the commit's",
    tries="Opens a pull request at the commit of somebody's open one, so that its refusal is the status of both.",
)  # fmt: skip
def test_the_owner_is_told_though_another_was_refused_at_the_same_commit(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, status="in_progress", conclusion=None)
    propose(scene, sha)
    scene.ran(32, 8, content=previewed(scene, sha))
    tell(scene, 32)
    assert scene.statuses(sha)[-1] == OUTSIDE
    assert scene.world.labelled == {8: ["needs-review"]}

    scene.ran(31, content=previewed(scene, sha))
    tell(scene, 31)

    assert scene.statuses(sha)[-1] == SCORED
    assert scene.world.labelled[7] == ["preview-ok"]
    assert len(scene.bodies(7)) == 1


def test_whoever_proposes_the_commit_first_does_not_speak_for_its_owner(scene: Scene) -> None:
    sha = scene.bring()
    mine = scene.world.pulls.pop(7)
    propose(scene, sha, 5)
    scene.ran(31, 5, content=previewed(scene, sha))
    tell(scene, 31)
    scene.world.pulls[7] = mine
    scene.ran(32, 7, content=previewed(scene, sha))

    tell(scene, 32)

    assert scene.statuses(sha)[-1] == SCORED
    assert scene.world.labelled[7] == ["preview-ok"]


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("in_progress", {"status": "in_progress", "conclusion": None}),
        ("completed", {"conclusion": "action_required"}),
        ("completed", {"conclusion": "cancelled"}),
        ("completed", {}),
    ],
)
@pytest.mark.attack(
    "twin_of_a_good_pull_request", family="bot", outcome="refused on its own page",
    tries="Opens a pull request at the commit of one that was found good, whose status then speaks for both.",
)  # fmt: skip
def test_a_twin_that_comes_later_is_refused_and_changes_nothing(
    scene: Scene, action: str, fields: dict[str, str | None]
) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha))
    tell(scene, 31)
    propose(scene, sha)
    scene.ran(32, 8, **fields)

    for _ in range(2):
        tell(scene, 32, action)
        reconcile_pulls(scene.context())

    assert scene.statuses(sha) == [SCORED]
    assert scene.world.labelled == {7: ["preview-ok"], 8: ["needs-review"]}
    assert len(scene.bodies(8)) == 1
    assert "submissions/alice" in scene.bodies(8)[0]


def test_ones_own_second_pull_request_at_a_good_commit_is_good(scene: Scene) -> None:
    sha = scene.bring()
    scene.ran(31, content=previewed(scene, sha))
    tell(scene, 31)
    scene.world.pulls[8] = PullRequest(8, "alice", sha, branch="again")
    scene.ran(32, 8, content=previewed(scene, sha))

    tell(scene, 32)

    assert scene.statuses(sha) == [SCORED]
    assert scene.world.labelled == {7: ["preview-ok"]}


def test_of_two_that_are_told_together_the_owner_has_the_last_word(scene: Scene) -> None:
    """The owner withdraws an agent, which needs no scores: both outcomes are known at once."""
    scene.world.person("bob", 12)
    sha = scene.push(dict.fromkeys(("submissions/bob/a/agent.py", "submissions/bob/a/submission.yml")), 7, "bob")
    scene.ran(31, 7)
    propose(scene, sha)
    scene.ran(32, 8)

    tell(scene, 32)

    assert [state for state, _ in scene.statuses(sha)] == ["failure", "success"]


def test_who_stays_alone_at_a_commit_is_refused(scene: Scene) -> None:
    """The owner's pull request is closed, or has moved on, before its preview ended."""
    sha = scene.bring()
    scene.ran(31, status="in_progress", conclusion=None)
    tell(scene, 31, "in_progress")
    propose(scene, sha)
    scene.ran(32, 8)
    scene.world.pulls[7].state = "closed"

    tell(scene, 32)

    assert scene.statuses(sha)[-1] == OUTSIDE


@pytest.mark.attack(
    "change_of_which_no_run_was_started", family="bot", outcome="refused",
    tries="Changes another's agent in a commit whose message keeps GitHub from starting a preview.",
)  # fmt: skip
@pytest.mark.parametrize(
    "more", [{}, {f"docs/{number}.md": b"x\n" for number in range(60)}, {"submissions/mallory/a/x": b""}]
)
def test_a_change_of_anothers_agent_is_refused_without_a_run(scene: Scene, more: dict[str, bytes]) -> None:
    scene.world.person("mallory", 666)
    sha = scene.push({"submissions/bob/a/agent.py": b"mine\n", **more}, 8, "mallory")

    reconcile_pulls(scene.context())

    assert scene.statuses(sha) == [OUTSIDE]
    assert scene.world.labelled == {8: ["needs-review"]}


def test_what_was_found_good_is_judged_again_once_main_has_lost_its_file(scene: Scene) -> None:
    """Git's merge would make the change in another file, whoever's, if one like it has come meanwhile."""
    scene.clone.commit(agent_files("alice"))
    scene.clone.push()
    sha = scene.bring(source=AGENT + b"# better\n")
    scene.ran(31, content=previewed(scene, sha))
    tell(scene, 31)
    scene.clone.commit(agent_files("carol", source=AGENT + b"# carol's\n"))
    tell(scene, 31)
    assert scene.statuses(sha)[-1] == SCORED

    scene.clone.commit(dict.fromkeys(agent_files("alice")))
    tell(scene, 31)

    assert scene.statuses(sha)[-1] == ("failure", "no score: the folder breaks a rule; the comment says which")
    assert "main has it no longer" in scene.bodies()[0]
    assert scene.world.labelled == {7: ["needs-changes"]}
    reconcile_pulls(scene.context())
    assert len(scene.statuses(sha)) == 2


@pytest.mark.attack(
    "names_that_meet_after_both_were_good", family="bot", outcome="refused once one is merged",
    tries="Has two pull requests found good whose files have names that differ by case only, and then has both merged.",
)  # fmt: skip
@pytest.mark.parametrize("is_hourly", [False, True])
def test_what_was_found_good_is_judged_again_once_main_has_another_file_of_its_author(scene: Scene, is_hourly: bool) -> None:
    scene.clone.commit(agent_files("alice"))
    scene.clone.push()
    began = scene.clone.head
    for number, name in ((7, "W.bin"), (8, "w.bin")):
        scene.clone.switch(began)
        sha = scene.push({f"submissions/alice/a/{name}": b"1"}, number)
        scene.ran(30 + number, number, content=previewed(scene, sha))
        tell(scene, 30 + number)
        assert scene.statuses(sha) == [SCORED]

    scene.clone.switch(began)
    scene.merge(7)
    if is_hourly:
        reconcile_pulls(scene.context())
    else:
        tell(scene, 38)

    assert scene.statuses(sha)[-1] == ("failure", "no score: the folder breaks a rule; the comment says which")
    assert "only by case" in scene.bodies(8)[0]


@pytest.mark.attack(
    "loss_dated_long_ago", family="supply", outcome="refused",
    tries="Dates the commit by which main loses its files long ago, for a maintainer who fast-forwards main to it.",
)  # fmt: skip
@pytest.mark.parametrize("at", ["2001-01-01T00:00:00Z", "2099-01-01T00:00:00Z"])
def test_a_loss_is_found_whatever_its_commit_says_of_time(scene: Scene, at: str) -> None:
    scene.clone.commit(agent_files("alice"))
    scene.clone.push()
    sha = scene.bring(source=AGENT + b"# better\n")
    scene.ran(31, content=previewed(scene, sha))
    tell(scene, 31)

    scene.clone.commit(dict.fromkeys(agent_files("alice")), at=at)
    scene.clone.commit(agent_files("carol", source=AGENT + b"# carol's\n"), at=at)
    tell(scene, 31)

    assert scene.statuses(sha)[-1][0] == "failure"


@pytest.mark.attack(
    "good_pull_requests_that_are_judged_for_ever", family="bot", outcome="judged once after each merge of their author's",
    tries="Has large pull requests found good and one of them merged: each report fetches and judges all others again.",
)  # fmt: skip
@pytest.mark.parametrize("is_hourly", [False, True])
def test_what_stays_good_is_judged_again_once(scene: Scene, is_hourly: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each report lasts as long as all these heads take, and everybody else's preview waits for its end."""
    began = scene.clone.head
    for number in (7, 8, 9):
        scene.clone.switch(began)
        sha = scene.bring(number, "alice", source=b"x = %d\n" % number)
        scene.ran(30 + number, number, content=previewed(scene, sha))
        tell(scene, 30 + number)
    scene.clone.switch(began)
    scene.merge(7)
    judged = []
    original = report_previews.guard_pull
    monkeypatch.setattr(
        report_previews, "guard_pull", lambda context, pull: judged.append(pull.number) or original(context, pull)
    )

    def look() -> None:
        if is_hourly:
            reconcile_pulls(scene.context())
        else:
            tell(scene, 39)

    look()
    assert sorted(judged) == [8, 9]
    assert scene.statuses(sha)[-1] == SCORED
    look()
    assert sorted(judged) == [8, 9]
    scene.clone.commit({"submissions/alice/b/agent.py": b"x = 7\n"})
    look()
    assert sorted(judged) == [8, 8, 9, 9]


@pytest.mark.attack(
    "twins_without_agents_that_are_judged_for_ever", family="bot", outcome="judged once: it is the same for all",
    tries="Opens hundreds of pull requests at one commit without agents by two accounts, whose status passes from one "
    "account's to the other's: each report judges all of them again.",
)  # fmt: skip
@pytest.mark.parametrize("is_hourly", [False, True])
def test_what_touches_no_agent_is_not_judged_for_each_who_proposes_it(scene: Scene, is_hourly: bool) -> None:
    """Else the hour's requests are used up, and nobody else is told; and a commit takes a thousand statuses."""
    sha = scene.push({"README.md": b"x\n"}, 7, "mallory")
    reconcile_pulls(scene.context())
    for number in range(20, 30):
        scene.world.pulls[number] = PullRequest(number, "mallory", sha, branch=f"branch-{number}", fork_id=2007)
    propose(scene, sha, author="eve")
    scene.bring(9)
    scene.ran(31, 9, content=previewed(scene, scene.world.pulls[9].head_sha))
    tell(scene, 31)
    scene.standin.calls.clear()

    for _ in range(2):
        if is_hourly:
            reconcile_pulls(scene.context())
        else:
            tell(scene, 31)

    assert scene.standin.writes() == []
    assert not [call for call in scene.standin.calls if f"/commits/{sha}" in str(call)]
    assert len(scene.statuses(sha)) == 1


def test_the_hourly_run_judges_it_again_too(scene: Scene) -> None:
    scene.clone.commit(agent_files("alice"))
    scene.clone.push()
    sha = scene.bring(source=AGENT + b"# better\n")
    scene.ran(31, content=previewed(scene, sha))
    tell(scene, 31)

    scene.clone.commit(dict.fromkeys(agent_files("alice")))
    reconcile_pulls(scene.context())

    assert scene.statuses(sha)[-1][0] == "failure"


@pytest.mark.attack(
    "pull_request_that_vanishes", family="bot", outcome="everybody else is told",
    tries="Proposes the commit of a pull request in conflict, by an account whose pull requests GitHub then hides as spam.",
)  # fmt: skip
def test_a_pull_request_that_github_hides_keeps_nobody_from_being_told(scene: Scene) -> None:
    sha = scene.bring()
    propose(scene, sha)
    scene.ran(32, 8, content=previewed(scene, sha))
    mine = scene.world.pulls.pop(7)
    tell(scene, 32)
    assert scene.statuses(sha) == [OUTSIDE]

    del scene.world.pulls[8], scene.world.runs[32]
    mine.mergeable = False
    scene.world.pulls[7] = mine
    honest = scene.bring(9, "carol", source=AGENT + b"# carol's\n")
    scene.world.person("carol", 99)
    scene.ran(33, 9)
    tell(scene, 33)

    assert scene.statuses(honest)
    assert scene.statuses(sha)[-1][0] == "error"


@pytest.mark.attack(
    "fork_that_nobody_may_see", family="bot", outcome="everybody else is told",
    tries="Opens a pull request from a fork in an organisation that refuses to be seen by the bot's token.",
)  # fmt: skip
@pytest.mark.parametrize("is_hourly", [False, True])
@pytest.mark.parametrize("kind", ["FORBIDDEN", "NOT_FOUND"])
def test_a_fork_that_our_token_may_not_see_keeps_nobody_from_being_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, is_hourly: bool, kind: str
) -> None:
    """GitHub answers everything but the fork, and adds an error."""
    monkeypatch.setitem(queries.KINDS, queries.ForbiddenError, kind)
    honest = scene.bring()
    scene.ran(31, content=previewed(scene, honest))
    scene.world.person("mallory", 666)
    hidden = scene.bring(8, "mallory", source=AGENT + b"# mallory's\n")
    scene.world.pulls[8].forbidden = True

    if is_hourly:
        reconcile_pulls(scene.context())
    else:
        tell(scene, 31)

    assert scene.statuses(honest) == [SCORED]
    assert [state for state, _ in scene.statuses(hidden)] == (["error"] if is_hourly else [])


@pytest.mark.attack(
    "commit_that_takes_no_more_statuses", family="bot", outcome="everybody else is told",
    tries="Opens and closes a pull request until its commit has a thousand statuses, the most that GitHub takes.",
)  # fmt: skip
def test_a_commit_that_takes_no_more_statuses_keeps_nobody_from_being_told(scene: Scene) -> None:
    full = scene.bring()
    scene.ran(31, status="in_progress", conclusion=None)
    tell(scene, 31, "in_progress")
    scene.world.statuses += 999 * scene.world.statuses
    scene.ran(31, content=previewed(scene, full))
    honest = scene.bring(9, source=AGENT + b"# another\n")
    scene.ran(33, 9, content=previewed(scene, honest))
    event = completed(33)

    with pytest.raises(CommandError, match="#7: GitHub refused a change"):
        report_previews.report_recent(scene.context("workflow_run", event))

    assert scene.statuses(honest)[-1] == SCORED
    assert len(scene.statuses(full)) == 1000
    assert len(scene.bodies(7)) == len(scene.bodies(9)) == 1


@pytest.mark.attack(
    "commit_that_is_not_listed_last", family="bot", outcome="told once",
    tries="Has GitHub list another commit of a pull request last than its newest, so that every report tells it anew.",
)  # fmt: skip
def test_a_newest_commit_that_is_not_listed_last_is_told_once(scene: Scene) -> None:
    sha = scene.bring()
    scene.world.pulls[7].listed_last = scene.clone.head
    scene.ran(31, content=previewed(scene, sha))
    for _ in range(3):
        tell(scene, 31)
    assert reconcile_pulls(scene.context()) == 0

    assert scene.statuses(sha) == [SCORED]
    assert len(scene.bodies(7)) == 1


@pytest.mark.attack(
    "many_commits_that_are_not_listed_last", family="bot", outcome="asked together, in one request",
    tries="Opens many pull requests whose newest commits GitHub lists not last, so that every report asks about each alone.",
)  # fmt: skip
def test_newest_commits_that_are_not_listed_last_are_asked_about_together(scene: Scene) -> None:
    heads = [scene.bring(number, source=AGENT + b"# %d\n" % number) for number in range(7, 13)]
    for number in range(7, 13):
        scene.world.pulls[number].listed_last = scene.clone.head
        scene.ran(24 + number, number, content=previewed(scene, heads[number - 7]))
    tell(scene, 31)
    assert [scene.statuses(sha) for sha in heads] == [[SCORED]] * len(heads)
    before = len(scene.standin.made())

    tell(scene, 31)

    asked = [request for request in scene.standin.made()[before:] if "/statuses" in str(request)]
    assert asked == []
    assert [scene.statuses(sha) for sha in heads] == [[SCORED]] * len(heads)


def test_a_conflict_that_cannot_be_told_keeps_no_preview_from_being_told(scene: Scene) -> None:
    conflict = scene.bring()
    scene.world.pulls[7].mergeable = False
    honest = scene.bring(9, source=AGENT + b"# another\n")
    scene.ran(33, 9, content=previewed(scene, honest))
    scene.world.go_wrong("POST", "addComment", status=403, message="Resource not accessible by integration")

    with pytest.raises(CommandError, match="1 pull requests could not be told"):
        report_previews.report_recent(scene.context("workflow_run", completed(33)))

    assert scene.statuses(conflict) == []
    assert scene.statuses(honest) == [SCORED]
