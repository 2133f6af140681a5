"""What linters say of everything under .github: nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflows.engine import HERE, node_here
from tests.workflows.files import FILES, NAMES, ROOT, WORKFLOWS

BIN = Path(sys.executable).parent
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
# What actionlint 1.6.0 as packaged does not know yet and takes for a mistake.
FALSE_ALARMS = (
    'unexpected key "deployment"',
    'unexpected key "queue"',
    'unexpected key "cache-mode"',
    'specifying action "$/',
)

BAD = """\
name: bad
on: push
jobs:
  one:
    runs-on: ubuntu-24.04
    steps:
      - run: echo ${{ github.event.issue.title }}
"""


def zizmor(path: Path) -> list[dict[str, object]]:
    command = [
        BIN / "zizmor",
        "--quiet",
        "--offline",
        "--strict-collection",
        "--persona",
        "auditor",
        "--format",
        "json",
        path,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout, done.stderr
    findings: list[dict[str, object]] = json.loads(done.stdout)
    return findings


def schema(name: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    command = [BIN / "check-jsonschema", "--builtin-schema", name, *paths]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def actionlint(*paths: Path) -> list[str]:
    done = subprocess.run([node_here(), "lint.cjs", *paths], cwd=HERE, capture_output=True, text=True, check=True)
    messages = [f"{one['path']}:{one['line']}: {one['message']}" for one in json.loads(done.stdout)]
    return [message for message in messages if not any(alarm in message for alarm in FALSE_ALARMS)]


def test_zizmor_finds_nothing_as_auditor() -> None:
    assert [finding["ident"] for finding in zizmor(ROOT / ".github")] == []


def test_what_zizmor_is_told_to_ignore_is_little_and_has_a_reason() -> None:
    ignored = [line for path in FILES for line in path.read_text().splitlines() if "zizmor: ignore[" in line]

    assert sorted(line.partition("ignore[")[2].partition("]")[0] for line in ignored) == [
        "dangerous-triggers", "dangerous-triggers", "self-repository", "self-repository",
    ]  # fmt: skip
    assert all(len(line.partition("]")[2].strip()) > 20 for line in ignored)


@pytest.mark.parametrize("name", ["vendor.github-workflows", "custom.github-workflows-require-timeout"])
def test_workflows_follow_their_schema(name: str) -> None:
    done = schema(name, *FILES)

    assert done.returncode == 0, done.stdout


def test_issue_forms_follow_their_schema() -> None:
    done = schema("vendor.github-issue-forms", *FORMS)

    assert len(FORMS) >= 3
    assert done.returncode == 0, done.stdout


def test_the_issue_chooser_follows_its_schema() -> None:
    assert schema("vendor.github-issue-config", ROOT / ".github/ISSUE_TEMPLATE/config.yml").returncode == 0


def test_dependabot_follows_its_schema() -> None:
    assert schema("vendor.dependabot", ROOT / ".github/dependabot.yml").returncode == 0


def test_actionlint_finds_nothing() -> None:
    assert actionlint(*FILES) == []


def test_every_workflow_is_looked_at() -> None:
    assert NAMES == [
        "act", "ci", "commands", "evaluate", "image", "nightly", "official", "preview", "queue", "reconcile", "release",
        "report", "site",
    ]  # fmt: skip
    assert {path.name for path in WORKFLOWS.iterdir()} == {f"{name}.yml" for name in NAMES}


def test_the_linters_are_awake(tmp_path: Path) -> None:
    bad = tmp_path / ".github" / "workflows" / "bad.yml"
    bad.parent.mkdir(parents=True)
    bad.write_text(BAD)

    assert "template-injection" in {finding["ident"] for finding in zizmor(tmp_path)}
    assert any("potentially untrusted" in message for message in actionlint(bad))
    bad.write_text(BAD.replace("runs-on", "run-on"))
    assert schema("vendor.github-workflows", bad).returncode == 1
