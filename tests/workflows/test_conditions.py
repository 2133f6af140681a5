"""Each job's real condition, evaluated by GitHub's own engine on GitHub's own example events, and as forks send them."""

import copy
from typing import Any

import pytest

from scripts.github.pull_request.slash_commands import SLASH_COMMANDS
from tests.workflows.engine import Expressions
from tests.workflows.files import NAMES, WORKFLOWS, jobs, workflow

PREVIEW = ".github/workflows/preview.yml"
MAIN = "refs/heads/main"
OK = "success"


class Asked:
    """Asks whether a job runs."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.conditions = {name: expressions.conditions(WORKFLOWS / f"{name}.yml") for name in NAMES}

    def runs(
        self, name: str, job: str, *, status: str = OK, needs: Any = None, variables: Any = None, **github: Any
    ) -> bool:
        contexts = {"github": github, "needs": needs or {}, "inputs": {}, "vars": variables or {}}
        return self.expressions.holds(self.conditions[name][job]["if"], contexts, status)


@pytest.fixture(scope="module")
def asked(expressions: Expressions) -> Asked:
    return Asked(expressions)


def forked_run(expressions: Expressions, **changes: Any) -> dict[str, Any]:
    """A run as a fork's pull request causes it: another head repository, and no pull requests named."""
    event = copy.deepcopy(expressions.payloads("workflow_run")[0])
    head = {**event["workflow_run"]["head_repository"], "id": 424242, "full_name": "eve/board", "fork": True}
    run = {"event": "pull_request", "path": PREVIEW, "pull_requests": [], "head_repository": head, "name": "preview"}
    event["workflow_run"] |= run | changes
    return event


@pytest.mark.attack(
    "run_of_another_event", family="bot", outcome="no report",
    tries="Starts the report by a run of another workflow, event or branch.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"path": PREVIEW + "@refs/pull/7/merge"}, True),
        ({"path": PREVIEW + "@main"}, True),
        ({"head_branch": "main"}, True),
        ({"head_branch": "x'); echo pwned; ('"}, True),
        ({"head_repository": None}, True),  # a deleted fork: the bot says so
        ({"conclusion": "failure"}, True),
        ({"conclusion": "cancelled"}, True),
        ({"path": ".github/workflows/evil.yml"}, False),  # attack 3: another file of the same name
        ({"path": ".github/workflows/preview.yml.evil.yml"}, False),
        ({"path": ".github/workflows/preview.yaml"}, False),
        ({"path": "x/" + PREVIEW}, False),
        ({"path": ""}, False),
        ({"path": None}, False),
        ({"event": "push"}, False),
        ({"event": "workflow_dispatch"}, False),
        ({"event": "pull_request_target"}, False),
        ({"event": "merge_group"}, False),
    ],
)
def test_a_report_follows_previews_of_pull_requests_only(asked: Asked, changes: dict[str, Any], expected: bool) -> None:
    assert asked.runs("report", "report", event=forked_run(asked.expressions, **changes)) is expected


def test_githubs_own_run_examples_are_no_previews(asked: Asked) -> None:
    examples = asked.expressions.payloads("workflow_run")

    assert [asked.runs("report", "report", event=event) for event in examples] == [False] * len(examples)


def comment(expressions: Expressions, body: str, *, kind: str = "User", pull: bool = True) -> dict[str, Any]:
    event = copy.deepcopy(next(one for one in expressions.payloads("issue_comment") if one["action"] == "created"))
    event["comment"]["body"] = body
    event["comment"]["user"]["type"] = kind
    event["issue"].pop("pull_request", None)
    if pull:
        event["issue"]["pull_request"] = {"url": "https://api.github.com/repos/host/board/pulls/1"}
    return event


@pytest.mark.parametrize(
    ("body", "changes", "expected"),
    [
        ("/help", {}, True),
        ("/retry", {}, True),
        ("/evaluate " + "a" * 40, {}, True),
        ("/rank; rm -rf / $(id)", {}, True),  # ignored by the bot, never by a shell
        ("/anything", {}, False),
        ("please /retry", {}, False),
        (" /retry", {}, False),
        ("", {}, False),
        ("/retry", {"pull": False}, False),
        ("/retry", {"kind": "Bot"}, False),
    ],
)
def test_a_command_is_a_persons_comment_on_a_pull_request(
    asked: Asked, body: str, changes: dict[str, Any], expected: bool
) -> None:
    assert asked.runs("commands", "command", event=comment(asked.expressions, body, **changes)) is expected


@pytest.mark.parametrize("name", SLASH_COMMANDS)
def test_each_command_starts_the_workflow(asked: Asked, name: str) -> None:
    assert asked.runs("commands", "command", event=comment(asked.expressions, f"/{name}"))


def test_githubs_own_comment_examples_are_no_commands(asked: Asked) -> None:
    examples = asked.expressions.payloads("issue_comment")

    assert [asked.runs("commands", "command", event=event) for event in examples] == [False] * len(examples)


def test_an_edited_comment_is_no_command() -> None:
    assert workflow("commands")["on"]["issue_comment"]["types"] == ["created"]


def test_a_preview_runs_for_every_example_that_its_trigger_lets_through(asked: Asked) -> None:
    types = workflow("preview")["on"]["pull_request"]["types"]
    examples = [event for event in asked.expressions.payloads("pull_request") if event["action"] in types]

    assert examples
    assert all(asked.runs("preview", "preview", event=event) for event in examples)


def planned(count: str = "3", result: str = OK, due: str = "true", unasked: str = "0", **others: str) -> dict[str, Any]:
    outputs = {
        "site": due,
        "announce": due,
        "unasked": unasked,
        "count": count,
        "shards": "[0,1]",
        "total": "2",
        "labels": '["ubuntu-24.04"]',
        "at_once": "20",
        "sha": '"' + "a" * 40 + '"',
        "results_sha": '""',
    }
    needs = {"plan": {"result": result, "outputs": outputs if result == OK else {}}}
    return needs | {name: {"result": conclusion, "outputs": {}} for name, conclusion in others.items()}


def listed(lists: str, result: str = OK) -> dict[str, Any]:
    return planned() | {"publish": {"result": result, "outputs": {"lists": lists}}}


OFFICIAL = [
    # job, event, needs, status of the whole, does it run
    ("plan", "push", None, OK, True),
    ("plan", "workflow_dispatch", None, OK, True),
    ("image", "push", planned("3"), OK, True),
    ("image", "push", planned("0"), OK, False),
    ("image", "push", planned(result="failure"), "failure", False),
    ("evaluate", "push", planned("3", image=OK), OK, True),
    ("evaluate", "push", planned("3", image="failure"), "failure", True),  # no registry: built in place
    ("evaluate", "push", planned("3", image="skipped"), OK, True),
    ("evaluate", "push", planned("0", image="skipped"), OK, False),
    ("evaluate", "push", planned(result="failure", image="skipped"), "failure", False),
    ("evaluate", "push", planned("3", image=OK), "cancelled", False),
    ("publish", "push", planned("3", evaluate=OK), OK, True),
    ("publish", "push", planned("3", evaluate="failure"), "failure", True),  # a lost shard costs only itself
    ("publish", "push", planned("3", evaluate="cancelled"), "failure", True),
    ("publish", "push", planned("0", evaluate="skipped"), OK, False),
    ("publish", "push", planned("0", unasked="3", evaluate="skipped"), OK, True),  # GitHub could not be asked before
    ("evaluate", "push", planned("0", unasked="3", image="skipped"), OK, False),
    ("publish", "push", planned(result="failure", evaluate="skipped"), "failure", False),
    ("publish", "push", planned("3", evaluate="cancelled"), "cancelled", False),
    ("attest", "push", listed("[1]"), OK, True),
    ("attest", "push", listed("[1]", "failure"), "failure", True),  # what was recorded is attested
    ("attest", "push", listed(""), OK, False),
    ("attest", "push", planned("0", publish="skipped"), OK, False),
    ("attest", "push", listed("[1]"), "cancelled", False),
    ("site", "push", planned("3", publish=OK), OK, True),
    ("site", "push", planned("0", publish="skipped"), OK, True),  # withdrawal, words
    ("site", "push", planned("3", publish="failure"), "failure", True),
    ("site", "push", planned(result="failure", publish="skipped"), "failure", False),
    ("site", "push", planned("0", due="false", publish="skipped"), OK, False),  # the deployed one would be the same
    ("site", "push", planned("0", due="", publish="skipped"), OK, False),  # a fresh copy of the template
    ("announce", "push", planned("0", due="false", publish="skipped", site="skipped"), OK, False),
    ("announce", "push", planned("0", due="", publish="skipped", site="skipped"), OK, False),
    ("announce", "push", planned("3", publish=OK, site=OK), OK, True),
    ("announce", "push", planned("3", publish=OK, site="failure"), "failure", True),
    ("announce", "push", planned(result="failure", publish="skipped", site="skipped"), "failure", False),
]


@pytest.mark.parametrize(("job", "event_name", "needs", "status", "expected"), OFFICIAL)
def test_which_official_jobs_run(
    asked: Asked, job: str, event_name: str, needs: dict[str, Any] | None, status: str, expected: bool
) -> None:
    assert asked.runs("official", job, needs=needs, status=status, ref=MAIN, event_name=event_name) is expected


def test_every_official_job_has_a_truth_table() -> None:
    assert {row[0] for row in OFFICIAL} == set(jobs("official"))


@pytest.mark.parametrize(("here", "expected"), [("true", True), ("", True), ("false", False)])
@pytest.mark.parametrize(("name", "job", "before"), [("site", "deploy", "build"), ("evaluate", "tell", "play")])
def test_a_fresh_copy_goes_no_further_than_its_first_job(
    asked: Asked, name: str, job: str, before: str, here: str, expected: bool
) -> None:
    needs = {before: {"result": OK, "outputs": {"here": here}}}

    assert asked.runs(name, job, needs=needs, ref=MAIN) is (expected and bool(here or before == "play"))


BUILT = {"build": {"result": OK, "outputs": {"here": "true"}}, "play": {"result": OK, "outputs": {}}, **planned()}
ON_MAIN = [
    ("official", "plan"), ("reconcile", "reconcile"), ("image", "image"), ("site", "build"), ("site", "deploy"),
    ("evaluate", "play"), ("evaluate", "tell"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "job"), ON_MAIN)
@pytest.mark.parametrize("ref", ["refs/heads/other", "refs/tags/main", "refs/pull/7/merge", "refs/heads/main/evil"])
def test_a_dispatch_from_another_branch_does_nothing(asked: Asked, name: str, job: str, ref: str) -> None:
    assert not asked.runs(name, job, ref=ref, event_name="workflow_dispatch", needs=BUILT)
    assert asked.runs(name, job, ref=MAIN, event_name="workflow_dispatch", needs=BUILT)


@pytest.mark.parametrize(
    ("built", "status", "expected"), [(OK, OK, True), ("failure", "failure", False), (OK, "skipped", True)]
)
def test_the_site_is_deployed_when_it_was_built(asked: Asked, built: str, status: str, expected: bool) -> None:
    needs = {"build": {"result": built, "outputs": {"here": "true"}}}

    assert asked.runs("site", "deploy", ref=MAIN, needs=needs, status=status) is expected
    assert asked.runs("site", "build", ref=MAIN, status=status)


@pytest.mark.parametrize(
    ("deployed", "built", "status", "expected"),
    [
        (OK, "{}", OK, True), (OK, "{}", "skipped", True), ("failure", "{}", "failure", False), ("skipped", "{}", OK, False),
        (OK, "", OK, False),  # a picture is missing: it is built again
        (OK, "{}", "cancelled", False),
    ],
)  # fmt: skip
def test_what_was_deployed_whole_is_noted(asked: Asked, deployed: str, built: str, status: str, expected: bool) -> None:
    needs = {"build": {"result": OK, "outputs": {"built": built}}, "deploy": {"result": deployed, "outputs": {}}}

    assert asked.runs("site", "deployed", ref=MAIN, needs=needs, status=status) is expected


@pytest.mark.parametrize(
    ("played", "status", "expected"), [(OK, OK, True), ("failure", "failure", True), (OK, "cancelled", False)]
)
def test_a_verified_run_is_reported_whatever_came_of_it(asked: Asked, played: str, status: str, expected: bool) -> None:
    needs = {"play": {"result": played, "outputs": {}}}

    assert asked.runs("evaluate", "tell", ref=MAIN, needs=needs, status=status) is expected


def test_ci_runs_on_pushes_and_pull_requests(asked: Asked) -> None:
    assert all(asked.runs("ci", job) for job in jobs("ci"))


UPSTREAM = {"PULLRANK_UPSTREAM": "true"}


@pytest.mark.parametrize(
    ("name", "job", "event_name", "runs_in_a_board"),
    [
        ("nightly", "nightly", "schedule", False), ("nightly", "nightly", "workflow_dispatch", True),
        ("act", "act", "schedule", False), ("release", "build", "push", False),
    ],
)  # fmt: skip
def test_what_belongs_to_the_software_runs_in_its_own_repository(
    asked: Asked, name: str, job: str, event_name: str, runs_in_a_board: bool
) -> None:
    assert asked.runs(name, job, event_name=event_name, variables=UPSTREAM)
    assert asked.runs(name, job, event_name=event_name) is runs_in_a_board


@pytest.mark.parametrize(
    ("built", "attested", "status", "expected"),
    [
        ("true", OK, OK, (True, True)), ("false", "skipped", OK, (False, False)), ("", "skipped", "skipped", (False, False)),
        ("true", "failure", "failure", (False, False)),
    ],
)  # fmt: skip
def test_a_release_is_published_once_it_is_attested(
    asked: Asked, built: str, attested: str, status: str, expected: tuple[bool, bool]
) -> None:
    needs = {"build": {"result": OK, "outputs": {"here": built}}, "attest": {"result": attested, "outputs": {}}}

    ran = tuple(asked.runs("release", job, needs=needs, status=status) for job in ("attest", "publish"))

    assert ran == expected


@pytest.mark.parametrize(
    ("template", "contexts", "expected"),
    [
        ("${{ fromJSON(needs.plan.outputs.shards) }}", {"needs": planned()}, [0, 1]),
        ("${{ fromJSON(needs.plan.outputs.sha) }}", {"needs": planned()}, "a" * 40),
        ("${{ fromJSON(needs.plan.outputs.results_sha) }}", {"needs": planned()}, ""),
        ("${{ fromJSON(needs.plan.outputs.labels) }}", {"needs": planned()}, ["ubuntu-24.04"]),
        ("${{ fromJSON(needs.plan.outputs.at_once) }}", {"needs": planned()}, 20),
        ("${{ needs.plan.outputs.total }}", {"needs": planned()}, "2"),
        ("${{ fromJSON(needs.image.outputs.image || '\"\"') }}", {"needs": planned(image="failure")}, ""),
    ],
)
def test_what_outputs_become(asked: Asked, template: str, contexts: dict[str, Any], expected: Any) -> None:
    assert any(template in path.read_text() for path in WORKFLOWS.glob("*.yml"))
    assert asked.expressions.fill(template, contexts) == expected
