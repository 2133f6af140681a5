"""What pages show of scripts."""

import html

from evaluator.model.config.task import Task
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.records.script_record import ScriptRecord
from evaluator.model.records.verdict import Verdict
from leaderboard.charts.agent_charts import CURVE_POINTS, curve_ends, learning_curve_svg
from leaderboard.scoring.metrics import claim_differs
from leaderboard.site_context import SiteContext
from tests.leaderboard.pages.everything import render
from tests.leaderboard.pages.samples import board, entry, failure, result, row, task_board

LAKE = Task(id="lake", env="FrozenLake-v1", decimals=2, script=ScriptRules(steps=5000, last=100, worst=0, window=10))
CONTEXT = SiteContext(generated_at="2026-01-02")


def recorded(count: int = 300, **fields: object) -> ScriptRecord:
    returns = tuple(index / count for index in range(count))
    return ScriptRecord(returns=returns, lengths=(10,) * count, **fields)  # type: ignore[arg-type]


def shown(record: ScriptRecord) -> str:
    who = entry(kind="script", entry="submission.py")
    measured = result(who, LAKE, (0.8,) * 100).model_copy(update={"script": record})
    standing = row(who, LAKE, 1, 0.8)
    ranked = type(standing)(**{**standing.__dict__, "pooled_results": (measured,)})
    pages = render(board(task_board(LAKE, rows=(ranked,))), CONTEXT)
    return next(text for path, text in pages.items() if path.endswith("angle-rule.md"))


def test_the_agents_page_has_the_curve_and_marks_a_claim_that_differs() -> None:
    page = shown(recorded(claimed=0.97, notices=("a <b>seed</b> was given",)))

    assert '<polyline class="pr-line"' in page
    assert "last 10 episodes against steps" in page
    assert ">differs</span>" in page
    assert "<b>seed" not in page


def test_a_claim_that_was_measured_is_not_marked_nor_is_none() -> None:
    assert ">differs</span>" not in shown(recorded(claimed=0.8))
    assert "<dt>claimed</dt>" not in shown(recorded())


def test_a_curve_is_drawn_over_the_whole_budget_with_bounded_points() -> None:
    who = entry(kind="script")
    long = result(who, LAKE, (0.8,) * 100).model_copy(update={"script": recorded(3000)})
    drawn = str(learning_curve_svg(long, LAKE))

    assert drawn.count(",") - drawn.split("points=")[0].count(",") == CURVE_POINTS + 1
    flat = result(who, LAKE, (0.8,) * 100).model_copy(update={"script": ScriptRecord(returns=(1, 1), lengths=(5, 5))})
    assert curve_ends(flat, LAKE) == (1, 1)
    assert "30.00" in str(learning_curve_svg(flat, LAKE))
    assert learning_curve_svg(result(who, LAKE, (0.8,) * 100), LAKE) is None


def test_a_self_reported_score_stands_apart_from_failures_and_ranks() -> None:
    who, other = entry("own", kind="script"), entry("broken", kind="script")
    own, broken = failure(who, LAKE), failure(other, LAKE)
    claimed = own.result.model_copy(update={"verdict": Verdict.INVALID, "script": ScriptRecord(claimed=0.93)})
    listed = type(own)(entry=who, result=claimed, versions_tried=1)
    page = render(board(task_board(LAKE, failures=(broken, listed))), CONTEXT)["tasks/lake.md"]
    page = html.unescape(page)

    own_part, failures = page.split(">Self-reported</h3>")[1].split(">Failures</h3>")
    assert "0.93" in own_part
    assert "own" in own_part
    assert "/own" not in failures.split("## How it is measured")[0]
    assert "the last <b>100</b> episodes count" in page


def test_a_difference_of_rounding_is_none() -> None:
    assert not claim_differs(0.75, 0.7549, 2)
    assert claim_differs(0.75, 0.76, 2)
