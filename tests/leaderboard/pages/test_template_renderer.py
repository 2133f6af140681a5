"""The filters of the pages' templates."""

from evaluator.model.config.task import Task
from leaderboard.pages import template_renderer


def test_rules_of_a_script_are_said_in_words() -> None:
    task = Task.model_validate(
        {"id": "lake", "env": "FrozenLake-v1", "reusable": True, "script": {"steps": 9000, "worst": 0}}
    )

    script = dict(template_renderer.task_settings(task))["script"]
    assert script == "steps 9000, last 100, worst 0, window 20"
    shown = task.model_copy(update={"script": task.script and task.script.model_copy(update={"self_reported": True})})
    assert dict(template_renderer.task_settings(shown))["script"].endswith(
        "scores that the referee did not measure are listed"
    )
