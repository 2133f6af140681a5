"""What the stand-in answers: one small function for each operation."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.github import shapes
from tests.github.contract import example
from tests.github.world import NAME, OWNER, REPOSITORY_ID, Opened, PullRequest, WorkflowRun, World


class ApiRequest(NamedTuple):
    """A request."""

    world: World
    arguments: tuple[str, ...]
    query: dict[str, str]
    body: Any
    login: str


class Answer(NamedTuple):
    """What is answered."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = MappingProxyType({})


Handler = Callable[[ApiRequest], Answer]
ROUTES: list[tuple[str, re.Pattern[str], Handler]] = []
MISSING = Answer(404, {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"})


def on(verb: str, path: str) -> Callable[[Handler], Handler]:
    """Answer this operation with the function below."""

    def keep(handler: Handler) -> Handler:
        whole = path if path.startswith(("/orgs/", "/user", "/repos/")) else rf"/repos/{OWNER}/{NAME}{path}"
        ROUTES.append((verb, re.compile(whole), handler))
        return handler

    return keep


def answer(world: World, verb: str, path: str, query: dict[str, str], body: Any, login: str) -> Answer:
    """Find the operation and answer it."""
    for known, pattern, handler in ROUTES:
        if known == verb and (match := pattern.fullmatch(path)):
            return handler(ApiRequest(world, tuple(map(unquote, match.groups())), query, body, login))
    return MISSING


def refusal(status: int, message: str) -> Answer:
    """GitHub's form of an error."""
    return Answer(status, {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)})


@on("GET", r"/pulls")
def pulls(request: ApiRequest) -> Answer:
    query = request.query
    pulls_ = [p for p in request.world.pulls.values() if query.get("state", "open") in (p.state, "all")]
    if "head" in query:
        pulls_ = [p for p in pulls_ if f"{p.fork_owner or p.author}:{p.branch}" == query["head"]]
    if "base" in query:
        pulls_ = [p for p in pulls_ if p.base_ref == query["base"]]
    by_change = query.get("sort") == "updated"
    pulls_.sort(key=lambda p: (p.updated if by_change else 0, p.number), reverse=query.get("direction", "desc") == "desc")
    return Answer(200, shapes.Shaped(pulls_, lambda one: shapes.pull(request.world, one, alone=False)))


@on("POST", r"/pulls")
def open_pull(request: ApiRequest) -> Answer:
    world, body = request.world, request.body
    owner, _, branch = body["head"].rpartition(":")
    owner = owner or OWNER
    if any((p.fork_owner, p.branch, p.state) == (owner, branch, "open") for p in world.pulls.values()):
        return refusal(422, f"Validation Failed: A pull request already exists for {owner}:{branch}.")
    number = world.fresh()
    sha = world.git.propose(number, owner, branch) if world.git else None
    if sha is None:
        return refusal(422, "Validation Failed: head is invalid")
    fork = next((about["id"] for name, about in world.others.items() if name.partition("/")[0] == owner), REPOSITORY_ID)
    opened = PullRequest(number, request.login, sha, branch, fork, owner, body["base"], title=body["title"])
    world.pulls[number] = opened
    return Answer(201, shapes.pull(world, opened, alone=True))


@on("PATCH", r"/pulls/(\d+)")
def edit_pull(request: ApiRequest) -> Answer:
    pull_request = request.world.pulls[int(request.arguments[0])]
    pull_request.state = request.body.get("state", pull_request.state)
    return Answer(200, shapes.pull(request.world, pull_request, alone=True))


@on("PUT", r"/pulls/(\d+)/merge")
def merge_pull(request: ApiRequest) -> Answer:
    pull_request = request.world.pulls[int(request.arguments[0])]
    if pull_request.state != "open" or not pull_request.mergeable:
        return refusal(405, "Pull Request is not mergeable")
    if request.body.get("sha", pull_request.head_sha) != pull_request.head_sha:
        return refusal(409, "Head branch was modified. Review and try the merge again.")
    assert request.world.git is not None
    sha = request.world.git.merge(pull_request.number, request.body.get("merge_method", "merge"))
    pull_request.state, pull_request.merged, pull_request.merge_commit_sha = "closed", True, sha
    request.world.commits[sha] = [pull_request.number]
    return Answer(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


@on("GET", r"/user")
def account(request: ApiRequest) -> Answer:
    person = request.world.people[request.login]
    if person.type == "Bot":
        return refusal(403, "Resource not accessible by integration")
    document = example("private-user-response-with-public-and-private-profile-information")
    return Answer(200, document | {"login": person.login, "id": person.id, "type": person.type, "user_view_type": "private"})


@on("GET", r"/repos/([^/]+/[^/]+)")
def other_repository(request: ApiRequest) -> Answer:
    about = request.world.others.get(request.arguments[0])
    if about is None:
        return MISSING
    missing = {"has_discussions": False, "archived": False, "disabled": False}
    return Answer(200, missing | example("full-repository") | {"full_name": request.arguments[0]} | about)


@on("GET", r"/pulls/(\d+)")
def pull(request: ApiRequest) -> Answer:
    pull_request = request.world.pulls.get(int(request.arguments[0]))
    return Answer(200, shapes.pull(request.world, pull_request, alone=True)) if pull_request else MISSING


@on("GET", r"/commits/([^/]+)/pulls")
def pulls_of_commit(request: ApiRequest) -> Answer:
    numbers = request.world.commits.get(request.arguments[0], [])
    return Answer(200, [shapes.pull(request.world, request.world.pulls[n], alone=False) for n in numbers])


@on("GET", r"/commits/([^/]+)/statuses")
def statuses(request: ApiRequest) -> Answer:
    statuses_ = [status for status in request.world.statuses if status["sha"] == request.arguments[0]]
    shown = [{key: value for key, value in status.items() if key != "sha"} for status in reversed(statuses_)]
    return Answer(200, [shapes.status(request.world, status) for status in shown])


@on("POST", r"/statuses/([0-9a-f]{40})")
def say_status(request: ApiRequest) -> Answer:
    body = request.body
    if len(body.get("description", "")) > 140:
        return refusal(422, "Validation Failed: description is too long (maximum is 140 characters)")
    kept = {key: body.get(key, "") for key in ("state", "context", "description", "target_url")}
    given = [one for one in request.world.statuses if one["sha"] == request.arguments[0]]
    if sum(one["context"] == kept["context"] for one in given) >= 1000:
        return refusal(422, "Validation Failed: This SHA and context has reached the maximum number of statuses.")
    status = {**kept, "creator": request.login, "at": request.world.now()}
    request.world.statuses.append({**status, "sha": request.arguments[0]})
    return Answer(201, shapes.status(request.world, status))


def _runs(request: ApiRequest, path: str | None) -> Answer:
    query = request.query
    runs_ = [r for r in request.world.runs.values() if path is None or r.path.split("@")[0].endswith(f"/{path}")]
    runs_ = [r for r in runs_ if query.get("head_sha", r.head_sha) == r.head_sha]
    runs_ = [r for r in runs_ if query.get("branch", r.head_branch) == r.head_branch]
    runs_ = [r for r in runs_ if query.get("status", r.status) == r.status]
    runs_.sort(key=lambda r: r.id, reverse=True)
    return Answer(200, {"total_count": len(runs_), "workflow_runs": shapes.Shaped(runs_, shapes.run)})


@on("GET", r"/actions/runs")
def runs(request: ApiRequest) -> Answer:
    return _runs(request, None)


@on("GET", r"/actions/workflows/([^/]+)/runs")
def runs_of_workflow(request: ApiRequest) -> Answer:
    return _runs(request, request.arguments[0])


@on("GET", r"/actions/runs/(\d+)")
def run(request: ApiRequest) -> Answer:
    workflow_run = request.world.runs.get(int(request.arguments[0]))
    return Answer(200, shapes.run(workflow_run)) if workflow_run else MISSING


@on("POST", r"/actions/runs/(\d+)/rerun")
def rerun(request: ApiRequest) -> Answer:
    workflow_run = request.world.runs.get(int(request.arguments[0]))
    if workflow_run is None:
        return MISSING
    if workflow_run.conclusion is None:
        return refusal(403, "This workflow is already running")
    request.world.reruns.append(workflow_run.id)
    workflow_run.attempt, workflow_run.status, workflow_run.conclusion = workflow_run.attempt + 1, "queued", None
    return Answer(201, {})


@on("GET", r"/actions/runs/(\d+)/artifacts")
def artifacts(request: ApiRequest) -> Answer:
    run = request.world.runs[int(request.arguments[0])]
    listed = [
        shapes.artifact(run.id * 10 + i, name, content, expired=name in run.expired)
        for i, (name, content) in enumerate(run.artifacts.items())
        if request.query.get("name", name) == name
    ]
    return Answer(200, {"total_count": len(listed), "artifacts": listed})


@on("GET", r"/actions/artifacts")
def all_artifacts(request: ApiRequest) -> Answer:
    """Every artifact of a name, the newest first."""
    wanted = request.query.get("name")
    kept = [
        (run, index, name)
        for run in request.world.runs.values()
        for index, name in enumerate(run.artifacts)
        if wanted in (None, name)
    ]
    kept.sort(key=lambda one: (one[0].id, one[1]), reverse=True)

    def shape(one: tuple[WorkflowRun, int, str]) -> Any:
        run, index, name = one
        document = shapes.artifact(run.id * 10 + index, name, run.artifacts[name], expired=name in run.expired)
        return document | {"workflow_run": document["workflow_run"] | {"id": run.id, "head_sha": run.head_sha}}

    return Answer(200, {"total_count": len(kept), "artifacts": shapes.Shaped(kept, shape)})


@on("GET", r"/actions/artifacts/(\d+)/zip")
def artifact(request: ApiRequest) -> Answer:
    return Answer(302, None, {"Location": f"{{storage}}/storage/{request.arguments[0]}"})


def stored(world: World, identity: int) -> bytes | None:
    """What lies at an artifact's own address."""
    run = world.runs.get(identity // 10)
    return list(run.artifacts.values())[identity % 10] if run else None


@on("POST", r"/actions/workflows/([^/]+)/dispatches")
def dispatch(request: ApiRequest) -> Answer:
    request.world.dispatched.append({"workflow": request.arguments[0], **request.body})
    return Answer(204)


@on("GET", r"/issues/(\d+)/comments")
def comments(request: ApiRequest) -> Answer:
    number = int(request.arguments[0])
    return Answer(200, [shapes.comment(request.world, c) for c in request.world.comments.values() if c.number == number])


@on("POST", r"/issues/(\d+)/comments")
def create_comment(request: ApiRequest) -> Answer:
    if len(request.body["body"]) > 65_536:
        return refusal(422, "Validation Failed: body is too long (maximum is 65536 characters)")
    written = request.world.comment(int(request.arguments[0]), request.login, request.body["body"])
    return Answer(201, shapes.comment(request.world, written))


@on("PATCH", r"/issues/comments/(\d+)")
def edit_comment(request: ApiRequest) -> Answer:
    comment_ = request.world.comments.get(int(request.arguments[0]))
    if comment_ is None:
        return MISSING
    if comment_.author != request.login:
        return refusal(403, "Resource not accessible by integration")
    comment_.body = request.body["body"]
    return Answer(200, shapes.comment(request.world, comment_))


@on("DELETE", r"/issues/comments/(\d+)")
def delete_comment(request: ApiRequest) -> Answer:
    return Answer(204) if request.world.comments.pop(int(request.arguments[0]), None) else MISSING


@on("POST", r"/issues/comments/(\d+)/reactions")
def react(request: ApiRequest) -> Answer:
    request.world.comments[int(request.arguments[0])].reactions.append(request.body["content"])
    return Answer(201, example("reaction") | {"content": request.body["content"]})


@on("GET", r"/labels")
def labels(request: ApiRequest) -> Answer:
    return Answer(200, [shapes.label(name) for name in request.world.labels])


@on("POST", r"/labels")
def create_label(request: ApiRequest) -> Answer:
    if request.body["name"].casefold() in {name.casefold() for name in request.world.labels}:
        return refusal(422, "Validation Failed: already_exists")
    request.world.labels[request.body["name"]] = request.body["color"]
    return Answer(201, shapes.label(request.body["name"]))


@on("GET", r"/issues/(\d+)/labels")
def labels_of(request: ApiRequest) -> Answer:
    return Answer(200, [shapes.label(name) for name in request.world.labelled.get(int(request.arguments[0]), [])])


@on("POST", r"/issues/(\d+)/labels")
def add_labels(request: ApiRequest) -> Answer:
    own = request.world.labelled.setdefault(int(request.arguments[0]), [])
    own.extend(name for name in request.body["labels"] if name not in own)
    request.world.touch(int(request.arguments[0]))
    return Answer(200, [shapes.label(name) for name in own])


@on("DELETE", r"/issues/(\d+)/labels/([^/]+)")
def remove_label(request: ApiRequest) -> Answer:
    own = request.world.labelled.setdefault(int(request.arguments[0]), [])
    if request.arguments[1] not in own:
        return refusal(404, "Label does not exist")
    own.remove(request.arguments[1])
    return Answer(200, [shapes.label(name) for name in own])


@on("GET", r"/collaborators/([^/]+)/permission")
def permission(request: ApiRequest) -> Answer:
    person = request.world.people.get(request.arguments[0])
    if person is None:
        return MISSING
    level = request.world.permissions.get(person.login, "read")
    document = example("repository-collaborator-permission-response-if-user-has-admin-permissions")
    user = document["user"] | {"login": person.login, "role_name": level}
    return Answer(200, document | {"permission": level, "role_name": level, "user": user})


@on("GET", r"/issues")
def issues(request: ApiRequest) -> Answer:
    wanted = set(filter(None, request.query.get("labels", "").split(",")))
    issues_ = [
        i for i in request.world.issues.values() if i.state == request.query.get("state", "open") and wanted <= set(i.labels)
    ]
    return Answer(200, [shapes.issue(request.world, one) for one in issues_])


@on("POST", r"/issues")
def create_issue(request: ApiRequest) -> Answer:
    body = request.body
    opened = Opened(request.world.fresh(), request.login, body["title"], body.get("body", ""), body.get("labels", []))
    request.world.issues[opened.number] = opened
    return Answer(201, shapes.issue(request.world, opened))


@on("PATCH", r"/issues/(\d+)")
def edit_issue(request: ApiRequest) -> Answer:
    issue_ = request.world.issues[int(request.arguments[0])]
    issue_.body, issue_.state = request.body.get("body", issue_.body), request.body.get("state", issue_.state)
    return Answer(200, shapes.issue(request.world, issue_))


@on("GET", r"/orgs/([^/]+)/public_members/([^/]+)")
def public_member(request: ApiRequest) -> Answer:
    organisation, login = request.arguments
    return Answer(204) if login.casefold() in request.world.members.get(organisation, ()) else MISSING


@on("GET", r"/orgs/([^/]+)/teams/([^/]+)/memberships/([^/]+)")
def team_membership(request: ApiRequest) -> Answer:
    organisation, slug, login = request.arguments
    state = request.world.teams.get(f"{organisation}/{slug}", {}).get(login.casefold())
    if state is None:
        return MISSING
    url = f"https://api.github.com/organizations/1/team/1/memberships/{login}"
    return Answer(200, {"url": url, "role": "member", "state": state})
