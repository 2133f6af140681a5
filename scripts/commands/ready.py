"""`pullrank ready DIR`: whether a pull request with this agent would pass, and the git commands that open it."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.records.verdict import Verdict
from scripts.commands.check import check_folder
from scripts.commands.evaluate import print_places
from scripts.console import OK, SUBMISSION_AT_FAULT, CommandError, print_json, say
from scripts.git.git_repository import GitRepository
from scripts.git.path_guard import PullAuthor, inspect_pull
from scripts.options import AgentArgument, JsonDocument
from scripts.repository.checkout import LOCAL, AgentFolder, Checkout, open_checkout
from scripts.repository.layout import MAIN_BRANCH, SUBMISSIONS
from scripts.runs.eligible_tasks import eligible_tasks
from scripts.runs.newest_results import newest_results


@dataclass(frozen=True, kw_only=True)
class ReadyCheck:
    """One condition of a pull request."""

    what: str
    fault: str = ""
    """What is wrong and what to do; empty where nothing is."""


def run(folder: AgentArgument, as_json: JsonDocument = False) -> int:
    """Say whether a pull request with this agent would pass: paths, login, check, results, place; then the git commands."""
    checkout = open_checkout(Path.cwd())
    checks: list[ReadyCheck] = []
    try:
        entry = check_folder(checkout, folder)[0]
    except LoadError as error:
        checks = [ReadyCheck(what="check", fault=line) for line in error.lines]
    else:
        checks = [ReadyCheck(what="check"), *_checks(checkout, entry)]
    passed = not any(each.fault for each in checks)
    commands = list(_commands(checkout, entry)) if passed else []
    if as_json:
        print_json({
            "ready": passed, "checks": [{"what": each.what, "ok": not each.fault, "fault": each.fault} for each in checks],
            "commands": commands,
        })  # fmt: skip
        return OK if passed else SUBMISSION_AT_FAULT
    for each in checks:
        say(f"no  {each.what}: {each.fault}" if each.fault else f"ok  {each.what}")
    if passed:
        print_places(checkout, entry, [result for _, result in newest_results(checkout, entry, None)], [])
        say("\n".join(["Ready. These commands bring it to GitHub; then open the pull request there:", *commands]))
    return OK if passed else SUBMISSION_AT_FAULT


def _checks(checkout: Checkout, entry: AgentFolder) -> Iterator[ReadyCheck]:
    if entry.login == LOCAL:
        yield ReadyCheck(what="login", fault=f"{entry.shown}: put it at {SUBMISSIONS}/<your login>/{entry.agent}")
        return
    yield ReadyCheck(what=f"login {entry.login}, which must be the account that opens the pull request")
    yield ReadyCheck(what="only your own folder is changed", fault="; ".join(_path_faults(checkout, entry)))
    yield from _result_checks(checkout, entry)


def _path_faults(checkout: Checkout, entry: AgentFolder) -> list[str]:
    """What the branch changes beside the agent's owner's folders: committed since main, or not committed yet."""
    clone = GitRepository(checkout.root)
    try:
        head = clone.resolve("HEAD")
        base = clone.resolve(f"refs/remotes/origin/{MAIN_BRANCH}") or clone.resolve(f"refs/heads/{MAIN_BRANCH}")
        if not head or not base:
            return ["this is no clone with a branch main; clone your fork"]
        guarded = inspect_pull(clone, base, head, PullAuthor(login=entry.login), checkout.challenge.submissions)
        changed = clone.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames").decode(
            "utf-8", "replace"
        )
    except CommandError as error:
        return [str(error)]
    own = f"{SUBMISSIONS}/{entry.login}/"
    outside = [*guarded.outside, *(line[3:] for line in changed.split("\0") if line and not line[3:].startswith(own))]
    return [*guarded.faults, *(f"{path} lies outside of {own}: undo it, or leave it out" for path in dict.fromkeys(outside))]


def _result_checks(checkout: Checkout, entry: AgentFolder) -> Iterator[ReadyCheck]:
    advice = f"run 'pullrank evaluate {entry.shown}'"
    try:
        results = {task.id: result for task, result in newest_results(checkout, entry, None)}
    except CommandError:
        results = {}
    for task in eligible_tasks(entry, list(checkout.challenge.tasks)):
        if task.game is not None:
            continue
        result = results.get(task.id)
        if result is None:
            yield ReadyCheck(what=task.id, fault=f"this version was not evaluated here; {advice}")
        elif result.verdict is not Verdict.OK:
            yield ReadyCheck(what=task.id, fault=f"{result.verdict}: {result.message}")
        else:
            yield ReadyCheck(what=f"{task.id}: evaluated, {len(result.returns)} episodes")


def _commands(checkout: Checkout, entry: AgentFolder) -> Iterator[str]:
    """What brings the agent to GitHub; every word of it is safe in a shell."""
    branch = f"{entry.agent}"
    yield f"git switch -c {shlex.quote(branch)}"
    yield f"git add {shlex.quote(entry.shown)}"
    yield f"git commit -m {shlex.quote(f'Enter {entry.agent}')}"
    yield f"git push -u origin {shlex.quote(branch)}"
