"""The runner itself: what it makes of small workflows is what GitHub makes of them."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.workflows.engine import Expressions
from tests.workflows.forge import matches, triggered
from tests.workflows.runner import LostError, Run, Runner, parse_outputs

GITHUB = {
    "event_name": "push", "event": {"title": "a $(touch pwned) b"}, "sha": "a" * 40, "ref": "refs/heads/main", "run_id": 1,
    "workflow_sha": "a" * 40, "run_attempt": 1, "repository": "host/board", "repository_id": "1000", "api_url": "http://x",
    "server_url": "http://y",
}  # fmt: skip


def run(expressions: Expressions, place: Path, text: str, **settings: Any) -> Run:
    files = {
        "w.yml": "name: w\non: push\njobs:\n" + textwrap.indent(textwrap.dedent(text), "  "),
        **settings.pop("files", {}),
    }
    runner = Runner(expressions=expressions, root=place, actions={}, source=lambda _, path: files[path], **settings)
    return runner.run("w.yml", GITHUB)


def test_outputs_are_handed_to_later_steps_and_jobs(expressions: Expressions, tmp_path: Path) -> None:
    outcome = run(expressions, tmp_path, """
        one:
          runs-on: ubuntu-24.04
          outputs: {word: "${{ steps.say.outputs.word }}"}
          steps:
            - {id: say, run: 'echo "word=hello" >> "$GITHUB_OUTPUT"'}
            - {run: 'test "$WORD" = hello', env: {WORD: "${{ steps.say.outputs.word }}"}}
        two:
          needs: one
          runs-on: ubuntu-24.04
          steps:
            - {run: 'test "$WORD" = hello', env: {WORD: "${{ needs.one.outputs.word }}"}}
    """)  # fmt: skip

    assert outcome.conclusion == "success", outcome.log()


def test_a_failure_skips_what_follows_unless_asked_otherwise(expressions: Expressions, tmp_path: Path) -> None:
    outcome = run(expressions, tmp_path, """
        one:
          runs-on: ubuntu-24.04
          steps:
            - {name: bad, run: "false"}
            - {name: skipped, run: "true"}
            - {name: done anyway, if: "${{ !cancelled() }}", run: "true"}
        two: {needs: one, runs-on: ubuntu-24.04, steps: [{run: "true"}]}
        three: {needs: two, runs-on: ubuntu-24.04, steps: [{run: "true"}]}
        four: {needs: [one, two], if: "${{ !cancelled() }}", runs-on: ubuntu-24.04, steps: [{run: "true"}]}
    """)  # fmt: skip

    assert {name: job.result for name, job in outcome.jobs.items()} == {
        "one": "failure", "two": "skipped", "three": "skipped", "four": "success",
    }  # fmt: skip
    assert [step.outcome for step in outcome.jobs["one"].steps] == ["failure", "skipped", "success"]


def test_a_step_may_fail_where_that_was_said(expressions: Expressions, tmp_path: Path) -> None:
    outcome = run(expressions, tmp_path, """
        one:
          runs-on: ubuntu-24.04
          steps:
            - {id: bad, run: "false", continue-on-error: true}
            - {run: 'test "$OUTCOME" = failure', env: {OUTCOME: "${{ steps.bad.outcome }}"}}
    """)  # fmt: skip

    assert outcome.conclusion == "success"


def test_every_cell_of_a_matrix_runs_and_a_lost_machine_costs_only_itself(expressions: Expressions, tmp_path: Path) -> None:
    def dies(path: str, job: str, matrix: dict[str, Any], step: str) -> None:
        if matrix == {"shard": 1}:
            raise LostError

    outcome = run(expressions, tmp_path, """
        one:
          runs-on: ubuntu-24.04
          strategy: {fail-fast: false, matrix: {shard: "${{ fromJSON('[0,1,2]') }}"}}
          steps:
            - {run: 'test "$SHARDS" = 3', env: {SHARDS: "${{ strategy.job-total }}"}}
    """, before_step=dies)  # fmt: skip

    assert [job.result for job in outcome.shards["one"]] == ["success", "failure", "success"]
    assert outcome.jobs["one"].result == "failure"


def test_a_called_workflow_hands_outputs_back(expressions: Expressions, tmp_path: Path) -> None:
    called = textwrap.dedent("""
        name: called
        on: {workflow_call: {outputs: {word: {value: "${{ jobs.inner.outputs.word }}"}}}}
        jobs:
          inner:
            runs-on: ubuntu-24.04
            outputs: {word: "${{ steps.say.outputs.word }}"}
            steps: [{id: say, run: 'echo "word=hello" >> "$GITHUB_OUTPUT"'}]
    """)
    outcome = run(expressions, tmp_path, """
        one: {uses: ./called.yml}
        two:
          needs: one
          runs-on: ubuntu-24.04
          steps: [{run: 'test "$WORD" = hello', env: {WORD: "${{ needs.one.outputs.word }}"}}]
    """, files={"called.yml": called})  # fmt: skip

    assert outcome.conclusion == "success", outcome.log()


def test_untrusted_text_in_the_environment_is_only_text(expressions: Expressions, tmp_path: Path) -> None:
    outcome = run(expressions, tmp_path, """
        one:
          runs-on: ubuntu-24.04
          steps: [{run: 'echo "$TITLE"; test ! -e pwned', env: {TITLE: "${{ github.event.title }}"}}]
    """)  # fmt: skip

    assert "$(touch pwned)" in outcome.log()
    assert outcome.conclusion == "success"


def test_outputs_in_both_of_githubs_forms() -> None:
    assert parse_outputs("a=1\nb<<END\nx\ny=z\nEND\nc=[1,2]\n") == {"a": "1", "b": "x\ny=z", "c": "[1,2]"}


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("submissions/alice/x/agent.py", "submissions/**", True),
        ("SUBMISSIONS/alice/x/agent.py", "submissions/**", False),
        ("submissions.py", "submissions/**", False),
        ("challenge.yml", "challenge.yml", True),
        ("site/challenge.yml", "challenge.yml", False),
        ("a/b.md", "*.md", False),
    ],
)
def test_paths_are_filtered_as_github_does(path: str, pattern: str, expected: bool) -> None:
    assert matches(path, [pattern]) is expected


def test_a_push_that_touches_only_ignored_paths_triggers_nothing() -> None:
    filters = {"branches": ["main"], "paths-ignore": ["submissions/**"]}

    assert not triggered(filters, "push", {}, "refs/heads/main", ["submissions/a/b/c"])
    assert triggered(filters, "push", {}, "refs/heads/main", ["submissions/a/b/c", "README.md"])
    assert not triggered(filters, "push", {}, "refs/heads/other", ["README.md"])


def test_an_hour_triggers_only_the_schedules_that_it_strikes() -> None:
    filters = [{"cron": "17 * * * *"}]

    assert triggered(filters, "schedule", {"schedule": "17 * * * *"}, "refs/heads/main", [])
    assert not triggered(filters, "schedule", {"schedule": "47 * * * *"}, "refs/heads/main", [])
