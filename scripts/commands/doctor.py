"""`pullrank doctor`: what a board's repository on GitHub still lacks, and what mends it."""

import contextlib
import json
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, print_json, say
from scripts.github.api.client import GitHub
from scripts.github.doctor.checks import Repair, SettingFinding, SettingState, apply_repairs, inspect_settings
from scripts.github.doctor.repository_settings import identity
from scripts.github.doctor.settings import CHECKS, PLACEHOLDER, season_checks
from scripts.github.workflow.event import REPOSITORY
from scripts.repository.checkout import open_checkout

_MARKS = {SettingState.GOOD: "✓", SettingState.MISSING: "✗", SettingState.CHOICE: "•", SettingState.UNKNOWN: "?"}


def run(
    fix: Annotated[bool, typer.Option("--fix", help="Set what the API can set.")] = False,
    repository: Annotated[str | None, typer.Option(help="owner/name; challenge.yml's when left out.")] = None,
    token: Annotated[
        str, typer.Option(envvar=["GH_TOKEN", "GITHUB_TOKEN"], help="An administrator's token.", show_envvar=True)
    ] = "",
    api: Annotated[str, typer.Option(envvar="GITHUB_API_URL", help="Where the API answers.")] = "https://api.github.com",
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> int:
    """Look at the repository's settings on GitHub and say what is missing."""
    board = open_checkout(Path.cwd())
    name = repository or _named(board.challenge.repository)
    if not token:
        raise CommandError(USAGE, "doctor needs an administrator's token: GH_TOKEN=$(gh auth token) pullrank doctor")
    github = GitHub(token, api, name)
    meant = urlsplit(board.challenge.repository or "").path.strip("/").removesuffix(".git")
    checks = (identity(meant), *CHECKS, *season_checks(board.challenge))
    repairs = apply_repairs(github, checks) if fix else []
    findings = inspect_settings(github, checks)
    if as_json:
        print_json([_document(finding, name) for finding in findings])
    else:
        _tell(findings, repairs, name)
        _local(board.root, name)
        say("Next: 'pullrank rehearse' enters an agent on GitHub, sees that each step works, and withdraws it again.")
    bad = (SettingState.MISSING, SettingState.UNKNOWN)
    return SUBMISSION_AT_FAULT if any(finding.state in bad for finding in findings) else OK


def _named(address: str | None) -> str:
    found = urlsplit(address or "").path.strip("/").removesuffix(".git")
    if not REPOSITORY.fullmatch(found):
        raise CommandError(USAGE, "challenge.yml names no 'repository'; add it, or say --repository owner/name")
    return found


def _tell(findings: list[SettingFinding], repairs: list[Repair], name: str) -> None:
    for repair in repairs:
        say(f"Could not be set: {repair.name}: {repair.refusal}" if repair.refusal else f"Set: {repair.name}.")
    for finding in findings:
        say(f"{_MARKS[finding.state]} {finding.name}: {finding.said}")
        if finding.state is not SettingState.GOOD:
            say(f"    {_page(finding, name)}\n    {finding.click}")
        if finding.state is SettingState.MISSING:
            for line in commands(finding, name):
                say(f"    {line}")
    left = sum(finding.state is SettingState.MISSING for finding in findings)
    fixable = sum(finding.state is SettingState.MISSING and bool(finding.changes) for finding in findings)
    unknown = sum(finding.state is SettingState.UNKNOWN for finding in findings)
    if unknown:
        say(f"{unknown} could not be looked at: open the pages above, or use a token that may see them.")
    if left == 0 and not unknown:
        say("Nothing is missing.")
    elif fixable == 0:
        say(f"{left} missing; only a person can set them.")
    elif left:
        say(f"{left} missing. 'pullrank doctor --fix' sets {'all of it' if fixable == left else f'{fixable} of it'}.")


def _page(finding: SettingFinding, name: str) -> str:
    return finding.page if finding.page.startswith("https://") else f"https://github.com/{name}/{finding.page}"


def commands(finding: SettingFinding, name: str) -> list[str]:
    """The same changes as lines for GitHub's own command, to be pasted as they are."""
    return [
        f"gh api -X {change.verb} repos/{name}{change.path} --input - <<< '{json.dumps(change.body)}'"
        for change in finding.changes
    ]


def _document(finding: SettingFinding, name: str) -> dict[str, object]:
    found = {"name": finding.name, "state": finding.state, "said": finding.said, "page": _page(finding, name)}
    return {**found, "click": finding.click, "commands": commands(finding, name)}


def _local(root: Path, name: str) -> None:
    """What stands in the files themselves, and how old the engine of this machine is, where one answers."""
    with contextlib.suppress(EngineError):
        for line in Engine().complaints():
            say(f"{_MARKS[SettingState.CHOICE]} this machine's container engine: {line}")
    owners = root / ".github" / "CODEOWNERS"
    if not name.startswith("pullrank/") and owners.exists() and PLACEHOLDER in owners.read_text(encoding="utf-8"):
        owner = name.split("/")[0]
        say(f"{_MARKS[SettingState.MISSING]} CODEOWNERS: still names {PLACEHOLDER}; run 'pullrank init --owner {owner}'")
