"""GitHub's own examples, with the world's values in them."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from tests.github.contract import HOST, example
from tests.github.world import NAME, OWNER, REPOSITORY_ID, Opened, Person, PullRequest, WorkflowRun, World, Written

Value = TypeVar("Value")


class Shaped(Generic[Value]):
    """A long list whose documents are made for the page that is asked for."""

    def __init__(self, values: Sequence[Value], shape: Callable[[Value], Any]) -> None:
        self._values, self._shape = values, shape

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, part: slice) -> list[Any]:
        return [self._shape(value) for value in self._values[part]]


PAGES = "https://github.com"
ROOT = f"{HOST}/repos/{OWNER}/{NAME}"


def user(person: Person | None) -> Any:
    if person is None:
        return None
    document = example("issue-comment")["user"]
    return document | {"login": person.login, "id": person.id, "type": person.type}


def repository(identity: int, owner: str) -> Any:
    document = example("workflow-run")["head_repository"] | {"id": identity, "name": NAME, "full_name": f"{owner}/{NAME}"}
    document["owner"] = document["owner"] | {"login": owner}
    return document


def pull(world: World, one: PullRequest, *, alone: bool) -> Any:
    document = example("pull-request") if alone else example("pull-request-simple-items")[0]
    fork = None if one.fork_id is None else _full(document["head"]["repo"], one.fork_id, one.fork_owner or one.author)
    document |= {
        "number": one.number, "state": one.state, "title": one.title, "user": user(world.people.get(one.author)),
        "created_at": one.created_at, "labels": [label(name) for name in world.labelled.get(one.number, [])],
        "merged_at": "2026-01-02T03:04:05Z" if one.merged else None, "merge_commit_sha": one.merge_commit_sha,
        "closed_at": None if one.state == "open" else "2026-01-02T03:04:05Z",
        "head": document["head"] | {"sha": one.head_sha, "ref": one.branch, "repo": fork,
                                 "label": f"{one.fork_owner or one.author}:{one.branch}"},
        "base": document["base"] | {"ref": one.base_ref, "repo": _full(document["base"]["repo"], REPOSITORY_ID, OWNER)},
        "html_url": f"{PAGES}/{OWNER}/{NAME}/pull/{one.number}", "requested_teams": [],
    }  # fmt: skip
    if alone:
        document |= {"merged": one.merged, "mergeable": one.mergeable}
    return document


def _full(template: Any, identity: int, owner: str) -> Any:
    document = template | {"id": identity, "name": NAME, "full_name": f"{owner}/{NAME}"}
    return document | {"owner": template["owner"] | {"login": owner}}


def label(name: str) -> Any:
    return example("label") | {"name": name}


def run(one: WorkflowRun) -> Any:
    document = example("workflow-run")
    fork = document["head_repository"] if one.fork_id is None else repository(one.fork_id, one.fork_owner)
    return document | {
        "id": one.id, "event": one.event, "path": one.path, "head_sha": one.head_sha, "head_branch": one.head_branch,
        "status": one.status, "conclusion": one.conclusion, "run_attempt": one.attempt, "created_at": one.created_at,
        "repository": repository(REPOSITORY_ID, OWNER), "head_repository": fork, "pull_requests": [],
        "html_url": f"{PAGES}/{OWNER}/{NAME}/actions/runs/{one.id}",
    }  # fmt: skip


def artifact(identity: int, name: str, content: bytes, *, expired: bool) -> Any:
    document = example("artifact-paginated")["artifacts"][0]
    return document | {
        "id": identity, "name": name, "size_in_bytes": len(content), "expired": expired,
        "archive_download_url": f"{ROOT}/actions/artifacts/{identity}/zip",
    }  # fmt: skip


def comment(world: World, one: Written) -> Any:
    return example("issue-comment") | {
        "id": one.id, "node_id": f"IC_{one.id}", "body": one.body, "user": user(world.people.get(one.author)),
        "url": f"{ROOT}/issues/comments/{one.id}",
    }  # fmt: skip


def issue(world: World, one: Opened) -> Any:
    document = example("issue") | {
        "number": one.number, "title": one.title, "body": one.body, "state": one.state,
        "user": user(world.people.get(one.author)), "labels": [label(name) for name in one.labels],
        "html_url": f"{PAGES}/{OWNER}/{NAME}/issues/{one.number}",
    }  # fmt: skip
    document.pop("pull_request", None)
    return document


def status(world: World, one: dict[str, str]) -> Any:
    creator = user(world.people.get(one["creator"]))
    return example("status") | {**one, "creator": creator, "created_at": one["at"], "updated_at": one["at"]}
