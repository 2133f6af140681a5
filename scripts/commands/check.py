"""`pullrank check DIR`: checks submissions without running them."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.errors import AgentFault
from evaluator.host.loading.submission_folder import new_names_fault, new_path_fault
from evaluator.host.loading.weights_cache import WeightsCache
from evaluator.host.loading.yaml_loader import MAX_SUBMISSION_BYTES, LoadError, parse_yaml
from evaluator.host.sandboxes.channel import clean_text
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.image_reference import TAG_WARNING, parse_tagged
from evaluator.model.config.submission import MANIFEST_NAME, MODEL_ADAPTERS, SubmissionKind
from evaluator.model.identifiers import new_agent_fault
from evaluator.model.records.stored_record import without_retry
from evaluator.model.records.verdict import Verdict
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, fault_parts, print_json, say
from scripts.options import JsonFindings
from scripts.processes import bounded_process
from scripts.repository.check_challenge import check_challenge
from scripts.repository.checkout import AgentFolder, Checkout, open_board, open_checkout
from scripts.runs.eligible_tasks import check_people, closed_task_notes, eligible_tasks, is_example, wording_faults

# GitHub's own machines have labels that begin so.
HOSTED_LABEL = "ubuntu-"
# The platform of official evaluations, unless a host chooses another.
PLATFORM = "linux/amd64"
REGISTRY_SECONDS = 20
PARSE_SECONDS, PARSE_BYTES = 20.0, 1 << 16
# Parsing hostile source can exhaust the parser's stack, so another process does it.
_PARSE_SCRIPT = """
import ast, sys
name, wanted, missing = sys.argv[1:]
try:
    tree = ast.parse(sys.stdin.buffer.read(), name)
except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
    sys.exit(f"{name}:{getattr(error, 'lineno', None) or 1}: {getattr(error, 'msg', error)}; correct the syntax")
names = {getattr(node, "name", None) or getattr(alias, "asname", None) or getattr(alias, "name", None)
         for node in tree.body for alias in getattr(node, "names", [None])}
targets = {target.id for node in tree.body if isinstance(node, ast.Assign)
           for target in node.targets if isinstance(target, ast.Name)}
if wanted and wanted not in names | targets:
    near = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    meant = f", or rename class {near[0].name}" if len(near) == 1 else ""
    sys.exit(f"{name}:{near[0].lineno if meant else 1}: {missing}{meant}")
"""
# By adapter: the name that the agent's file must define, and the fault if it does not.
_REQUIRED_NAMES = {
    None: ("Agent", "defines no class Agent; write 'class Agent' with a method act(self, observation)"),
    "rl-arena": ("Player", "defines no class Player; rl-arena's players are a class of that name with start, step and end"),
}


def run(
    folders: Annotated[
        list[Path] | None, typer.Argument(help="Agents' folders; without one, the challenge and all agents.")
    ] = None,
    host: Annotated[
        bool, typer.Option("--host", help="The challenge only: its environments, games and metrics are played for a moment.")
    ] = False,
    as_json: JsonFindings = False,
) -> int:
    """Check folders, or the challenge and all agents; no agent is run."""
    checkout = open_board(Path.cwd()) if host or not folders else open_checkout(Path.cwd())
    challenge_faults, notes = check_challenge(checkout) if host or not folders else ([], [])
    faults = [*challenge_faults]
    notes += [] if folders else [*_gvisor_notes(checkout.challenge), *_duration_notes(checkout.challenge)]
    checked = folders or ([] if host else checkout.folders)
    idle = 0
    for folder in checked:
        try:
            entry, closed = check_folder(checkout, folder)
            idle += not eligible_tasks(checkout.challenge, entry) and is_example(entry)
            notes += closed
        except LoadError as error:
            faults.extend([*error.lines, *digest_advice(folder, error.lines)])
    if idle:
        notes.append(f"example_agents: {idle} of them play none of this board's tasks, so they are not part of it.")
    code = USAGE if challenge_faults else SUBMISSION_AT_FAULT if faults else OK
    if as_json:
        errors = [fault_parts(line) for line in faults]
        print_json({"checked": len(checked), "faults": faults, "errors": errors, "notes": notes})
        return code
    for line in notes:
        say(line)
    if faults:
        raise CommandError(code, *faults)
    folders_checked = f"challenge.yml and {len(checked)} folder{'s' * (len(checked) > 1)} are fine."
    say(folders_checked if checked else "challenge.yml is fine.")
    return code


def check_folder(checkout: Checkout, folder: Path) -> tuple[AgentFolder, list[str]]:
    """Check one agent; returns it, and a line for each task that is closed to it.

    Raises:
        LoadError: with its faults.
    """
    entry = checkout.find(folder)
    _check_new(folder, entry)
    eligible_tasks(checkout.challenge, entry)
    check_people(checkout, entry)
    closed = closed_task_notes(checkout, entry)
    check_source(entry)
    check_own_image(entry)
    check_weights(entry)
    return entry, closed


def _check_new(folder: Path, entry: AgentFolder) -> None:
    """Check what an agent must keep to come in, and what is on main need not.

    Raises:
        LoadError: a name or a text of it is refused.
    """
    if fault := new_agent_fault(entry.agent):
        raise LoadError(f"{folder}: {fault}")
    paths = [blob.path for blob in entry.folder.blobs]
    for path in paths:
        if fault := new_path_fault(path):
            raise LoadError(f"{entry.shown}/{path}: {fault}")
    if fault := new_names_fault(paths):
        raise LoadError(f"{entry.shown}: {fault}")
    if faults := tuple(wording_faults(entry, entry.shown)):
        raise LoadError(*faults)


def _gvisor_notes(challenge: Challenge) -> Iterator[str]:
    """Where gVisor comes from on a leaderboard that evaluates in it."""
    runners = challenge.runners
    if runners.sandbox != "gvisor":
        return
    if labels := [label for label in runners.labels if not label.startswith(HOSTED_LABEL)]:
        machines = f"the machines {', '.join(labels)} need it, with --oci-seccomp; nothing is evaluated without it"
    else:
        # Imported late: it imports what fetches.
        from scripts.runs.install_gvisor import RUNSC_VERSION

        machines = f"the workflows install runsc {RUNSC_VERSION} on GitHub's machines"
    yield f"challenge.yml: evaluations are in gVisor: {machines}."


def _duration_notes(challenge: Challenge) -> Iterator[str]:
    """That the limits let an evaluation outlast the job that plays it."""
    # Imported late: it imports what plays.
    from scripts.github.official.evaluate_shard import JOB_STEP_SECONDS, longest_seconds

    longest = max(longest_seconds(challenge.limits, is_duel=task.game is not None) for task in challenge.tasks)
    share = challenge.runners.shard_seconds
    if share + longest > JOB_STEP_SECONDS:  # A job may begin anything within its share, however long the limits are.
        yield (
            f"challenge.yml: an evaluation may begin {share / 3600:.1f} hours after its job and last {longest / 3600:.1f} "
            f"with its starts, and an official job ends after {JOB_STEP_SECONDS / 3600:.1f}: who is not done by then is "
            "played anew; set 'task_seconds' in 'limits', or less 'shard_minutes' in 'runners'"
        )


def check_source(entry: AgentFolder) -> None:
    """Check that the agent's file parses and defines the class that its adapter requires.

    Raises:
        LoadError: it does not.
    """
    submission = entry.folder.submission
    if submission.kind is SubmissionKind.IMAGE or submission.adapter in MODEL_ADAPTERS:
        return
    required, missing = (
        _REQUIRED_NAMES.get(submission.adapter, ("", "")) if submission.kind is SubmissionKind.POLICY else ("", "")
    )
    source = next(blob.content for blob in entry.folder.blobs if blob.path == submission.source)
    name = f"{entry.shown}/{submission.source}"
    command = [sys.executable, "-I", "-W", "ignore", "-c", _PARSE_SCRIPT, name, required, missing]
    with bounded_process(
        command, folder=Path(), environment=os.environ, input_chunks=[source], seconds=PARSE_SECONDS, at_most=PARSE_BYTES
    ) as finish:
        done = finish()
    if done.is_late:
        raise LoadError(f"{name}:1: takes too long to parse; simplify it")
    if done.code != 0:
        lines = done.errors.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if done.code == 1 and lines else "cannot be parsed; simplify it"
        raise LoadError(reason if reason.startswith(entry.shown) else f"{name}:1: {reason}")


def check_own_image(entry: AgentFolder) -> None:
    """Check with its registry that the image named by the manifest can be run; nothing is pulled.

    Raises:
        LoadError: the registry does not have the image, or it cannot be run.
    """
    image = entry.folder.image
    if image is None:
        return
    # Imported late: only agents that bring an image need it.
    from evaluator.host.docker.agent_image import inspect_image

    try:
        inspect_image(image.reference, PLATFORM, image.image_mib, REGISTRY_SECONDS)
    except AgentFault as fault:
        line = f"{entry.shown}/{MANIFEST_NAME}: {without_retry(clean_text(str(fault)))}"
        if fault.verdict is Verdict.INVALID:
            raise LoadError(line) from fault
        say(f"{line}; so it was not looked at")


def check_weights(entry: AgentFolder) -> None:
    """Fetch the files that the manifest names, and check their hashes.

    Raises:
        LoadError: an address does not give the file.
    """
    try:
        WeightsCache().fetch(entry.folder.submission.weights)
    except AgentFault as fault:
        line = f"{entry.shown}/{entry.folder.manifest.file}: {without_retry(clean_text(str(fault)))}"
        if fault.verdict is Verdict.INTERNAL_ERROR:
            say(f"{line}; so it was not looked at")
        else:
            raise LoadError(line) from fault


def digest_advice(folder: Path, faults: tuple[str, ...]) -> list[str]:
    """For an image named by a tag: the line to write instead, if its registry gives the digest."""
    if not any(TAG_WARNING in line for line in faults):
        return []
    from evaluator.host.docker.registry_client import Registry

    try:
        value, _ = parse_yaml((folder / MANIFEST_NAME).read_bytes(), MANIFEST_NAME, MAX_SUBMISSION_BYTES)
        tagged = parse_tagged(str(value["entry"]))
        if tagged is None:
            return []
        digest = Registry(tagged, REGISTRY_SECONDS).digest_of(tagged.tag)
    except (AgentFault, LoadError, OSError, KeyError, TypeError):
        return []
    return [f"{folder}/{MANIFEST_NAME}: today that is {tagged.host}/{tagged.name}@sha256:{digest}; write it after 'entry:'"]
