"""`pullrank doctor`: checks the settings of a leaderboard's repository on GitHub, and sets what the API can set."""

import contextlib
import json
import shlex
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, print_json, say
from scripts.github.api.client import GitHub
from scripts.github.doctor.actions_checks import ACTIONS_CHECKS, runner_checks
from scripts.github.doctor.repository_checks import PROTECTION_CHECKS, REPOSITORY_CHECKS, check_identity, season_checks
from scripts.github.doctor.setting_findings import Check, SettingFinding, SettingState, apply_repairs
from scripts.options import GITHUB_API, AdministratorToken, ApiAddress, JsonList
from scripts.repository.checkout import Checkout, open_checkout
from scripts.repository.layout import OWNERS_PLACEHOLDER, REPOSITORY_NAME, repository_name

# What every leaderboard needs, whatever its challenge.yml says, in the order in which it is shown.
CHECKS: tuple[Check, ...] = (*REPOSITORY_CHECKS, *ACTIONS_CHECKS, *PROTECTION_CHECKS)
_STATE_MARKS = {SettingState.GOOD: "✓", SettingState.MISSING: "✗", SettingState.CHOICE: "•", SettingState.UNKNOWN: "?"}


def run(
    fix: Annotated[bool, typer.Option("--fix", help="Set what the API can set.")] = False,
    repository: Annotated[str | None, typer.Option(help="owner/name; the default is in challenge.yml.")] = None,
    token: AdministratorToken = "",
    api: ApiAddress = GITHUB_API,
    as_json: JsonList = False,
) -> int:
    """Check the repository's settings on GitHub and print what is missing."""
    checkout = open_checkout(Path.cwd())
    named = repository_name(checkout.challenge.repository)
    name = repository or named
    if not repository and not REPOSITORY_NAME.fullmatch(named):
        raise CommandError(USAGE, "challenge.yml names no 'repository'; add it, or pass --repository owner/name")
    if not token:
        raise CommandError(USAGE, "doctor needs an administrator's token: GH_TOKEN=$(gh auth token) pullrank doctor")
    github = GitHub(token, api, name)
    runners = runner_checks(checkout.challenge.runners.labels)
    checks = (check_identity(named), *CHECKS, *runners, *season_checks(checkout.challenge))
    refusals = apply_repairs(github, checks) if fix else {}
    findings = [check(github) for check in checks]
    if as_json:
        print_json([_document(finding, name) for finding in findings])
    else:
        _print_findings(findings, refusals, name)
        _print_local_findings(checkout, name)
        say("Next: 'pullrank rehearse' enters an agent on GitHub, checks that each step works, and withdraws it.")
    bad = (SettingState.MISSING, SettingState.UNKNOWN)
    return SUBMISSION_AT_FAULT if any(finding.state in bad for finding in findings) else OK


def _print_findings(findings: list[SettingFinding], refusals: dict[str, str], name: str) -> None:
    for setting, refusal in refusals.items():
        say(f"Could not be set: {setting}: {refusal}" if refusal else f"Set: {setting}.")
    for finding in findings:
        say(f"{_STATE_MARKS[finding.state]} {finding.name}: {finding.message}")
        if finding.state is not SettingState.GOOD:
            say(f"    {finding.page_address(name)}\n    {finding.click}")
        if finding.state is SettingState.MISSING:
            for line in commands(finding, name):
                say(f"    {line}")
    missing = sum(finding.state is SettingState.MISSING for finding in findings)
    fixable = sum(finding.state is SettingState.MISSING and bool(finding.changes) for finding in findings)
    unknown = sum(finding.state is SettingState.UNKNOWN for finding in findings)
    if unknown:
        say(f"{unknown} could not be checked: open the pages above, or use a token that may see them.")
    if missing == 0 and not unknown:
        say("Nothing is missing.")
    elif fixable == 0:
        say(f"{missing} missing; only a person can set them.")
    elif missing:
        say(f"{missing} missing. 'pullrank doctor --fix' sets {'all of it' if fixable == missing else f'{fixable} of it'}.")


def commands(finding: SettingFinding, name: str) -> list[str]:
    """The changes as `gh api` commands, ready to paste."""
    return [
        f"gh api -X {change.method} repos/{name}{change.path} --input - <<< {shlex.quote(json.dumps(change.body))}"
        for change in finding.changes
    ]


def _document(finding: SettingFinding, name: str) -> dict[str, object]:
    document = {"name": finding.name, "state": finding.state, "said": finding.message, "page": finding.page_address(name)}
    return {**document, "click": finding.click, "commands": commands(finding, name)}


def _print_local_findings(checkout: Checkout, name: str) -> None:
    """Print faults of this machine's container engine, if it answers, and of CODEOWNERS."""
    with contextlib.suppress(EngineError):
        engine = Engine()
        for line in engine.engine_warnings():
            say(f"{_STATE_MARKS[SettingState.CHOICE]} this machine's container engine: {line}")
        if checkout.challenge.runners.sandbox == "gvisor" and (fault := engine.gvisor_fault()):
            say(f"{_STATE_MARKS[SettingState.CHOICE]} this machine's container engine: {fault}; 'pullrank gvisor --install'")
    owners = checkout.root / ".github" / "CODEOWNERS"
    if not name.startswith("pullrank/") and owners.is_file() and OWNERS_PLACEHOLDER.encode() in owners.read_bytes():
        owner = name.split("/")[0]
        mark = _STATE_MARKS[SettingState.MISSING]
        say(f"{mark} CODEOWNERS: still has {OWNERS_PLACEHOLDER}; run 'pullrank init --owner {owner}'")
