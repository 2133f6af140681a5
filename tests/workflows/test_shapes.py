"""What every workflow must look like, so that a careless edit of one line does not open a door."""

import re
from typing import Any

import pytest

from evaluator.host.image import WHEELS
from tests.workflows.files import NAMES, WORKFLOWS, jobs, steps, workflow

PRIVILEGED = ["report", "commands", "evaluate", "official", "site", "image"]
PINS = {
    "actions/checkout": "3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
    "actions/setup-python": "5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0",
    "actions/upload-artifact": "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0",
    "actions/download-artifact": "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
    "actions/upload-pages-artifact": "fc324d3547104276b827a68afc52ff2a11cc49c9 # v5.0.0",
    "actions/deploy-pages": "cd2ce8fcbc39b97be8ca5fce6e763baed58fa128 # v5.0.0",
    "actions/attest": "1e69f48acb82d1966a394da916b4c1698aa569d6 # v4.2.2",
}
PERMISSIONS: dict[str, dict[str, dict[str, str]]] = {
    "ci": {"lint": {"contents": "read"}, "test": {"contents": "read"}},
    "preview": {"preview": {"contents": "read"}},
    "report": {"report": {"actions": "read", "contents": "read", "pull-requests": "write", "statuses": "write"}},
    "commands": {"command": {"actions": "write", "contents": "read", "pull-requests": "write"}},
    "evaluate": {
        "play": {"contents": "read", "packages": "read", "pull-requests": "read"},
        "tell": {"actions": "read", "contents": "read", "pull-requests": "write", "statuses": "write"},
    },
    "site": {
        "episodes": {"contents": "write"}, "build": {"contents": "read"}, "deploy": {"pages": "write", "id-token": "write"},
    },
    "image": {"image": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"}},
    "official": {
        "plan": {"contents": "read", "pull-requests": "read"},
        "image": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
        "evaluate": {"contents": "read", "packages": "read", "pull-requests": "read"},
        "publish": {"contents": "write", "pull-requests": "read", "id-token": "write", "attestations": "write"},
        "again": {"actions": "write", "contents": "read"},
        "site": {"contents": "write", "pages": "write", "id-token": "write"},
        "announce": {"contents": "read", "pull-requests": "write"},
        "reconcile": {
            "actions": "write", "contents": "read", "issues": "write", "pull-requests": "write", "statuses": "write",
        },
    },
}  # fmt: skip
RULES = ("challenge.yml", "moderation.yml")
TRIGGERS = {
    "ci": {"push", "pull_request"},
    "preview": {"pull_request"},
    "report": {"workflow_run"},
    "commands": {"issue_comment"},
    "evaluate": {"workflow_dispatch"},
    "official": {"push", "schedule", "workflow_dispatch"},
    "site": {"push", "workflow_call", "workflow_dispatch"},
    "image": {"push", "workflow_call", "workflow_dispatch"},
}
# One line, a make target or the command; nothing that a shell could take apart.
THIN = re.compile(
    r'(make [a-z]+|\.venv/bin/pullrank [a-z]+( [a-z]+)?( --[a-z-]+( "\$[A-Z_]+(/[a-z]+)?"| _head| \.| check| record)?)*)'
)


def text(name: str) -> str:
    return (WORKFLOWS / f"{name}.yml").read_text(encoding="utf-8")


def uses(name: str) -> list[dict[str, Any]]:
    return [step for _, step in steps(name) if "uses" in step]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_permitted_at_the_top(name: str) -> None:
    assert workflow(name)["permissions"] == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_job_is_permitted_what_it_needs_and_says_why(name: str) -> None:
    granted = re.findall(r"^ +(\S+): (?:read|write)(.*)$", text(name), re.MULTILINE)

    assert {job_id: job["permissions"] for job_id, job in jobs(name).items()} == PERMISSIONS[name]
    assert all(re.fullmatch(r" # .{4,}", reason) for _, reason in granted)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_triggered_by_these_events_only(name: str) -> None:
    assert set(workflow(name)["on"]) == TRIGGERS[name]


def test_nothing_runs_on_pull_request_target() -> None:
    assert not [name for name in NAMES if "pull_request_target" in text(name)]


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_pinned_to_the_commit_we_looked_at(name: str) -> None:
    lines = [found.strip() for found in re.findall(r"^ +(?:- )?uses: (.*)$", text(name), re.MULTILINE)]
    actions = [line for line in lines if not line.startswith("./.github/workflows/")]

    assert [line for line in actions if line not in {f"{action}@{pin}" for action, pin in PINS.items()}] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_expression_reaches_a_shell(name: str) -> None:
    assert [step["run"] for _, step in steps(name) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("name", NAMES)
def test_run_lines_are_thin(name: str) -> None:
    assert [step["run"] for _, step in steps(name) if "run" in step and not THIN.fullmatch(step["run"])] == []
    assert not [step for _, step in steps(name) if "shell" in step or "working-directory" in step]


@pytest.mark.parametrize("name", NAMES)
def test_a_checkout_leaves_no_token_behind(name: str) -> None:
    checkouts = [step for step in uses(name) if step["uses"].startswith("actions/checkout@")]

    assert [step["with"]["persist-credentials"] for step in checkouts] == [False] * len(checkouts)
    assert not [step for step in checkouts if {"token", "ssh-key", "repository", "submodules"} & set(step["with"])]


@pytest.mark.parametrize("name", PRIVILEGED)
def test_a_privileged_workflow_never_checks_out_a_head(name: str) -> None:
    refs = [step["with"].get("ref", "main") for step in uses(name) if step["uses"].startswith("actions/checkout@")]
    ours = {"main", "${{ fromJSON(needs.plan.outputs.sha) }}"}

    assert set(refs) <= ours
    assert "head.sha" not in text(name)
    assert "refs/pull" not in text(name)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cached(name: str) -> None:
    assert not [
        step for step in uses(name) if "cache" in step["uses"] or any("cache" in key for key in step.get("with", {}))
    ]


@pytest.mark.parametrize("name", NAMES)
def test_no_secret_is_read_but_the_sealed_seasons_and_the_token_for_teams(name: str) -> None:
    known = [f"{one}: ${{{{ secrets.{one} }}}}" for one in ("PULLRANK_SEASON_SECRET", "PULLRANK_TEAMS_TOKEN")]
    left = text(name).replace(known[0], "").replace(known[1], "")

    assert "secrets." not in left
    assert "secrets:" not in text(name)


def test_the_seasons_secret_reaches_two_steps_of_jobs_in_a_protected_environment() -> None:
    reading = [(name, job, step["name"]) for name in NAMES for job, step in steps(name) if "SEASON_SECRET" in str(step)]
    held = [(name, job) for name in NAMES for job, found in jobs(name).items() if found.get("environment") == "season"]

    assert reading == [("official", "evaluate", "Evaluate"), ("official", "publish", "Check and replay")]
    assert held == [("official", "plan"), ("official", "evaluate"), ("official", "publish")]


def test_the_token_for_teams_reaches_the_one_step_that_asks_who_is_a_member() -> None:
    reading = [(name, job, step["name"]) for name in NAMES for job, step in steps(name) if "TEAMS_TOKEN" in str(step)]
    (announcing,) = [step for _, step in steps("official") if step["name"] == "Announce"]

    assert reading == [("official", "plan", "Plan")]
    assert announcing["env"]["MOMENT"] == "${{ fromJSON(needs.plan.outputs.moment) }}"


def test_whoever_evaluates_knows_where_torchs_cpu_build_is_and_no_participant_says_where() -> None:
    """The index is a variable of the repository, which only who may write to its settings can set; else PyTorch's own."""
    public = "${{ vars.PULLRANK_WHEELS || 'https://download.pytorch.org/whl/cpu' }}"
    told = {(name, job, step["name"]): step["env"] for name in NAMES for job, step in steps(name) if WHEELS in str(step)}

    assert set(told) == {
        ("preview", "preview", "Preview"), ("evaluate", "play", "Play"), ("official", "evaluate", "Evaluate"),
        ("ci", "test", "Test"),
    }  # fmt: skip
    assert {env[WHEELS] for env in told.values()} == {public}


def test_the_untrusted_tier_gets_no_token_at_all() -> None:
    assert "github.token" not in text("preview")
    assert "GITHUB_TOKEN" not in text("preview")
    assert [step["with"]["path"] for step in uses("preview") if step.get("with", {}).get("ref", "").startswith("${{")] == [
        "_head"
    ]
    assert next(step for step in uses("preview"))["with"]["ref"] == "main"


def test_who_runs_agents_can_not_write() -> None:
    running = [("preview", "preview"), ("official", "evaluate"), ("evaluate", "play")]

    assert all("write" not in PERMISSIONS[name][job].values() for name, job in running)


@pytest.mark.parametrize("name", NAMES)
def test_every_job_ends_in_time(name: str) -> None:
    here = [job for job in jobs(name).values() if "uses" not in job]

    assert all(5 <= job["timeout-minutes"] <= 350 for job in here)


def test_concurrency_is_as_designed() -> None:
    groups = {name: workflow(name)["concurrency"] for name in NAMES}

    assert groups["official"] == {"group": "official", "cancel-in-progress": False}
    assert groups["site"] == {"group": "site", "cancel-in-progress": False}
    assert groups["preview"] == {"group": "preview-${{ github.event.pull_request.number }}", "cancel-in-progress": True}
    assert [name for name in NAMES if groups[name]["cancel-in-progress"] is True] == ["evaluate", "preview"]
    assert "head_repository.id" in groups["report"]["group"]
    # A group of its own for each comment: a waiting run of a shared group would be dropped for the next one.
    assert groups["commands"]["group"] == "commands-${{ github.event.comment.id }}"


def test_the_official_run_is_a_matrix_whose_shards_stand_alone() -> None:
    strategy = jobs("official")["evaluate"]["strategy"]

    assert strategy["fail-fast"] is False
    assert list(strategy["matrix"]) == ["shard"]
    assert "continue-on-error" not in jobs("official")["evaluate"]


def test_the_next_round_begins_only_where_this_one_changed_what_is_wanted() -> None:
    again = jobs("official")["again"]
    (step,) = [step for step in again["steps"] if "bot again" in step.get("run", "")]

    assert again["needs"] == ["plan", "publish"]
    assert "needs.publish.outputs.again == 'true'" in again["if"]
    assert jobs("official")["publish"]["outputs"] == {"again": "${{ steps.record.outputs.again }}"}
    assert step["run"] == ".venv/bin/pullrank bot again"


def test_official_starts_on_what_can_change_a_score() -> None:
    on = workflow("official")["on"]

    assert on["push"] == {"branches": ["main"], "paths": ["submissions/**", "example_agents/**", *RULES]}
    assert re.fullmatch(r"[1-9]\d? \* \* \* \*", on["schedule"][0]["cron"])


def test_the_bots_push_needs_no_trigger_since_the_same_run_builds_the_site() -> None:
    site = jobs("official")["site"]

    assert site["uses"] == "./.github/workflows/site.yml"
    assert "publish" in site["needs"]


def test_the_preview_artifact_holds_what_the_report_reads() -> None:
    upload = next(step for step in uses("preview") if "upload-artifact" in step["uses"])

    assert upload["with"]["name"] == "preview"
    assert upload["with"]["path"] == "${{ runner.temp }}/preview/"
    assert workflow("report")["on"]["workflow_run"]["workflows"] == [workflow("preview")["name"]]
