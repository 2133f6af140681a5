"""`pullrank bot …`: the verbs that workflows call. Each reads where it runs and calls its module."""

import os
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.seeds.season_secret import VARIABLE
from scripts.console import OK, USAGE, CommandError, say
from scripts.git import merged_pulls as merging
from scripts.git.git_repository import Credentials, GitRepository
from scripts.git.tree_diff import fetch_head
from scripts.github import due as looking
from scripts.github.api.client import GitHub, GitHubError
from scripts.github.doctor.settings import TEAMS_VARIABLE
from scripts.github.official import commit_facts, empty_rounds, shard_jobs
from scripts.github.official import publish as publishing
from scripts.github.official.workload import OfficialRun, open_official
from scripts.github.preview import run_preview as previewing
from scripts.github.pull_request import announce as announcing
from scripts.github.pull_request import merge_queue
from scripts.github.pull_request import reconcile as reconciling
from scripts.github.pull_request import report as reporting
from scripts.github.pull_request import slash_commands as commanding
from scripts.github.pull_request.bot_context import BASE, BotContext
from scripts.github.pull_request.report import DISPATCH, as_pull_event
from scripts.github.workflow.event import WorkflowEnvironment, pull_event, read_workflow_environment
from scripts.github.workflow.outputs import escape_commands, write_output, write_summary
from scripts.github.workflow.run_context import parse_run_context
from scripts.github.workflow.season_key import refuse_secret, season_secret, waiting
from scripts.repository.checkout import base_image, open_checkout
from scripts.repository.recorded_standings import recorded_standings
from scripts.runs.evaluate_missing import open_evaluator
from scripts.static_site import deployed_commit as noting
from scripts.static_site import episode_branch as keeping
from scripts.static_site import render_episodes as rendering

run = typer.Typer(help="What the workflows on GitHub call.", no_args_is_help=True)

Sandbox = Annotated[str, typer.Option(help="docker or gvisor.")]
OwnSandbox = Annotated[
    str | None, typer.Option("--sandbox", help="docker or gvisor; else what challenge.yml's runners say.")
]


PlannedAt = Annotated[str, typer.Option("--moment", help="What the plan job says of its moment; now when left out.")]
# So many lines of what is kept out are printed.
HELD_LINES = 200


@run.command()
def preview(
    head: Annotated[Path, typer.Option(help="A clone that holds the pull request's head; never executed.")],
    out: Annotated[Path, typer.Option(help="Where preview.json and preview.log go.")],
    sandbox: Sandbox = "docker",
) -> int:
    """Play a pull request's agents; the untrusted tier."""
    refuse_secret(os.environ.pop(VARIABLE, ""))
    surroundings = read_workflow_environment(os.environ)
    if surroundings.event_name == DISPATCH:
        surroundings = as_pull_event(surroundings, _github(surroundings), BASE)
        fetch_head(replace(_clone(surroundings), path=head.resolve()), pull_event(surroundings).head_sha)
    return previewing.run(surroundings, head, out, sandbox=sandbox)


@run.command()
def report() -> int:
    """Tell a pull request what became of its preview."""
    return reporting.run(_desk())


@run.command()
def command() -> int:
    """Obey a slash command in a comment."""
    return commanding.run(_desk())


@run.command()
def announce(moment: PlannedAt = "") -> int:
    """Tell merged pull requests their official scores."""
    # Who is in a team was asked once, by the job that has a token for it.
    return announcing.run(replace(_desk(), members=parse_run_context(moment).members))


@run.command()
def reconcile() -> int:
    """Find what was missed, say it, try again what failed on our side."""
    return reconciling.run(_desk())


@run.command()
def due() -> int:
    """Begin an official run if it would have something to do."""
    desk = _desk()
    return looking.run(desk, _official(desk.surroundings, None), _address())


@run.command()
def built() -> int:
    """Hand on what the site is about to be built from."""
    surroundings = read_workflow_environment(os.environ)
    challenge = open_checkout(surroundings.workspace.resolve()).challenge
    made = noting.built_now(_clone(surroundings), challenge, _address(), datetime.now(UTC))
    write_output(surroundings.output_path, "built", made.model_dump(mode="json"))
    say(f"The site is built from {made.main[:12]} of main and {(made.results or 'no')[:12]} of the results.")
    return OK


@run.command()
def deployed(
    built: Annotated[str, typer.Option(help="What 'pullrank bot built' handed on before the site was built.")],
) -> int:
    """Note on its branch what the site that was deployed is built from."""
    noting.write_note(_clone(read_workflow_environment(os.environ)), noting.parse_built(built), datetime.now(UTC))
    say(f"The branch {noting.BRANCH} says what the deployed site was built from.")
    return OK


@run.command()
def queue() -> int:
    """Tell a merge queue's commit what was said of its pull requests."""
    return merge_queue.run(_desk())


@run.command()
def again() -> int:
    """Begin the official run's next round."""
    _github(read_workflow_environment(os.environ)).dispatch(reconciling.OFFICIAL, BASE, {})
    say("The next round begins once this one is done.")
    return OK


@run.command()
def pulls() -> int:
    """Note which pull request brought which commit of main, for the site's pages."""
    surroundings = read_workflow_environment(os.environ)
    clone = _clone(surroundings)
    try:
        merged = _github(surroundings).merged_pulls(BASE, merging.ASKED)
        count = merging.write_confirmed(clone, surroundings.sha, merged)
    except GitHubError as error:  # The site without some numbers is better than none.
        say(f"No pull request is confirmed: {error}")
        write_output(surroundings.output_path, "asked", False)
        return OK
    write_output(surroundings.output_path, "asked", True)
    say(f"{count} commits of main are confirmed to have merged a pull request.")
    return OK


@run.command()
def episodes() -> int:
    """Render the best entries' episodes that are not rendered yet, and keep them on their branch."""
    surroundings = read_workflow_environment(os.environ)
    board, now = open_checkout(surroundings.workspace.resolve(), is_lean=True), datetime.now(UTC)
    every = rendering.wanted(board, recorded_standings(board, official=True, now=now))
    changed = keeping.update(_clone(surroundings), board.challenge.season, every, rendering.place(board.root), now)
    say(f"The branch {keeping.BRANCH} {'was replaced' if changed else 'stays as it is'}; {len(every)} results are shown.")
    return OK


@run.command()
def plan(sandbox: OwnSandbox = None) -> int:
    """Hand on how many shards the official run has, and which two commits they work from."""
    surroundings = read_workflow_environment(os.environ)
    github = _teams(surroundings)
    planned = shard_jobs.plan(replace(_official(surroundings, sandbox), is_member=github.is_member))
    outputs = planned.outputs()
    for name, value in {**outputs, "runner": outputs["labels"]}.items():
        write_output(surroundings.output_path, name, value)
    for line in planned.held[:HELD_LINES]:
        say(f"Not now: {escape_commands(line)}")
    say(f"{planned.count} evaluations in {len(planned.shards)} shards, {planned.expected_minutes:.0f} minutes expected.")
    _rest(planned)
    return OK


def _rest(planned: shard_jobs.PlannedShards) -> None:
    """Hand on whether the site is to be built and somebody to be told something: always after something is recorded."""
    desk = replace(_desk(), members=parse_run_context(planned.moment).members)
    records = bool(planned.count or planned.unasked)
    site = records or looking.is_site_due(desk, _address())
    announcements = records or looking.is_announcement_due(desk)
    for name, reason in (("site", site), ("announce", announcements)):
        write_output(desk.surroundings.output_path, name, bool(reason))
        if isinstance(reason, str):
            say(f"{name}: {reason or 'nothing is due'}.")


@run.command()
def evaluate(
    shard: Annotated[int, typer.Option(help="Which.")],
    shards: Annotated[int, typer.Option(help="Of how many.")],
    sha: Annotated[str, typer.Option(help="The commit of main.")],
    out: Annotated[Path, typer.Option(help="Where results and traces go.")],
    results_sha: Annotated[str, typer.Option(help="The commit of the results branch; empty before the first.")] = "",
    sandbox: OwnSandbox = None,
    moment: PlannedAt = "",
) -> int:
    """Play one shard of the official run."""
    surroundings = read_workflow_environment(os.environ)
    begun, work = time.monotonic(), replace(_official(surroundings, sandbox), moment=parse_run_context(moment))
    board = open_checkout(surroundings.workspace.resolve())
    season_secret(work.secret, board.challenge)  # before anything is built
    bench = open_evaluator(board, sandbox or board.challenge.runners.sandbox)
    assignment = shard_jobs.ShardAssignment(sha=sha, results_sha=results_sha, shards=shards, shard=shard)
    played = shard_jobs.evaluate(work, bench, assignment, out)
    if board.challenge.sealed:
        time.sleep(waiting(time.monotonic() - begun))
    say(f"{played} evaluations are in {out}.")
    return OK


@run.command()
def publish(
    given: Annotated[list[Path], typer.Option("--in", help="Folders of shards; may be given again.")],
    sha: Annotated[str, typer.Option(help="The commit of main.")],
    shards: Annotated[int, typer.Option(help="Shards of the round.")],
    results_sha: Annotated[str, typer.Option(help="The commit of the results branch; empty before the first.")] = "",
    accepted: Annotated[Path | None, typer.Option(help="Where what passed goes, to be attested.")] = None,
    only: Annotated[str, typer.Option(help="check, record, or both.")] = "both",
    sandbox: OwnSandbox = None,
    moment: PlannedAt = "",
) -> int:
    """Check, replay and record what the shards hand in."""
    if only not in ("check", "record", "both"):
        raise CommandError(USAGE, f"--only {only!r} is unknown; it is check, record or both")
    surroundings = read_workflow_environment(os.environ)
    work = replace(_official(surroundings, sandbox), moment=parse_run_context(moment))
    assignment = shard_jobs.ShardAssignment(sha=sha, results_sha=results_sha, shards=shards)
    github = _github(surroundings)
    with tempfile.TemporaryDirectory(prefix="pullrank-accepted-") as place:
        target = accepted or Path(place)
        with empty_rounds.telling(github, surroundings, target):
            if only in ("check", "both"):
                _check(surroundings, work, assignment, given, target)
            if only in ("record", "both"):
                recorded = _record(surroundings, work, target)
                if not recorded:
                    empty_rounds.refuse_silence(empty_rounds.missing(work, assignment, target))
        if only in ("record", "both"):
            empty_rounds.close_issue(github, surroundings)
            # Where nothing was new, another round at once would end the same way; the hourly one tries again.
            again = bool(recorded) and shard_jobs.is_more_wanted(work)
            write_output(surroundings.output_path, "again", again)
    return OK


def _check(
    surroundings: WorkflowEnvironment,
    work: OfficialRun,
    assignment: shard_jobs.ShardAssignment,
    given: list[Path],
    target: Path,
) -> None:
    checked = publishing.check(work, assignment, given, target, datetime.now(UTC))
    empty_rounds.keep_report(target, assignment.shards, checked)
    for line in checked.refused:
        say(f"Refused: {line}")
    say(f"{len(checked.accepted)} results passed; {len(checked.lost)} shards handed in nothing usable.")
    if checked.late:
        say(f"There was no time to replay {checked.late} results; the next round plays them again.")
    write_output(surroundings.output_path, "manifests", list(range(checked.manifests)))


def _record(surroundings: WorkflowEnvironment, work: OfficialRun, target: Path) -> int:
    season = open_checkout(surroundings.workspace.resolve()).challenge.season
    published = publishing.record(work, season, target, datetime.now(UTC))
    recorded, known = len(published.recorded), published.known
    write_summary(surroundings.summary_path, empty_rounds.summary(target, recorded, known))
    say(f"{recorded} results were recorded, {known} were known already.")
    if published.filled_in:
        say(f"{published.filled_in} older ones have GitHub's word on their commits now.")
    return recorded


def _address() -> str:
    """The variable of the repository that names the site's own address."""
    return os.environ.get("PULLRANK_SITE_URL", "")


def _github(surroundings: WorkflowEnvironment) -> GitHub:
    if not surroundings.token:
        raise CommandError(USAGE, "GITHUB_TOKEN is not set; give it to the step by env")
    return GitHub(
        surroundings.token, surroundings.api_url, surroundings.repository,
        graphql_url=surroundings.graphql_url, pace=surroundings.pace,
    )  # fmt: skip


def _teams(surroundings: WorkflowEnvironment) -> GitHub:
    """GitHub as whoever may see teams: the workflow's own token sees the public members of organisations only."""
    token = os.environ.pop(TEAMS_VARIABLE, "")
    return _github(replace(surroundings, token=token) if token else surroundings)


def _clone(surroundings: WorkflowEnvironment) -> GitRepository:
    secret = Credentials(server_url=surroundings.server_url, token=surroundings.token) if surroundings.token else None
    return GitRepository(surroundings.workspace.resolve(), secret)


def _desk() -> BotContext:
    surroundings = read_workflow_environment(os.environ)
    board = open_checkout(surroundings.workspace.resolve())
    return BotContext(surroundings=surroundings, github=_github(surroundings), board=board, clone=_clone(surroundings))


def _official(surroundings: WorkflowEnvironment, sandbox: str | None) -> OfficialRun:
    github = _github(surroundings)
    sandbox = sandbox or open_checkout(surroundings.workspace.resolve()).challenge.runners.sandbox
    runtime, asking = (sandbox, base_image(os.environ)), partial(commit_facts.ask, github.query, surroundings.repository)
    opened = open_official(_clone(surroundings), runtime, asking, surroundings.run_url)
    # Taken out at once, so that nothing that is started from here inherits it.
    return replace(opened, secret=os.environ.pop(VARIABLE, ""))
