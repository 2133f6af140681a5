"""`pullrank bot …`: the commands that GitHub workflows call."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.process_owner import scratch_folder
from evaluator.host.seeds.season_secret import SECRET_VARIABLE
from scripts.console import OK, USAGE, CommandError, say
from scripts.git import pull_numbers
from scripts.git.tree_diff import fetch_head
from scripts.github.api import pull_snapshots
from scripts.github.official import evaluate_shard, plan_shards
from scripts.github.official.publish_round import PublishStep, publish_round
from scripts.github.official.round_work import official_run_of_step
from scripts.github.preview import run_preview
from scripts.github.pull_request import merge_queue, slash_commands
from scripts.github.pull_request.announce_official_scores import announce_merged
from scripts.github.pull_request.bot_context import open_context
from scripts.github.pull_request.find_pull import WORKFLOW_DISPATCH, dispatched_pull_event
from scripts.github.pull_request.reconcile import reconcile_pulls
from scripts.github.pull_request.report_previews import report_recent, wait_for_more
from scripts.github.start_official_run import output_what_is_due, start_official_run_if_due
from scripts.github.workflow.event import (
    WorkflowEnvironment,
    open_clone,
    open_github,
    open_github_for_teams,
    pull_event,
    read_workflow_environment,
)
from scripts.github.workflow.outputs import write_output
from scripts.github.workflow.plan_context import parse_plan_context
from scripts.github.workflow.release_files import write_release
from scripts.github.workflow.sealed_jobs import padded_if_sealed, refuse_secret, required_secret
from scripts.options import Jobs
from scripts.pictures import episode_branch, render_episodes
from scripts.repository.checkout import open_checkout
from scripts.repository.layout import MAIN_BRANCH, OFFICIAL_WORKFLOW
from scripts.runs.local_evaluator import open_evaluator
from scripts.runs.parallel_jobs import AUTO, parse_jobs
from scripts.standings.recorded_standings import recorded_standings
from scripts.static_site import deployed_site

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


@run.command()
def preview(
    head: Annotated[Path, typer.Option(help="A clone that holds the pull request's head; nothing of it is executed.")],
    out: Annotated[Path, typer.Option(help="Folder for preview.json and preview.log.")],
    sandbox: SandboxOrDefault = None,
) -> int:
    """Play a pull request's agents, without access to secrets."""
    refuse_secret(os.environ.pop(SECRET_VARIABLE, ""))
    environment = _environment()
    if environment.event_name == WORKFLOW_DISPATCH:
        environment = dispatched_pull_event(environment, open_github(environment))
        fetch_head(replace(open_clone(environment), path=head.resolve()), pull_event(environment).head_sha)
    return run_preview.preview_pull_request(environment, head, out, sandbox=sandbox)


@run.command()
def wait() -> int:
    """Wait in an hour of many requests, so that more previews are reported at once."""
    return wait_for_more(open_github(_environment()), datetime.now(UTC).timestamp())


@run.command()
def report() -> int:
    """Comment the results of previews on their pull requests."""
    return report_recent(open_context(_environment()))


@run.command()
def command() -> int:
    """Execute a slash command from a comment."""
    return slash_commands.run_slash_command(open_context(_environment()))


@run.command()
def announce(plan_context: PlanJobContext = "") -> int:
    """Comment official scores on merged pull requests."""
    # Only the plan job has a token to look up team members.
    return announce_merged(replace(open_context(_environment()), members=parse_plan_context(plan_context).members))


@run.command()
def reconcile() -> int:
    """Report what was missed and retry what failed on our side."""
    return reconcile_pulls(open_context(_environment()))


@run.command()
def due() -> int:
    """Start an official run if there is something to do."""
    context = open_context(_environment())
    return start_official_run_if_due(context, official_run_of_step(context.workflow, os.environ, None), _site_url())


@run.command()
def built() -> int:
    """Output the commits that the site is about to be built from."""
    environment = _environment()
    challenge = open_checkout(environment.workspace.resolve()).challenge
    commits = deployed_site.current_site_inputs(open_clone(environment), challenge, _site_url(), datetime.now(UTC))
    write_output(environment.output_path, "built", commits.model_dump(mode="json"))
    say(f"The site is built from {commits.main[:12]} of main and {(commits.results or 'no')[:12]} of the results.")
    return OK


@run.command()
def deployed(built: Annotated[str, typer.Option(help="The output of 'pullrank bot built'.")]) -> int:
    """Record the commits that the deployed site was built from."""
    environment = _environment()
    deployed_site.note_deployed(open_clone(environment), deployed_site.parse_built(built), datetime.now(UTC))
    say(f"The branch {deployed_site.DEPLOYED_BRANCH} says what the deployed site was built from.")
    return OK


@run.command()
def release(
    tag: Annotated[str, typer.Option(help="The tag that is released.")],
    image: Annotated[str, typer.Option(help="registry/name@sha256:… of the evaluator image.")],
    out: Annotated[Path, typer.Option(help="Folder for the files; what it holds already is released, too.")],
) -> int:
    """Write the files of a release: source, image, hashes and notes."""
    names = write_release(open_clone(_environment()), tag, image, out)
    say(f"{tag} is {', '.join(names)}.")
    return OK


@run.command()
def queue() -> int:
    """Set the status of a merge queue's commit from the statuses of its pull requests."""
    return merge_queue.set_queue_status(open_context(_environment()))


@run.command()
def again() -> int:
    """Start the official run's next round."""
    open_github(_environment()).dispatch(OFFICIAL_WORKFLOW, MAIN_BRANCH, {})
    say("The next round begins once this one is done.")
    return OK


@run.command()
def pulls() -> int:
    """Record which pull request brought which commit of main, for the site."""
    environment = _environment()
    clone = open_clone(environment)
    try:
        confirmed = pull_snapshots.merged_pulls(open_github(environment), MAIN_BRANCH, pull_numbers.PULLS_ASKED)
        count = pull_numbers.write_pull_numbers(clone, environment.sha, confirmed)
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
    environment = _environment()
    checkout, now = open_checkout(environment.workspace.resolve(), is_lean=True), datetime.now(UTC)
    wanted = render_episodes.render_requests(checkout, recorded_standings(checkout, official=True, now=now))
    folder = render_episodes.episodes_folder(checkout.root)
    changed = episode_branch.update(open_clone(environment), checkout.challenge.season, wanted, folder, now)
    state = "was replaced" if changed else "stays as it is"
    say(f"The branch {episode_branch.EPISODES_BRANCH} {state}; {len(wanted)} results are shown.")
    return OK


@run.command()
def plan(sandbox: SandboxOrDefault = None) -> int:
    """Plan the official run: output its shards, and the commits of main and results they start from."""
    environment = _environment()
    github = open_github_for_teams(environment, os.environ)
    planned = plan_shards.plan_shards(
        replace(official_run_of_step(environment, os.environ, sandbox), is_member=github.is_member)
    )
    plan_shards.output_plan(environment.output_path, planned)
    context = replace(open_context(environment), members=parse_plan_context(planned.plan_context).members)
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
    environment = _environment()
    work = replace(official_run_of_step(environment, os.environ, sandbox), plan_context=parse_plan_context(plan_context))
    checkout = open_checkout(environment.workspace.resolve())
    required_secret(work.secret, checkout.challenge)  # before anything is built
    evaluator = open_evaluator(checkout, sandbox or checkout.challenge.runners.sandbox, official=True)
    assignment = evaluate_shard.ShardAssignment(sha=sha, results_sha=results_sha, shards=shards, shard=shard)
    with padded_if_sealed(checkout.challenge):
        played = evaluate_shard.evaluate_shard(work, evaluator, assignment, out, at_once=at_once)
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
    environment = _environment()
    work = replace(official_run_of_step(environment, os.environ, sandbox), plan_context=parse_plan_context(plan_context))
    assignment = evaluate_shard.ShardAssignment(sha=sha, results_sha=results_sha, shards=shards)
    steps = {PublishStep.CHECK, PublishStep.RECORD} if only == "both" else {PublishStep(only)}
    with scratch_folder("accepted") as temporary:
        publish_round(work, assignment, paths, accepted or Path(temporary), environment, steps)
    return OK


def _environment() -> WorkflowEnvironment:
    return read_workflow_environment(os.environ)


def _site_url() -> str:
    """The site's address, from a variable of the repository."""
    return os.environ.get("PULLRANK_SITE_URL", "")
