"""The settings of the stand-in's repository: what was last written, or what a fresh repository on GitHub has."""

from pathlib import Path
from typing import Any

from tests.github.contract import example
from tests.github.routes import MISSING, Answer
from tests.github.world import NAME, OWNER, REPOSITORY_ID, World

FRESH: dict[str, Any] = {
    "/actions/permissions": {"enabled": True, "allowed_actions": "all", "sha_pinning_required": False},
    "/actions/permissions/workflow": {"default_workflow_permissions": "write", "can_approve_pull_request_reviews": True},
    "/actions/permissions/fork-pr-contributor-approval": {"approval_policy": "first_time_contributors"},
    "/private-vulnerability-reporting": {"enabled": False},
    "/actions/permissions/selected-actions": {
        "github_owned_allowed": False, "verified_allowed": False, "patterns_allowed": [],
    },
    "/actions/permissions/fork-pr-workflows-private-repos": {
        "run_workflows_from_fork_pull_requests": False, "send_write_tokens_to_workflows": False,
        "send_secrets_and_variables": False, "require_approval_for_fork_pr_workflows": True,
    },
}  # fmt: skip
WORKFLOWS = sorted(path.name for path in (Path(__file__).parents[2] / ".github" / "workflows").glob("*.yml"))
LISTS = ("/rulesets", "/environments")


def settings(world: World, verb: str, path: str, body: Any) -> Answer | None:
    """The answer, if the path is a setting."""
    if path == "":
        return _repository(world, verb, body)
    if path in FRESH:
        return _plain(world, verb, path, body)
    if path == "/pages":
        return _pages(world, verb, body)
    if path == "/actions/workflows" or (verb == "PUT" and path.startswith("/actions/workflows/")):
        return _workflows(world, verb, path)
    if path.startswith(("/orgs/", "/users/")):
        return _owned(world, path)
    if path.startswith(LISTS):
        return _listed(world, verb, path, body)
    return None


def _repository(world: World, verb: str, body: Any) -> Answer:
    kept = world.settings.setdefault(
        "", {"allow_rebase_merge": True, "allow_squash_merge": True, "allow_merge_commit": True}
    )
    if verb == "PATCH":
        kept.update(body)
    named = {"id": REPOSITORY_ID, "name": NAME, "full_name": f"{OWNER}/{NAME}", "default_branch": "main"}
    named["owner"] = example("full-repository")["owner"] | {"login": OWNER, "type": world.settings.get("owner_type", "User")}
    named |= {"visibility": "public", "private": False, "permissions": {"admin": True, "push": True, "pull": True}}
    missing = {"has_discussions": False, "archived": False, "disabled": False}
    return Answer(200, missing | example("full-repository") | named | kept | world.settings.get("about", {}))


def _workflows(world: World, verb: str, path: str) -> Answer:
    """Each workflow file of ours, active unless `world.settings["workflows"]` says otherwise; None is a file not there."""
    states: dict[str, str | None] = world.settings.setdefault("workflows", {})
    if verb == "PUT":
        states[WORKFLOWS[int(path.split("/")[3])]] = "active"
        return Answer(204)
    workflows = [
        example("workflow-paginated")["workflows"][0]
        | {"id": number, "path": f".github/workflows/{name}", "state": states.get(name, "active")}
        for number, name in enumerate(WORKFLOWS)
        if states.get(name, "active")
    ]
    return Answer(200, {"total_count": len(workflows), "workflows": workflows})


def _owned(world: World, path: str) -> Answer | None:
    """An owner with `world.settings["plan"]`, and the package `world.settings["package"]` says the visibility of."""
    kind, _, rest = path[1:].partition("/")
    if "/packages/container/" in path:
        seen = world.settings.get("package")
        document = example("package-org" if kind == "orgs" else "package-user")
        return Answer(200, document | {"visibility": seen}) if seen and path.endswith("/board%2Fevaluator") else MISSING
    if "/" in rest:
        return None
    name = world.settings.get("plan")
    document = example("organization-full" if kind == "orgs" else "public-user-default-response") | {"login": rest}
    # What the description asks for and its examples lack.
    document |= {"description": None, "archived_at": None} if kind == "orgs" else {"user_view_type": "public"}
    shown = {"name": name, "space": 1, "private_repos": 1, **({} if kind == "orgs" else {"collaborators": 0})}
    document.pop("plan", None)
    return Answer(200, document | ({"plan": shown} if name else {}))


def _plain(world: World, verb: str, path: str, body: Any) -> Answer:
    kept = world.settings.setdefault(path, dict(FRESH[path]))
    if verb == "GET":
        return Answer(200, kept)
    kept.update(body or {"enabled": True})
    return Answer(204)


def _pages(world: World, verb: str, body: Any) -> Answer:
    kept = world.settings.get("/pages")
    if verb == "GET":
        return Answer(200, example("page") | kept) if kept else MISSING
    world.settings["/pages"] = {**(kept or {}), **body}
    return Answer(201, example("page") | world.settings["/pages"]) if verb == "POST" else Answer(204)


def _listed(world: World, verb: str, path: str, body: Any) -> Answer | None:
    kept: dict[str, Any] = world.settings.setdefault("listed", {})
    if path == "/rulesets":
        if verb == "POST":
            made = example("repository-ruleset") | {"id": world.fresh(), "bypass_actors": []} | body
            kept[f"/rulesets/{made['id']}"] = made
            return Answer(201, made)
        return Answer(200, [one for name, one in kept.items() if name.startswith("/rulesets/")])
    if path == "/environments":
        environments = [one for name, one in kept.items() if name.startswith("/environments/") and name.count("/") == 2]
        return Answer(200, {"total_count": len(environments), "environments": environments})
    if path.endswith("/secrets"):
        return _secrets(world, path) if path.removesuffix("/secrets") in kept else MISSING
    if verb == "PUT":
        name = path.rpartition("/")[2]
        base = {"name": name} if path.startswith("/environments/") else {}
        kept[path] = kept.get(path, example("environment") if base else {}) | base | body
    if path.endswith("/deployment-branch-policies"):
        return _policies(world, verb, path, body)
    return Answer(200, kept[path]) if path in kept else MISSING


def _secrets(world: World, path: str) -> Answer:
    """The names that were put there with GitHub's own page; the API never tells more."""
    dates = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    secrets = [{"name": name, **dates} for name in world.settings.get(path, ())]
    return Answer(200, {"total_count": len(secrets), "secrets": secrets})


def _policies(world: World, verb: str, path: str, body: Any) -> Answer:
    kept = world.settings.setdefault(path, [])
    if verb == "POST":
        kept.append(example("deployment-branch-policy-wildcard") | {"id": world.fresh()} | body)
        return Answer(200, kept[-1])
    return Answer(200, {"total_count": len(kept), "branch_policies": kept})
