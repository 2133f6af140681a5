"""`pullrank bot …`: the commands that GitHub workflows call."""

import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.process_owner import scratch_folder
from evaluator.host.seeds.season_secret import SECRET_VARIABLE
from scripts.console import OK, USAGE, CommandError, escape_commands, say
from scripts.git import merged_pulls
from scripts.git.git_repository import Credentials, GitRepository
from scripts.git.tree_diff import fetch_head
from scripts.github.api import pull_snapshots
from scripts.github.api.client import GitHub
from scripts.github.doctor.protection_checks import TEAMS_VARIABLE
from scripts.github.due import output_what_is_due, start_due_run
from scripts.github.official import commit_facts, shard_jobs
from scripts.github.official.publish_round import PublishStep, publish_round
from scripts.github.official.workload import OfficialRun, open_official
from scripts.github.preview import run_preview
from scripts.github.pull_request import merge_queue, slash_commands
from scripts.github.pull_request.announce import announce_merged
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.judge_preview import WORKFLOW_DISPATCH, dispatched_pull_event
from scripts.github.pull_request.reconcile import reconcile_pulls
from scripts.github.pull_request.report_previews import report_recent, wait_for_more
from scripts.github.workflow.event import WorkflowEnvironment, pull_event, read_workflow_environment
from scripts.github.workflow.outputs import write_output
from scripts.github.workflow.plan_context import parse_plan_context, refuse_secret, season_secret, seconds_to_wait
from scripts.github.workflow.release_files import write_release
from scripts.options import Jobs
from scripts.repository.checkout import base_image, open_checkout
from scripts.repository.layout import MAIN_BRANCH, OFFICIAL_WORKFLOW
from scripts.runs.local_evaluator import open_evaluator
from scripts.runs.parallel_jobs import AUTO, parse_jobs
from scripts.standings.recorded_standings import recorded_standings
from scripts.static_site import deployed_site, episode_branch, render_episodes

run = typer.Typer(help="Commands for the GitHub workflows.", no_args_is_help=True)


def _official_sandbox(name: str | None) -> str | None:
    """The option of official runs and previews, which takes nothing but the sandbox that challenge.yml names."""
    sandbox = open_checkout(Path.cwd()).challenge.runners.sandbox if name else None
    if name != sandbox:
        raise CommandError(
            USAGE, f"challenge.yml evaluates in {sandbox}, and so does every workflow; leave out --sandbox {name}"
        )
    return name


SandboxOrDefault = Annotated[
    str | None,
    typer.Option("--sandbox", callback=_official_sandbox, help="The one of challenge.yml's runners, which is the default."),
]
PlanJobContext = Annotated[
    str, typer.Option("--plan-context", help="The plan job's output; the current time when left out.")
]
MainSha = Annotated[str, typer.Option(help="The commit of main.")]
ResultsSha = Annotated[str, typer.Option(help="The commit of the results branch; empty before the first.")]
# How many deferred evaluations are printed.
MAX_DEFERRED_LINES = 200


@run.command()
def preview(
    head: Annotated[Path, typer.Option(help="A clone that holds the pull request's head; nothing of it is executed.")],
    out: Annotated[Path, typer.Option(help="Folder for preview.json and preview.log.")],
    sandbox: SandboxOrDefault = None,
) -> int:
    """Play a pull request's agents, without access to secrets."""
    refuse_secret(os.environ.pop(SECRET_VARIABLE, ""))
    environment = read_workflow_environment(os.environ)
    if environment.event_name == WORKFLOW_DISPATCH:
        environment = dispatched_pull_event(environment, _github(environment))
        fetch_head(replace(_clone(environment), path=head.resolve()), pull_event(environment).head_sha)
    return run_preview.preview_pull_request(environment, head, out, sandbox=sandbox)


@run.command()
def wait() -> int:
    """Wait in an hour of many requests, so that more previews are reported at once."""
    return wait_for_more(_github(read_workflow_environment(os.environ)), datetime.now(UTC).timestamp())


@run.command()
def report() -> int:
    """Comment the results of previews on their pull requests."""
    return report_recent(_bot_context())


@run.command()
def command() -> int:
    """Execute a slash command from a comment."""
    return slash_commands.run_slash_command(_bot_context())


@run.command()
def announce(plan_context: PlanJobContext = "") -> int:
    """Comment official scores on merged pull requests."""
    # Only the plan job has a token to look up team members.
    return announce_merged(replace(_bot_context(), members=parse_plan_context(plan_context).members))


@run.command()
def reconcile() -> int:
    """Report what was missed and retry what failed on our side."""
    return reconcile_pulls(_bot_context())


@run.command()
def due() -> int:
    """Start an official run if there is something to do."""
    context = _bot_context()
    return start_due_run(context, _official_run(context.workflow, None), _site_url())


@run.command()
def built() -> int:
    """Output the commits that the site is about to be built from."""
    environment = read_workflow_environment(os.environ)
    challenge = open_checkout(environment.workspace.resolve()).challenge
    commits = deployed_site.current_site_inputs(_clone(environment), challenge, _site_url(), datetime.now(UTC))
    write_output(environment.output_path, "built", commits.model_dump(mode="json"))
    say(f"The site is built from {commits.main[:12]} of main and {(commits.results or 'no')[:12]} of the results.")
    return OK


@run.command()
def deployed(
    built: Annotated[str, typer.Option(help="The output of 'pullrank bot built'.")],
) -> int:
    """Record the commits that the deployed site was built from."""
    environment = read_workflow_environment(os.environ)
    deployed_site.write_note(_clone(environment), deployed_site.parse_built(built), datetime.now(UTC))
    say(f"The branch {deployed_site.DEPLOYED_BRANCH} says what the deployed site was built from.")
    return OK


@run.command()
def release(
    tag: Annotated[str, typer.Option(help="The tag that is released.")],
    image: Annotated[str, typer.Option(help="registry/name@sha256:… of the evaluator image.")],
    out: Annotated[Path, typer.Option(help="Folder for the files; what it holds already is released, too.")],
) -> int:
    """Write the files of a release: source, image, hashes and notes."""
    names = write_release(_clone(read_workflow_environment(os.environ)), tag, image, out)
    say(f"{tag} is {', '.join(names)}.")
    return OK


@run.command()
def queue() -> int:
    """Set the status of a merge queue's commit from the statuses of its pull requests."""
    return merge_queue.set_queue_status(_bot_context())


@run.command()
def again() -> int:
    """Start the official run's next round."""
    _github(read_workflow_environment(os.environ)).dispatch(OFFICIAL_WORKFLOW, MAIN_BRANCH, {})
    say("The next round begins once this one is done.")
    return OK


@run.command()
def pulls() -> int:
    """Record which pull request brought which commit of main, for the site."""
    environment = read_workflow_environment(os.environ)
    clone = _clone(environment)
    try:
        confirmed = pull_snapshots.merged_pulls(_github(environment), MAIN_BRANCH, merged_pulls.PULLS_ASKED)
        count = merged_pulls.write_confirmed(clone, environment.sha, confirmed)
    except CommandError as error:  # The site can be built without pull request numbers.
        say(f"No pull request is confirmed: {error}")
        write_output(environment.output_path, "asked", False)
        return OK
    write_output(environment.output_path, "asked", True)
    say(f"{count} commits of main are confirmed to have merged a pull request.")
    return OK


@run.command()
def episodes() -> int:
    """Render missing episodes of the best entries and push them to their branch."""
    environment = read_workflow_environment(os.environ)
    checkout, now = open_checkout(environment.workspace.resolve(), is_lean=True), datetime.now(UTC)
    wanted = render_episodes.wanted_episodes(checkout, recorded_standings(checkout, official=True, now=now))
    folder = render_episodes.episodes_folder(checkout.root)
    changed = episode_branch.update(_clone(environment), checkout.challenge.season, wanted, folder, now)
    state = "was replaced" if changed else "stays as it is"
    say(f"The branch {episode_branch.EPISODES_BRANCH} {state}; {len(wanted)} results are shown.")
    return OK


@run.command()
def plan(sandbox: SandboxOrDefault = None) -> int:
    """Plan the official run: output its shards, and the commits of main and results they start from."""
    environment = read_workflow_environment(os.environ)
    github = _github_for_teams(environment)
    planned = shard_jobs.plan_shards(replace(_official_run(environment, sandbox), is_member=github.is_member))
    outputs = planned.outputs()
    for name, value in {**outputs, "runner": outputs["labels"]}.items():
        write_output(environment.output_path, name, value)
    for line in planned.held[:MAX_DEFERRED_LINES]:
        say(f"Not now: {escape_commands(line)}")
    say(f"{planned.count} evaluations in {len(planned.shards)} shards, {planned.expected_minutes:.0f} minutes expected.")
    context = replace(_bot_context(), members=parse_plan_context(planned.plan_context).members)
    output_what_is_due(context, planned, _site_url())
    return OK


@run.command()
def evaluate(
    shard: Annotated[int, typer.Option(help="The shard's number.")],
    shards: Annotated[int, typer.Option(help="The number of shards.")],
    sha: MainSha,
    out: Annotated[Path, typer.Option(help="Folder for results and traces.")],
    results_sha: ResultsSha = "",
    sandbox: SandboxOrDefault = None,
    plan_context: PlanJobContext = "",
    jobs: Jobs = AUTO,
) -> int:
    """Play one shard of the official run."""
    at_once = parse_jobs(jobs)
    environment = read_workflow_environment(os.environ)
    started, work = (
        time.monotonic(),
        replace(_official_run(environment, sandbox), plan_context=parse_plan_context(plan_context)),
    )
    checkout = open_checkout(environment.workspace.resolve())
    season_secret(work.secret, checkout.challenge)  # before anything is built
    evaluator = open_evaluator(checkout, sandbox or checkout.challenge.runners.sandbox, official=True)
    assignment = shard_jobs.ShardAssignment(sha=sha, results_sha=results_sha, shards=shards, shard=shard)
    played = shard_jobs.evaluate_shard(work, evaluator, assignment, out, at_once=at_once)
    if checkout.challenge.sealed:
        time.sleep(seconds_to_wait(time.monotonic() - started))
    say(f"{played} evaluations are in {out}.")
    return OK


@run.command()
def publish(
    paths: Annotated[list[Path], typer.Option("--in", help="Folders of shards; may be given again.")],
    sha: MainSha,
    shards: Annotated[int, typer.Option(help="Shards of the round.")],
    results_sha: ResultsSha = "",
    accepted: Annotated[Path | None, typer.Option(help="Folder for accepted results, which are attested.")] = None,
    only: Annotated[str, typer.Option(help="check, record, or both.")] = "both",
    sandbox: SandboxOrDefault = None,
    plan_context: PlanJobContext = "",
) -> int:
    """Check, replay and record the shards' results."""
    if only not in ("check", "record", "both"):
        raise CommandError(USAGE, f"--only {only!r} is unknown; it is check, record or both")
    environment = read_workflow_environment(os.environ)
    work = replace(_official_run(environment, sandbox), plan_context=parse_plan_context(plan_context))
    assignment = shard_jobs.ShardAssignment(sha=sha, results_sha=results_sha, shards=shards)
    steps = {PublishStep.CHECK, PublishStep.RECORD} if only == "both" else {PublishStep(only)}
    with scratch_folder("accepted") as temporary:
        publish_round(work, assignment, paths, accepted or Path(temporary), _github(environment), environment, steps)
    return OK


def _site_url() -> str:
    """The site's address, from a variable of the repository."""
    return os.environ.get("PULLRANK_SITE_URL", "")


def _github(environment: WorkflowEnvironment) -> GitHub:
    if not environment.token:
        raise CommandError(USAGE, "GITHUB_TOKEN is not set; give it to the step by env")
    return GitHub(
        environment.token, environment.api_url, environment.repository,
        graphql_url=environment.graphql_url, pace=environment.pace,
    )  # fmt: skip


def _github_for_teams(environment: WorkflowEnvironment) -> GitHub:
    """GitHub with the token that may read teams, if set: the workflow's own token sees public members only."""
    token = os.environ.pop(TEAMS_VARIABLE, "")
    return _github(replace(environment, token=token) if token else environment)


def _clone(environment: WorkflowEnvironment) -> GitRepository:
    credentials = Credentials(server_url=environment.server_url, token=environment.token) if environment.token else None
    return GitRepository(environment.workspace.resolve(), credentials)


def _bot_context() -> BotContext:
    environment = read_workflow_environment(os.environ)
    checkout = open_checkout(environment.workspace.resolve())
    return BotContext(workflow=environment, github=_github(environment), checkout=checkout, clone=_clone(environment))


def _official_run(environment: WorkflowEnvironment, sandbox: str | None) -> OfficialRun:
    github = _github(environment)
    sandbox = sandbox or open_checkout(environment.workspace.resolve()).challenge.runners.sandbox
    runtime, ask = (sandbox, base_image(os.environ)), partial(commit_facts.ask_github, github.query, environment.repository)
    opened = open_official(_clone(environment), runtime, ask, environment.run_url)
    # Removed from the environment, so that no child process inherits it.
    return replace(opened, secret=os.environ.pop(SECRET_VARIABLE, ""))
