"""What pages show of a script: its learning curve, and what it claims beside what was measured."""

from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from leaderboard.scoring.metrics import curve
from leaderboard.text.escape_markdown import escape
from leaderboard.text.format import number, span

WIDTH, HEIGHT = 240, 60
# More points than the picture has columns would be drawn one over the other.
POINTS = 200


def learning_curve(result: Result, task: Task) -> Markup | None:
    """The mean return of the last few episodes against the steps of the whole budget; None where none was finished."""
    found = curve(result, task.script)
    if found is None:
        return None
    points = list(found.points())
    count = min(POINTS, len(points))
    shown = [points[index * (len(points) - 1) // max(1, count - 1)] for index in range(count)]
    low, high = min(value for _, value in shown), max(value for _, value in shown)
    reach = max(found.rules.steps, shown[-1][0])
    line = " ".join(
        f"{WIDTH * steps / reach:.2f},{_height(value, low, high):.2f}" for steps, value in [*shown, (reach, shown[-1][1])]
    )
    words = escape(f"learning curve: mean returns from {span(low, high, task.decimals)} in {number(reach, 0)} steps")
    return Markup(
        '<svg class="pr-curve" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{words}">'
        '<line class="pr-axis" x1="0" x2="{w}" y1="{floor}" y2="{floor}"/>'
        '<polyline class="pr-line" fill="none" points="{line}"/></svg>'
    ).format(w=WIDTH, h=HEIGHT + 1, floor=HEIGHT + 0.5, words=words, line=line)


def _height(value: float, low: float, high: float) -> float:
    return HEIGHT - (HEIGHT - 3) * (value - low) / (high - low) if high > low else HEIGHT / 2


def ends(result: Result, task: Task) -> tuple[float, float] | None:
    """The least and the greatest height of the curve."""
    found = curve(result, task.script)
    heights = [value for _, value in found.points()] if found else []
    return (min(heights), max(heights)) if heights else None


def is_other_claim(claimed: float, measured: float, decimals: int) -> bool:
    """Whether a claim differs from the mean that was measured by more than rounding."""
    return abs(claimed - measured) > 0.51 * 10.0**-decimals
