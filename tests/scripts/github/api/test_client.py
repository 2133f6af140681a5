import time

import pytest

from scripts.console import CommandError
from scripts.github.api.client import REQUEST_TRIES, GitHub, GitHubError, GraphQLChange
from scripts.github.api.pull_snapshots import merged_pulls
from scripts.github.api.responses import BODY_CHARACTERS, CommitStatus, GitHubIssue, IssueComment, PullRequest, WorkflowRun
from tests.github import world
from tests.github.server import GitHubStandIn
from tests.github.world import BOT, NAME, OWNER, REPOSITORY_ID, SHA, Fault

COMMENTS = r"/issues/7/comments$"


@pytest.fixture(autouse=True)
def pull(standin: GitHubStandIn) -> world.PullRequest:
    standin.world.pulls[7] = world.PullRequest(7, "alice", SHA)
    standin.world.runs[31] = world.WorkflowRun(31, SHA, artifacts={"preview": b"PK" * 50, "other": b"x"})
    return standin.world.pulls[7]


def test_a_pull_request_is_read(github: GitHub, standin: GitHubStandIn, pull: world.PullRequest) -> None:
    standin.world.labelled[7] = ["preview-ok"]
    expected = PullRequest(
        number=7, author="alice", author_id=11, head_sha=SHA, head_repository_id=2000, base_repository_id=REPOSITORY_ID,
        base_ref="main", state="open", merged=False, labels=("preview-ok",), mergeable=True,
        head_branch="patch", head_repository="alice/board", created_at="2026-01-02T03:04:05Z",
    )  # fmt: skip

    assert github.pull(7) == expected
    assert standin.made() == ["GET /pulls/7"]


def test_a_deleted_fork_and_a_deleted_account_are_read(
    github: GitHub, standin: GitHubStandIn, pull: world.PullRequest
) -> None:
    pull.fork_id, pull.author = None, "gone"

    read = github.pull(7)

    assert (read.head_repository_id, read.author, read.author_id) == (None, "ghost", 0)


def test_open_pulls_are_asked_for_by_branch(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.pulls[8] = world.PullRequest(8, "eve", SHA)

    assert [p.number for p in github.open_pulls(head="eve:patch")] == [8]
    assert standin.calls[0].query == {"state": "open", "head": "eve:patch", "per_page": "100"}


def test_merged_pulls_leave_out_the_merely_closed(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.pulls[8] = world.PullRequest(8, "eve", SHA, state="closed")
    standin.world.pulls[9] = world.PullRequest(9, "eve", SHA, state="closed", merged=True, merge_commit_sha="b" * 40)

    read = merged_pulls(github, "main", 50)
    assert [(p.number, p.merged, p.merge_commit_sha) for p in read] == [(9, True, "b" * 40)]
    assert github.requests_left is None  # GraphQL has a limit of its own.


def test_of_merged_pulls_no_more_pages_are_read_than_are_wanted(github: GitHub, standin: GitHubStandIn) -> None:
    for number in range(10, 260):
        standin.world.pulls[number] = world.PullRequest(
            number, "eve", SHA, state="closed", merged=True, merge_commit_sha=f"{number:040x}", updated=number
        )

    assert [p.number for p in merged_pulls(github, "main", 1000)] == list(range(259, 9, -1))
    standin.calls.clear()
    assert [p.number for p in merged_pulls(github, "main", 150)] == list(range(259, 109, -1))
    assert len(standin.calls) == 2


def test_pulls_of_a_commit(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.commits["c" * 40] = [7]

    assert [p.number for p in github.pulls_of_commit("c" * 40)] == [7]


def test_runs_are_read(github: GitHub, standin: GitHubStandIn) -> None:
    expected = WorkflowRun(
        id=31, event="pull_request", path=".github/workflows/preview.yml", repository_id=REPOSITORY_ID,
        head_repository_id=2000, head_owner="alice", head_branch="patch", head_sha=SHA,
        html_url="https://github.com/host/board/actions/runs/31", conclusion="success", created_at="2026-01-02T03:04:05Z",
    )  # fmt: skip

    assert github.run(31) == expected
    assert github.runs_of(SHA) == [expected]
    assert list(github.runs_of_workflow("preview.yml", None, 5)) == [expected]
    assert github.attempts(31) == 1


def test_lists_are_read_to_their_last_page(github: GitHub, standin: GitHubStandIn) -> None:
    for index in range(250):
        standin.world.comment(7, "eve", f"{index}")

    assert [c.body for c in github.comments(7)] == [str(index) for index in range(250)]
    assert [call.query.get("page") for call in standin.calls] == [None, "2", "3"]


def test_comments_are_written_edited_and_deleted(github: GitHub, standin: GitHubStandIn) -> None:
    made = github.create_comment(7, "one")
    github.edit_comment(made.id, "two")

    node = f"IC_{made.id}"
    assert github.comments(7) == [
        IssueComment(id=made.id, author=BOT, author_type="Bot", body="two", created_at="2011-04-14T16:00:49Z", node_id=node)
    ]
    github.delete_comment(made.id)
    github.delete_comment(made.id)

    assert standin.world.said(7) == []


def test_a_body_that_github_would_refuse_is_not_sent(github: GitHub, standin: GitHubStandIn) -> None:
    for call in (github.create_comment, github.edit_comment, github.edit_issue):
        with pytest.raises(CommandError, match="65,537 characters; GitHub takes 65,536"):
            call(7, "x" * (BODY_CHARACTERS + 1))
    github.create_comment(7, "x" * BODY_CHARACTERS)

    assert standin.writes() == ["POST /issues/7/comments"]


def test_a_422_is_an_error_of_one_line(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.go_wrong("POST", COMMENTS, status=422, message="Validation Failed:\nbody is too long")

    with pytest.raises(GitHubError, match=r"^GitHub answered 422 .*: Validation Failed: body is too long$") as caught:
        github.create_comment(7, "text")

    assert caught.value.status == 422
    assert standin.made() == ["POST /issues/7/comments"]


def test_labels_statuses_reactions_and_permissions(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.permissions["eve"] = "write"
    comment = standin.world.comment(7, "eve", "/help")
    github.ensure_labels({"official": ("1f883d", "merged")})
    github.ensure_labels({"Official": ("1f883d", "merged")})
    standin.world.labelled[7] = ["official"]
    assert github.labels(7) == ["official"]
    github.remove_label(7, "official")
    github.remove_label(7, "official")
    github.set_status(SHA, "success", "d" * 200, "https://example.org")
    github.mutate([GraphQLChange(name="addReaction", input={"subjectId": f"IC_{comment.id}", "content": "ROCKET"})])

    assert github.labels(7) == []
    (status,) = github.statuses(SHA)
    assert status == CommitStatus(
        state="success", context="pullrank", description="d" * 140, creator=BOT, target_url="https://example.org"
    )
    assert comment.reactions == ["rocket"]
    assert [github.permission(login) for login in ("host", "eve", "alice", "nobody")] == ["admin", "write", "read", "none"]


def test_dispatches_and_reruns(github: GitHub, standin: GitHubStandIn) -> None:
    github.dispatch("preview.yml", "main", {"sha": SHA})
    github.rerun(31)

    assert standin.world.dispatched == [{"workflow": "preview.yml", "ref": "main", "inputs": {"sha": SHA}}]
    assert standin.world.reruns == [31]
    with pytest.raises(GitHubError, match="already running"):
        github.rerun(31)


def test_issues_are_opened_and_closed(github: GitHub, standin: GitHubStandIn) -> None:
    made = github.create_issue("title", "text", ["broken"])
    github.edit_issue(made.number, "more")

    assert github.issues_by_label("broken") == [
        GitHubIssue(number=made.number, author=BOT, title="title", body="more", html_url=made.html_url)
    ]
    github.close_issue(made.number)

    assert github.issues_by_label("broken") == []


def test_settings_are_read_and_changed(github: GitHub, standin: GitHubStandIn) -> None:
    assert github.setting("/pages") is None
    github.change_setting("POST", "/pages", {"build_type": "workflow"})
    github.change_setting("PUT", "/actions/permissions/workflow", {"default_workflow_permissions": "read"})
    github.change_setting("PATCH", "", {"allow_rebase_merge": False})

    assert github.setting("/pages")["build_type"] == "workflow"
    assert github.setting("/actions/permissions/workflow")["default_workflow_permissions"] == "read"
    assert github.setting("")["allow_rebase_merge"] is False
    assert github.settings("/rulesets") == []


# Artifacts


def test_an_artifact_is_downloaded_from_elsewhere_without_the_token(github: GitHub, standin: GitHubStandIn) -> None:
    assert github.artifact(31, "preview", 1000) == b"PK" * 50
    assert standin.made() == ["GET /actions/runs/31/artifacts", "GET /actions/artifacts/310/zip"]
    assert [token for path, token in standin.authorizations if path.startswith("/storage/")] == [None]


def test_an_artifact_that_is_missing_expired_or_too_large_is_none(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.runs[31].expired.add("other")

    assert github.artifact(31, "no", 1000) is None
    assert github.artifact(31, "other", 1000) is None
    assert github.artifact(31, "preview", 99) is None
    assert not any(path.startswith("/storage/") for path, _ in standin.authorizations)


def test_an_artifact_is_cut_at_the_cap_whatever_its_size_was_said_to_be(github: GitHub, standin: GitHubStandIn) -> None:
    swapped = lambda: standin.world.runs[31].artifacts.update(preview=b"x" * 5000)  # noqa: E731
    standin.world.when("GET", r"/artifacts/310/zip$", swapped)

    assert github.artifact(31, "preview", 1000) is None


# Patience


@pytest.mark.parametrize("status", [403, 429])
def test_retry_after_is_honoured(github: GitHub, standin: GitHubStandIn, slept: list[float], status: int) -> None:
    standin.world.go_wrong("GET", r"/pulls/7$", status=status, headers={"Retry-After": "17"}, message="slow down")

    assert github.pull(7).number == 7
    assert slept == [17]
    assert standin.made() == ["GET /pulls/7"] * 2


def test_a_secondary_limit_without_retry_after_waits_a_minute(
    github: GitHub, standin: GitHubStandIn, slept: list[float]
) -> None:
    words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    standin.world.go_wrong("POST", COMMENTS, status=403, message=words)

    github.create_comment(7, "text")

    assert slept == [60]
    assert standin.world.said(7) == ["text"]


def test_a_primary_limit_waits_for_its_reset(github: GitHub, standin: GitHubStandIn, slept: list[float]) -> None:
    headers = {"X-RateLimit-Reset": str(int(time.time()) + 40), "X-RateLimit-Remaining": "0"}
    standin.world.go_wrong(
        "GET", r"/pulls/7$", status=403, headers=headers, message="API rate limit exceeded for installation."
    )

    github.pull(7)

    assert len(slept) == 1
    assert 35 < slept[0] < 45


def test_a_403_that_is_no_limit_is_final(github: GitHub, standin: GitHubStandIn, slept: list[float]) -> None:
    standin.world.go_wrong("POST", COMMENTS, status=403, message="Resource not accessible by integration", times=9)

    with pytest.raises(GitHubError, match=r"403 .*not accessible"):
        github.create_comment(7, "text")

    assert slept == []
    assert len(standin.calls) == 1


@pytest.mark.parametrize("status", [500, 502, 503])
def test_failures_of_the_server_are_tried_again(
    github: GitHub, standin: GitHubStandIn, slept: list[float], status: int
) -> None:
    standin.world.go_wrong("GET", r"/pulls/7$", status=status, message="Server Error", times=3)

    assert github.pull(7).number == 7
    assert slept == [2, 4]


def test_patience_ends_after_eight_tries(github: GitHub, standin: GitHubStandIn, slept: list[float]) -> None:
    standin.world.go_wrong("GET", r"/pulls/7$", status=500, message="Server Error", times=99)

    with pytest.raises(GitHubError, match="500"):
        github.pull(7)

    assert len(standin.calls) == REQUEST_TRIES
    assert slept == [2, 4, 8, 16, 32, 60]


def test_a_wait_longer_than_the_job_is_not_waited(github: GitHub, standin: GitHubStandIn, slept: list[float]) -> None:
    standin.world.go_wrong("GET", r"/pulls/7$", status=403, headers={"Retry-After": "3600"}, message="slow down")

    with pytest.raises(CommandError, match="asks to wait 3600 s; the hourly run goes on"):
        github.pull(7)

    assert slept == []


@pytest.mark.parametrize("how", [{}, {"cut": True}])
def test_dropped_connections_are_tried_again(github: GitHub, standin: GitHubStandIn, how: dict[str, bool]) -> None:
    standin.world.go_wrong("GET", r"/pulls/7$", times=2, **how)

    assert github.pull(7).number == 7
    assert len(standin.calls) == 3


def test_connections_that_always_drop_are_an_error_of_one_line(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.go_wrong("GET", r"/pulls/7$", times=99)

    with pytest.raises(GitHubError, match="did not answer GET /repos/host/board/pulls/7"):
        github.pull(7)

    assert len(standin.calls) == REQUEST_TRIES


def test_a_wrong_token_is_an_error_of_one_line(standin: GitHubStandIn) -> None:
    with pytest.raises(GitHubError, match=r"401 .*: Bad credentials"):
        GitHub("stolen", standin.address, "host/board", pace=0).pull(7)


def test_membership_is_what_can_be_seen(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.members["lab"] = {"alice"}
    standin.world.teams["lab/rl"] = {"alice": "active", "eve": "pending"}

    assert [github.is_member(login, "lab") for login in ("Alice", "eve")] == [True, False]
    assert [github.is_member(login, "lab/rl") for login in ("alice", "eve", "bob")] == [True, False, False]


def test_a_team_that_the_token_may_not_see_has_no_members(github: GitHub, standin: GitHubStandIn) -> None:
    standin.world.faults.append(Fault("GET", "/orgs/lab/teams/rl/memberships/alice", 403, message="Forbidden"))

    assert not github.is_member("alice", "lab/rl")


def test_a_graphql_address_on_another_server_is_refused_in_one_line() -> None:
    github = GitHub("token", "https://api.github.com", "example/board", graphql_url="https://elsewhere.example/graphql")

    with pytest.raises(CommandError, match="on another server than GITHUB_API_URL"):
        github.query("query { viewer { login } }", {})


def test_a_pull_request_is_opened_merged_and_closed_as_github_describes_it(github: GitHub, standin: GitHubStandIn) -> None:
    class Branches:
        def propose(self, number: int, owner: str, branch: str) -> str | None:
            return "b" * 40 if branch == "mine" else None

        def merge(self, number: int, method: str) -> str:
            return {"merge": "c", "squash": "d"}[method] * 40

    standin.world.git = Branches()
    opened = github.open_pull("mine", "main", "Title", "Body")
    again = github.open_pull("alice:mine", "main", "Title", "Body")

    assert (opened.head_sha, opened.head_branch, opened.state, opened.merged) == ("b" * 40, "mine", "open", False)
    assert [pull.number for pull in github.newest_pulls(1)] == [again.number]
    with pytest.raises(GitHubError, match="already exists"):
        github.open_pull("mine", "main", "Title", "Body")
    with pytest.raises(GitHubError, match="Head branch was modified") as moved:
        github.merge_pull(opened.number, "e" * 40, "squash")
    assert moved.value.status == 409
    assert github.merge_pull(opened.number, "b" * 40, "squash") == "d" * 40
    assert github.pull(opened.number).merged
    github.close_pull(again.number)
    assert (github.pull(again.number).state, github.pull(again.number).merged) == ("closed", False)


def test_whose_token_it_is(standin: GitHubStandIn) -> None:
    standin.world.tokens["person"] = OWNER
    account = GitHub("person", standin.address, f"{OWNER}/{NAME}", pace=0).account()

    assert (account.login, account.id) == (OWNER, 1)
