"""What every workflow must look like, so that a careless edit of one line does not open a door."""

import fnmatch
import re
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.docker.evaluator_image import WHEELS
from scripts.github.official.evaluate_shard import JOB_STEP_SECONDS
from scripts.github.official.shard_artifacts import shard_folders
from tests.workflows.files import NAMES, WORKFLOWS, jobs, steps, workflow

PRIVILEGED = ["report", "commands", "queue", "evaluate", "official", "reconcile", "site", "image", "release"]
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
    "act": {"act": {"contents": "read"}},
    "ci": {"lint": {"contents": "read"}, "audit": {"contents": "read"}, "test": {"contents": "read"}},
    "nightly": {"nightly": {"contents": "read"}},
    "release": {
        "build": {"contents": "read", "packages": "read"}, "attest": {"id-token": "write", "attestations": "write"},
        "publish": {"contents": "write"},
    },
    "preview": {"preview": {"contents": "read"}},
    "report": {"report": {"actions": "read", "contents": "read", "pull-requests": "write", "statuses": "write"}},
    "commands": {"command": {"actions": "write", "contents": "read", "pull-requests": "write", "statuses": "write"}},
    "evaluate": {
        "play": {"contents": "read", "packages": "read", "pull-requests": "read"},
        "tell": {"actions": "read", "contents": "read", "pull-requests": "write", "statuses": "write"},
    },
    "queue": {"queue": {"contents": "read", "pull-requests": "read", "statuses": "write"}},
    "site": {
        "build": {"contents": "write", "pull-requests": "read"}, "deploy": {"pages": "write", "id-token": "write"},
        "deployed": {"contents": "write"},
    },
    "image": {"image": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"}},
    "official": {
        "plan": {"contents": "read", "pull-requests": "read"},
        "image": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
        "evaluate": {"contents": "read", "packages": "read", "pull-requests": "read"},
        "publish": {"contents": "write", "issues": "write", "pull-requests": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "site": {"contents": "write", "pages": "write", "pull-requests": "read", "id-token": "write"},
        "announce": {"actions": "write", "contents": "read", "pull-requests": "write"},
    },
    "reconcile": {
        "reconcile": {
            "actions": "write", "contents": "read", "issues": "write", "pull-requests": "write", "statuses": "write",
        },
    },
}  # fmt: skip
RULES = ("challenge.yml", "moderation.yml")
TRIGGERS = {
    "act": {"push", "pull_request", "schedule", "workflow_dispatch"},
    "ci": {"push", "pull_request", "merge_group"},
    "nightly": {"schedule", "workflow_dispatch"},
    "release": {"push"},
    "preview": {"pull_request"},
    "report": {"workflow_run"},
    "commands": {"issue_comment"},
    "evaluate": {"workflow_dispatch"},
    "official": {"push", "workflow_dispatch"},
    "queue": {"merge_group"},
    "reconcile": {"schedule", "workflow_dispatch"},
    "site": {"push", "workflow_call", "workflow_dispatch"},
    "image": {"push", "workflow_call", "workflow_dispatch"},
}
# One line, a make target or the command, or GitHub's own for a release; nothing that a shell could take apart.
THIN = re.compile(
    r'(make [a-z]+|\.venv/bin/pullrank [a-z]+( [a-z]+)?( --[a-z-]+( "\$[A-Z_]+(/[a-z]+)?"| _head| \.| check| record)?)*'
    r'|gh release create "\$TAG"( --[a-z-]+( "\$[A-Z_]+(/[a-z]+)?")?)*( "\$[A-Z_]+(/[A-Z0-9]+)?"(/\*\.\*)?)*)'
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


@pytest.mark.attack(
    "pull_request_target", family="bot", outcome="there is none",
    tries="Waits for a workflow that runs a pull request's code with main's token.",
)  # fmt: skip
def test_nothing_runs_on_pull_request_target() -> None:
    assert not [name for name in NAMES if "pull_request_target" in text(name)]


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_pinned_to_the_commit_we_looked_at(name: str) -> None:
    lines = [reference.strip() for reference in re.findall(r"^ +(?:- )?uses: (.*)$", text(name), re.MULTILINE)]
    actions = [line for line in lines if not line.startswith("./.github/workflows/")]

    assert [line for line in actions if line not in {f"{action}@{pin}" for action, pin in PINS.items()}] == []


@pytest.mark.attack(
    "title_or_branch_in_a_shell", family="bot", outcome="no expression stands in a script",
    tries="Names a branch, title or label like a shell command.",
)  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_no_expression_reaches_a_shell(name: str) -> None:
    assert [step["run"] for _, step in steps(name) if "${{" in step.get("run", "")] == []


@pytest.mark.attack(
    "title_or_branch_as_a_name", family="bot", outcome="names hold numbers and versions of ours",
    tries="Names a branch or title so that the name of a job or an artifact holds it.",
)  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_names_of_jobs_and_artifacts_hold_nothing_that_was_typed(name: str) -> None:
    whole = workflow(name)
    named = [whole.get("run-name", ""), *(job.get("name", "") for job in whole["jobs"].values())]
    named += [step.get("name", "") for _, step in steps(name)]
    named += [str(step["with"]["name"]) for _, step in steps(name) if "name" in step.get("with", {})]
    expressions = {part for one in named for part in re.findall(r"\$\{\{ *(.*?) *\}\}", one)}

    assert expressions <= {"matrix.shard", "matrix.list", "matrix.python", "matrix.part"}


@pytest.mark.attack(
    "file_of_the_environment", family="bot", outcome="no step writes these files",
    tries="Gets text into the file from which later steps take their environment or their path.",
)  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_no_step_writes_the_environment_of_others(name: str) -> None:
    assert not re.search(r"GITHUB_(ENV|PATH|STATE)\b", text(name))
    ours = (WORKFLOWS.parents[1] / "scripts").rglob("*.py")
    assert not [path for path in ours if re.search(r"GITHUB_(ENV|PATH|STATE)\b", path.read_text())]


@pytest.mark.parametrize("name", NAMES)
def test_run_lines_are_thin(name: str) -> None:
    assert [step["run"] for _, step in steps(name) if "run" in step and not THIN.fullmatch(step["run"])] == []
    assert not [step for _, step in steps(name) if "shell" in step or "working-directory" in step]


@pytest.mark.parametrize("name", NAMES)
def test_a_checkout_leaves_no_token_behind(name: str) -> None:
    checkouts = [step for step in uses(name) if step["uses"].startswith("actions/checkout@")]

    assert [step["with"]["persist-credentials"] for step in checkouts] == [False] * len(checkouts)
    assert not [step for step in checkouts if {"token", "ssh-key", "submodules"} & set(step["with"])]
    # Of other repositories only the actions are taken, at the commits that are pinned (test_facts.py), to be tested with.
    assert {job for job, step in steps(name) if "repository" in step.get("with", {})} <= {"act"}


@pytest.mark.parametrize("name", NAMES)
def test_no_checkout_takes_every_branch(name: str) -> None:
    """git's own word for a whole history is the greatest depth; the action takes 0 for every branch and tag."""
    depths = [step["with"].get("fetch-depth", 1) for step in uses(name) if step["uses"].startswith("actions/checkout@")]

    assert set(depths) <= {1, 2147483647}


@pytest.mark.attack(
    "head_checked_out_with_rights", family="bot", outcome="there is none",
    tries="Waits for a privileged job that checks a pull request's code out.",
)  # fmt: skip
@pytest.mark.parametrize("name", PRIVILEGED)
def test_a_privileged_workflow_never_checks_out_a_head(name: str) -> None:
    refs = [step["with"].get("ref", "main") for step in uses(name) if step["uses"].startswith("actions/checkout@")]
    ours = {"main", "${{ fromJSON(needs.plan.outputs.sha) }}"}

    assert set(refs) <= ours
    assert "head.sha" not in text(name)
    assert "refs/pull" not in text(name)


@pytest.mark.attack(
    "poisoned_cache", family="supply", outcome="nothing is cached",
    tries="Fills a cache of a pull request's run that main's runs would restore.",
)  # fmt: skip
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
    # Nothing is deployed with it: else GitHub would list a deployment for every hour.
    season = {"name": "season", "deployment": False}
    held = [
        (name, job) for name in NAMES for job, definition in jobs(name).items() if definition.get("environment") == season
    ]

    assert reading == [("official", "evaluate", "Evaluate"), ("official", "publish", "Check and replay")]
    assert held == [("official", "plan"), ("official", "evaluate"), ("official", "publish")]


def test_the_token_for_teams_reaches_the_one_step_that_asks_who_is_a_member() -> None:
    reading = [(name, job, step["name"]) for name in NAMES for job, step in steps(name) if "TEAMS_TOKEN" in str(step)]
    (announcing,) = [step for _, step in steps("official") if step["name"] == "Announce"]

    assert reading == [("official", "plan", "Plan")]
    assert announcing["env"]["PLAN_CONTEXT"] == "${{ fromJSON(needs.plan.outputs.plan_context) }}"


def test_whoever_evaluates_knows_where_torchs_cpu_build_is_and_no_participant_says_where() -> None:
    """The index is a variable of the repository, which only who may write to its settings can set; else PyTorch's own."""
    public = "${{ vars.PULLRANK_WHEELS || 'https://download.pytorch.org/whl/cpu' }}"
    environments = {
        (name, job, step["name"]): step["env"] for name in NAMES for job, step in steps(name) if WHEELS in str(step)
    }

    assert set(environments) == {
        ("preview", "preview", "Preview"), ("evaluate", "play", "Play"), ("official", "evaluate", "Evaluate"),
        ("ci", "test", "Test"), ("nightly", "nightly", "Run"),
    }  # fmt: skip
    assert {env[WHEELS] for env in environments.values()} == {public}


def test_in_the_untrusted_tier_a_token_reaches_only_the_step_that_reads_the_results() -> None:
    given = [step["name"] for _, step in steps("preview") if "TOKEN" in str(step) or "github.token" in str(step)]

    assert given == ["Recorded results"]
    assert "secrets" not in text("preview")
    assert jobs("preview")["preview"]["permissions"] == {"contents": "read"}
    assert [step["with"]["path"] for step in uses("preview") if step.get("with", {}).get("ref", "").startswith("${{")] == [
        "_head"
    ]
    assert next(step for step in uses("preview"))["with"]["ref"] == "main"


@pytest.mark.attack(
    "token_of_the_job_that_runs_agents", family="bot", outcome="it cannot write",
    tries="Steals the token of the job that runs the agent.",
)  # fmt: skip
def test_who_runs_agents_can_not_write() -> None:
    plays = re.compile(r"pullrank bot (preview|evaluate) ")
    running = [(name, job) for name in NAMES for job, step in steps(name) if plays.search(step.get("run", ""))]

    assert running == [("evaluate", "play"), ("official", "evaluate"), ("preview", "preview")]
    assert {right for name, job in running for right in jobs(name)[job]["permissions"].values()} == {"read"}


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
    # One report at a time tells all whose previews ended, so a waiting one that is replaced loses nothing.
    assert groups["report"] == {"group": "report", "cancel-in-progress": False}
    # A group of its own for each comment: a waiting run of a shared group would be dropped for the next one.
    assert groups["commands"]["group"] == "commands-${{ github.event.comment.id }}"


def test_no_push_replaces_the_hourly_look_at_open_pull_requests() -> None:
    """A group keeps one waiting run, and each push's official run takes the place of the one that waits."""
    everybody_else = [workflow(name)["concurrency"]["group"] for name in NAMES if name != "reconcile"]

    assert workflow("reconcile")["concurrency"] == {"group": "reconcile", "cancel-in-progress": False}
    assert "reconcile" not in everybody_else
    assert "reconcile" not in jobs("official")
    assert "push" not in workflow("reconcile")["on"]
    assert re.fullmatch(r"[1-9]\d? \* \* \* \*", workflow("reconcile")["on"]["schedule"][0]["cron"])


def test_the_official_run_is_a_matrix_whose_shards_stand_alone() -> None:
    strategy = jobs("official")["evaluate"]["strategy"]

    assert strategy["fail-fast"] is False
    assert list(strategy["matrix"]) == ["shard"]
    assert "continue-on-error" not in jobs("official")["evaluate"]


def test_a_shard_that_runs_out_of_time_hands_in_what_is_done() -> None:
    """A step that runs out of time fails; a job that does is cancelled, and then nothing is uploaded."""
    job = jobs("official")["evaluate"]
    (play,) = [step for step in job["steps"] if "bot evaluate" in step.get("run", "")]
    (upload,) = [step for step in job["steps"] if step["name"] == "Upload"]

    assert play["timeout-minutes"] <= job["timeout-minutes"] - 20
    assert 60 * play["timeout-minutes"] - 300 >= JOB_STEP_SECONDS
    assert upload["if"] == "${{ !cancelled() }}"


def test_the_next_round_begins_only_where_this_one_changed_what_is_wanted() -> None:
    announce = jobs("official")["announce"]
    (step,) = [step for step in announce["steps"] if "bot again" in step.get("run", "")]

    assert "publish" in announce["needs"]
    assert step["if"] == "needs.publish.result == 'success' && needs.publish.outputs.again == 'true'"
    assert jobs("official")["publish"]["outputs"]["again"] == "${{ steps.record.outputs.again }}"
    assert step["run"] == ".venv/bin/pullrank bot again"


def test_official_starts_on_what_can_change_a_score() -> None:
    on = workflow("official")["on"]

    assert on["push"] == {"branches": ["main"], "paths": ["submissions/**", "example_agents/**", *RULES]}


def test_the_hourly_job_begins_an_official_run_whatever_became_of_what_it_did_before() -> None:
    job = jobs("reconcile")["reconcile"]
    *_, before, last = job["steps"]

    # A step that runs out of time fails; a job that does is cancelled, and nothing of it goes on.
    assert before["timeout-minutes"] <= job["timeout-minutes"] - 5
    assert last["run"] == ".venv/bin/pullrank bot due"
    assert last["if"] == "${{ !cancelled() && steps.here.outputs.here == 'true' }}"
    assert len(jobs("reconcile")) == 1


def test_what_the_site_was_built_from_is_asked_before_anything_is_read_and_noted_after_it_is_deployed() -> None:
    """What changes in between is then found to be new, and what fails in between leaves the older note."""
    building = [step["run"] for step in jobs("site")["build"]["steps"] if "run" in step]
    given = [
        step["env"].get("PULLRANK_SITE_URL") for name in ("site", "official", "reconcile") for _, step in steps(name)
        if re.fullmatch(r".*pullrank (bot built|bot plan|bot due|site build --official)", step.get("run", ""))
    ]  # fmt: skip

    assert building[2:] == [
        ".venv/bin/pullrank bot built", "make recorded", ".venv/bin/pullrank bot episodes", ".venv/bin/pullrank bot pulls",
        ".venv/bin/pullrank site build --official",
    ]  # fmt: skip
    assert given == ["${{ vars.PULLRANK_SITE_URL }}"] * 4
    assert jobs("site")["deployed"]["needs"] == ["build", "deploy"]
    (note,) = [step for step in jobs("site")["deployed"]["steps"] if "bot deployed" in step.get("run", "")]
    assert note["env"]["BUILT"] == "${{ needs.build.outputs.built }}"


def test_only_deploy_can_deploy_and_it_runs_nothing_of_ours() -> None:
    able = [(name, job) for name in NAMES for job, granted in PERMISSIONS[name].items() if "pages" in granted]

    assert able == [("official", "site"), ("site", "deploy")]
    assert [step["uses"].partition("@")[0] for step in jobs("site")["deploy"]["steps"]] == ["actions/deploy-pages"]


def test_a_shard_is_never_the_only_artifact_that_publish_downloads() -> None:
    """The only one that a pattern matches is unpacked without a folder of its name; the plan's is always there before."""
    own = [step for job, step in steps("official") if job == "plan" and "upload-artifact" in step.get("uses", "")]
    shard = next(step for job, step in steps("official") if job == "evaluate" and "upload-artifact" in step.get("uses", ""))
    (download,) = [
        step for job, step in steps("official") if job == "publish" and "download-artifact" in step.get("uses", "")
    ]
    pattern = download["with"]["pattern"]

    assert [step["if"] for step in own] == [
        "${{ steps.here.outputs.here == 'true' && steps.plan.outputs.count != '0' }}",
    ]
    assert fnmatch.fnmatch(own[0]["with"]["name"], pattern)
    assert fnmatch.fnmatch(shard["with"]["name"].replace("${{ matrix.shard }}", "0"), pattern)
    assert shard_folders([Path(own[0]["with"]["name"])]) == []
    assert "plan" in jobs("official")["publish"]["needs"]


def test_what_is_attested_is_named_by_the_number_of_its_artifact() -> None:
    attest = jobs("official")["attest"]
    (download,) = [step for step in attest["steps"] if "download-artifact" in step["uses"]]

    assert set(download["with"]) == {"artifact-ids", "path"}
    assert jobs("official")["publish"]["outputs"]["lists"] == "${{ steps.lists.outputs.artifact-id }}"
    assert attest["if"] == "${{ !cancelled() && needs.publish.result != 'skipped' && needs.publish.outputs.lists != '' }}"
    assert "environment" not in attest


def test_the_bots_push_needs_no_trigger_since_the_same_run_builds_the_site() -> None:
    site = jobs("official")["site"]

    assert site["uses"] == "./.github/workflows/site.yml"
    assert "publish" in site["needs"]


def test_the_preview_artifact_holds_what_the_report_reads() -> None:
    upload = next(step for step in uses("preview") if "upload-artifact" in step["uses"])

    assert upload["with"]["name"] == "preview"
    assert upload["with"]["path"] == "${{ runner.temp }}/preview/"
    assert workflow("report")["on"]["workflow_run"]["workflows"] == [workflow("preview")["name"]]


READS_THE_REMOTE = ("make recorded", "pullrank recorded", "pullrank bot ")


def test_whatever_asks_the_remote_has_a_token() -> None:
    reading = [(name, job, step) for name in NAMES for job, step in steps(name) if _asks_the_remote(step.get("run", ""))]
    without = [
        f"{name}/{job}: {step['name']}" for name, job, step in reading
        if (step.get("env") or {}).get("GITHUB_TOKEN") != "${{ github.token }}"
    ]  # fmt: skip

    assert len(reading) >= 15
    # One plays strangers' agents, the other packs files; what they read is on the disk already.
    assert without == ["preview/preview: Preview", "release/build: Write the files"]


def _asks_the_remote(script: str) -> bool:
    return any(words in script for words in READS_THE_REMOTE)


def test_a_release_is_attested_before_it_is_published_and_built_by_a_job_that_can_write_nothing() -> None:
    release = jobs("release")
    signing = [step["with"] for step in release["attest"]["steps"] if "actions/attest@" in step["uses"]]

    assert workflow("release")["on"] == {"push": {"tags": ["v*"]}}
    assert {"build", "attest"} == set(release["publish"]["needs"])
    assert release["publish"]["if"] == "needs.attest.result == 'success'"
    assert "continue-on-error" not in str(release)
    assert [sorted(one) for one in signing] == [["subject-checksums"], ["sbom-path", "subject-digest", "subject-name"]]
    assert [job for job, one in release.items() if one.get("environment") == "release"] == ["attest", "publish"]
    assert [job for job, step in steps("release") if "checkout@" in step.get("uses", "")] == ["build"]
    assert set(release["build"]["permissions"].values()) == {"read"}


def test_what_only_the_softwares_own_repository_runs_asks_one_variable() -> None:
    asked = {name for name in NAMES if "vars.PULLRANK_UPSTREAM == 'true'" in text(name)}

    assert asked == {"act", "nightly", "release"}


def test_the_nightly_parts_are_the_makefiles() -> None:
    (parts,) = re.findall(r"^NIGHTLY := (.*)$", (WORKFLOWS.parents[1] / "Makefile").read_text(), re.MULTILINE)

    assert jobs("nightly")["nightly"]["strategy"] == {"fail-fast": False, "matrix": {"part": parts.split()}}
    assert [
        step["env"]["PART"] for _, step in steps("nightly") if step["run" if "run" in step else "uses"] == "make nightly"
    ] == ["${{ matrix.part }}"]
