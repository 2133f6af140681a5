"""What the stand-in answers: one small function for each operation."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.github import shapes
from tests.github.contract import example
from tests.github.world import NAME, OWNER, REPOSITORY_ID, Opened, PullRequest, World


class Asked(NamedTuple):
    """A request."""

    world: World
    found: tuple[str, ...]
    query: dict[str, str]
    body: Any
    login: str


class Answer(NamedTuple):
    """What is answered."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = MappingProxyType({})


Handler = Callable[[Asked], Answer]
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
        if known == verb and (found := pattern.fullmatch(path)):
            return handler(Asked(world, tuple(map(unquote, found.groups())), query, body, login))
    return MISSING


def refusal(status: int, message: str) -> Answer:
    """GitHub's form of an error."""
    return Answer(status, {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)})


@on("GET", r"/pulls")
def pulls(asked: Asked) -> Answer:
    query = asked.query
    found = [p for p in asked.world.pulls.values() if query.get("state", "open") in (p.state, "all")]
    if "head" in query:
        found = [p for p in found if f"{p.fork_owner or p.author}:{p.branch}" == query["head"]]
    if "base" in query:
        found = [p for p in found if p.base_ref == query["base"]]
    found.sort(key=lambda p: p.number, reverse=query.get("direction", "desc") == "desc")
    return Answer(200, [shapes.pull(asked.world, p, alone=False) for p in found])


@on("POST", r"/pulls")
def open_pull(asked: Asked) -> Answer:
    world, body = asked.world, asked.body
    owner, _, branch = body["head"].rpartition(":")
    owner = owner or OWNER
    if any((p.fork_owner, p.branch, p.state) == (owner, branch, "open") for p in world.pulls.values()):
        return refusal(422, f"Validation Failed: A pull request already exists for {owner}:{branch}.")
    number = world.fresh()
    sha = world.git.propose(number, owner, branch) if world.git else None
    if sha is None:
        return refusal(422, "Validation Failed: head is invalid")
    fork = next((about["id"] for name, about in world.others.items() if name.partition("/")[0] == owner), REPOSITORY_ID)
    opened = PullRequest(number, asked.login, sha, branch, fork, owner, body["base"], title=body["title"])
    world.pulls[number] = opened
    return Answer(201, shapes.pull(world, opened, alone=True))


@on("PATCH", r"/pulls/(\d+)")
def edit_pull(asked: Asked) -> Answer:
    found = asked.world.pulls[int(asked.found[0])]
    found.state = asked.body.get("state", found.state)
    return Answer(200, shapes.pull(asked.world, found, alone=True))


@on("PUT", r"/pulls/(\d+)/merge")
def merge_pull(asked: Asked) -> Answer:
    found = asked.world.pulls[int(asked.found[0])]
    if found.state != "open" or not found.mergeable:
        return refusal(405, "Pull Request is not mergeable")
    if asked.body.get("sha", found.head_sha) != found.head_sha:
        return refusal(409, "Head branch was modified. Review and try the merge again.")
    assert asked.world.git is not None
    sha = asked.world.git.merge(found.number, asked.body.get("merge_method", "merge"))
    found.state, found.merged, found.merge_commit_sha = "closed", True, sha
    asked.world.commits[sha] = [found.number]
    return Answer(200, {"sha": sha, "merged": True, "message": "Pull Request successfully merged"})


@on("GET", r"/user")
def account(asked: Asked) -> Answer:
    person = asked.world.people[asked.login]
    if person.type == "Bot":
        return refusal(403, "Resource not accessible by integration")
    found = example("private-user-response-with-public-and-private-profile-information")
    return Answer(200, found | {"login": person.login, "id": person.id, "type": person.type, "user_view_type": "private"})


@on("GET", r"/repos/([^/]+/[^/]+)")
def other_repository(asked: Asked) -> Answer:
    about = asked.world.others.get(asked.found[0])
    if about is None:
        return MISSING
    missing = {"has_discussions": False, "archived": False, "disabled": False}
    return Answer(200, missing | example("full-repository") | {"full_name": asked.found[0]} | about)


@on("GET", r"/pulls/(\d+)")
def pull(asked: Asked) -> Answer:
    found = asked.world.pulls.get(int(asked.found[0]))
    return Answer(200, shapes.pull(asked.world, found, alone=True)) if found else MISSING


@on("GET", r"/commits/([^/]+)/pulls")
def pulls_of_commit(asked: Asked) -> Answer:
    numbers = asked.world.commits.get(asked.found[0], [])
    return Answer(200, [shapes.pull(asked.world, asked.world.pulls[n], alone=False) for n in numbers])


@on("GET", r"/commits/([^/]+)/statuses")
def statuses(asked: Asked) -> Answer:
    said = [one for one in asked.world.statuses if one["sha"] == asked.found[0]]
    return Answer(200, [shapes.status(asked.world, {k: v for k, v in one.items() if k != "sha"}) for one in reversed(said)])


@on("POST", r"/statuses/([0-9a-f]{40})")
def say_status(asked: Asked) -> Answer:
    body = asked.body
    if len(body.get("description", "")) > 140:
        return refusal(422, "Validation Failed: description is too long (maximum is 140 characters)")
    kept = {key: body.get(key, "") for key in ("state", "context", "description", "target_url")}
    said = {**kept, "creator": asked.login, "at": asked.world.now()}
    asked.world.statuses.append({**said, "sha": asked.found[0]})
    return Answer(201, shapes.status(asked.world, said))


def _runs(asked: Asked, path: str | None) -> Answer:
    query = asked.query
    found = [r for r in asked.world.runs.values() if path is None or r.path.split("@")[0].endswith(f"/{path}")]
    found = [r for r in found if query.get("head_sha", r.head_sha) == r.head_sha]
    found = [r for r in found if query.get("branch", r.head_branch) == r.head_branch]
    found.sort(key=lambda r: r.id, reverse=True)
    return Answer(200, {"total_count": len(found), "workflow_runs": [shapes.run(r) for r in found]})


@on("GET", r"/actions/runs")
def runs(asked: Asked) -> Answer:
    return _runs(asked, None)


@on("GET", r"/actions/workflows/([^/]+)/runs")
def runs_of_workflow(asked: Asked) -> Answer:
    return _runs(asked, asked.found[0])


@on("GET", r"/actions/runs/(\d+)")
def run(asked: Asked) -> Answer:
    found = asked.world.runs.get(int(asked.found[0]))
    return Answer(200, shapes.run(found)) if found else MISSING


@on("POST", r"/actions/runs/(\d+)/rerun")
def rerun(asked: Asked) -> Answer:
    found = asked.world.runs.get(int(asked.found[0]))
    if found is None:
        return MISSING
    if found.conclusion is None:
        return refusal(403, "This workflow is already running")
    asked.world.reruns.append(found.id)
    found.attempt, found.status, found.conclusion = found.attempt + 1, "queued", None
    return Answer(201, {})


@on("GET", r"/actions/runs/(\d+)/artifacts")
def artifacts(asked: Asked) -> Answer:
    run = asked.world.runs[int(asked.found[0])]
    listed = [
        shapes.artifact(run.id * 10 + i, name, content, expired=name in run.expired)
        for i, (name, content) in enumerate(run.artifacts.items())
        if asked.query.get("name", name) == name
    ]
    return Answer(200, {"total_count": len(listed), "artifacts": listed})


@on("GET", r"/actions/artifacts/(\d+)/zip")
def artifact(asked: Asked) -> Answer:
    return Answer(302, None, {"Location": f"{{storage}}/storage/{asked.found[0]}"})


def stored(world: World, identity: int) -> bytes | None:
    """What lies at an artifact's own address."""
    run = world.runs.get(identity // 10)
    return list(run.artifacts.values())[identity % 10] if run else None


@on("POST", r"/actions/workflows/([^/]+)/dispatches")
def dispatch(asked: Asked) -> Answer:
    asked.world.dispatched.append({"workflow": asked.found[0], **asked.body})
    return Answer(204)


@on("GET", r"/issues/(\d+)/comments")
def comments(asked: Asked) -> Answer:
    number = int(asked.found[0])
    return Answer(200, [shapes.comment(asked.world, c) for c in asked.world.comments.values() if c.number == number])


@on("POST", r"/issues/(\d+)/comments")
def create_comment(asked: Asked) -> Answer:
    if len(asked.body["body"]) > 65_536:
        return refusal(422, "Validation Failed: body is too long (maximum is 65536 characters)")
    written = asked.world.comment(int(asked.found[0]), asked.login, asked.body["body"])
    return Answer(201, shapes.comment(asked.world, written))


@on("PATCH", r"/issues/comments/(\d+)")
def edit_comment(asked: Asked) -> Answer:
    found = asked.world.comments.get(int(asked.found[0]))
    if found is None:
        return MISSING
    if found.author != asked.login:
        return refusal(403, "Resource not accessible by integration")
    found.body = asked.body["body"]
    return Answer(200, shapes.comment(asked.world, found))


@on("DELETE", r"/issues/comments/(\d+)")
def delete_comment(asked: Asked) -> Answer:
    return Answer(204) if asked.world.comments.pop(int(asked.found[0]), None) else MISSING


@on("POST", r"/issues/comments/(\d+)/reactions")
def react(asked: Asked) -> Answer:
    asked.world.comments[int(asked.found[0])].reactions.append(asked.body["content"])
    return Answer(201, example("reaction") | {"content": asked.body["content"]})


@on("GET", r"/labels")
def labels(asked: Asked) -> Answer:
    return Answer(200, [shapes.label(name) for name in asked.world.labels])


@on("POST", r"/labels")
def create_label(asked: Asked) -> Answer:
    if asked.body["name"].casefold() in {name.casefold() for name in asked.world.labels}:
        return refusal(422, "Validation Failed: already_exists")
    asked.world.labels[asked.body["name"]] = asked.body["color"]
    return Answer(201, shapes.label(asked.body["name"]))


@on("GET", r"/issues/(\d+)/labels")
def labels_of(asked: Asked) -> Answer:
    return Answer(200, [shapes.label(name) for name in asked.world.labelled.get(int(asked.found[0]), [])])


@on("POST", r"/issues/(\d+)/labels")
def add_labels(asked: Asked) -> Answer:
    own = asked.world.labelled.setdefault(int(asked.found[0]), [])
    own.extend(name for name in asked.body["labels"] if name not in own)
    return Answer(200, [shapes.label(name) for name in own])


@on("DELETE", r"/issues/(\d+)/labels/([^/]+)")
def remove_label(asked: Asked) -> Answer:
    own = asked.world.labelled.setdefault(int(asked.found[0]), [])
    if asked.found[1] not in own:
        return refusal(404, "Label does not exist")
    own.remove(asked.found[1])
    return Answer(200, [shapes.label(name) for name in own])


@on("GET", r"/collaborators/([^/]+)/permission")
def permission(asked: Asked) -> Answer:
    person = asked.world.people.get(asked.found[0])
    if person is None:
        return MISSING
    level = asked.world.permissions.get(person.login, "read")
    found = example("repository-collaborator-permission-response-if-user-has-admin-permissions")
    user = found["user"] | {"login": person.login, "role_name": level}
    return Answer(200, found | {"permission": level, "role_name": level, "user": user})


@on("GET", r"/issues")
def issues(asked: Asked) -> Answer:
    wanted = set(filter(None, asked.query.get("labels", "").split(",")))
    found = [
        i for i in asked.world.issues.values() if i.state == asked.query.get("state", "open") and wanted <= set(i.labels)
    ]
    return Answer(200, [shapes.issue(asked.world, one) for one in found])


@on("POST", r"/issues")
def create_issue(asked: Asked) -> Answer:
    body = asked.body
    opened = Opened(asked.world.fresh(), asked.login, body["title"], body.get("body", ""), body.get("labels", []))
    asked.world.issues[opened.number] = opened
    return Answer(201, shapes.issue(asked.world, opened))


@on("PATCH", r"/issues/(\d+)")
def edit_issue(asked: Asked) -> Answer:
    found = asked.world.issues[int(asked.found[0])]
    found.body, found.state = asked.body.get("body", found.body), asked.body.get("state", found.state)
    return Answer(200, shapes.issue(asked.world, found))


@on("GET", r"/orgs/([^/]+)/public_members/([^/]+)")
def public_member(asked: Asked) -> Answer:
    organisation, login = asked.found
    return Answer(204) if login.casefold() in asked.world.members.get(organisation, ()) else MISSING


@on("GET", r"/orgs/([^/]+)/teams/([^/]+)/memberships/([^/]+)")
def team_membership(asked: Asked) -> Answer:
    organisation, slug, login = asked.found
    state = asked.world.teams.get(f"{organisation}/{slug}", {}).get(login.casefold())
    if state is None:
        return MISSING
    url = f"https://api.github.com/organizations/1/team/1/memberships/{login}"
    return Answer(200, {"url": url, "role": "member", "state": state})
