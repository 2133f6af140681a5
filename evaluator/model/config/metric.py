"""The metrics of a task."""

import enum
import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from evaluator.model.base import Frozen
from evaluator.model.identifiers import Line, Text


@enum.unique
class Direction(enum.StrEnum):
    """Which of two values is better."""

    HIGHER = "higher"
    LOWER = "lower"


BUILT_IN = (
    "mean_return",
    "iqm_return",
    "median_return",
    "success_rate",
    "mean_length",
    "steps_to_threshold",
    "area_under_curve",
)
_WITH_THRESHOLD = ("success_rate", "steps_to_threshold")
# Equal parts of the episodes; leaving each out once gives the standard error of a host's own function.
JACKKNIFE_GROUPS = 10
# Metrics of a script's learning curve.
OF_CURVES = ("steps_to_threshold", "area_under_curve")
_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _known(kind: str) -> str:
    if kind not in BUILT_IN and not _FUNCTION.fullmatch(kind):
        raise ValueError(f"must be one of {', '.join(BUILT_IN)}, or a host's own 'module:function'")
    return kind


MetricKind = Annotated[str, StringConstraints(max_length=200), AfterValidator(_known)]


class Metric(Frozen):
    """One number about a result."""

    name: Line
    """As the board shows it."""
    kind: MetricKind
    """How it is computed: one of ours, or a host's own `module:function` over the episodes."""
    direction: Direction
    """`higher` or `lower` is better: required, because a board that guesses sorts the wrong way silently."""
    decimals: int = Field(default=1, ge=0, le=6)
    """Digits after the point when it is shown."""
    description: Text = ""
    threshold: float | None = None
    """The return that counts as a success, for success_rate and steps_to_threshold."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if (self.kind in _WITH_THRESHOLD) != (self.threshold is not None):
            needs = "needs" if self.threshold is None else "has no use for"
            raise ValueError(f"'{self.name}': {self.kind} {needs} a 'threshold'")
        return self

    @property
    def sign(self) -> int:
        """1 where higher is better, −1 where lower is."""
        return 1 if self.direction is Direction.HIGHER else -1

    @property
    def is_own(self) -> bool:
        """Whether it is a host's own function; its values stand in a result's `metrics` under its `kind`."""
        return self.kind not in BUILT_IN

    @property
    def error_key(self) -> str:
        """The key of its standard error in a result's `metrics`, for a host's own function."""
        return f"{self.kind}:error"


def metrics_fault(
    metrics: tuple[Metric, ...],
    ties: tuple[str, ...],
    score: str,
    reference_scores: tuple[float, float] | None,
    *,
    for_scripts: bool,
) -> str | None:
    """The first contradiction between a task's metrics and its other settings, or None.

    `reference_scores`: the random agent's score and the reference, where both are known.
    """
    names = [metric.name for metric in metrics]
    if twice := next((name for name in names if names.count(name) > 1), None):
        return f"the metric '{twice}' stands twice"
    if unknown := next((name for name in ties if name not in names), None):
        return f"'ties' names '{unknown}', which is none of the metrics"
    if not metrics:
        return None
    if names[0] in ties:
        return f"'ties' names '{names[0]}', which ranks: it cannot part what it finds equal"
    if curved := next((m for m in metrics if m.kind in OF_CURVES and not for_scripts), None):
        return f"the metric '{curved.name}' is about learning curves; give the task a 'script'"
    if score != "mean":
        return f"'score: {score}' means nothing beside 'metrics'; give the first metric the kind '{score}_return'"
    if reference_scores and metrics[0].sign * (reference_scores[1] - reference_scores[0]) < 0:
        better = metrics[0].direction
        return f"by '{names[0]}' {better} is better, but the reference is worse than the random agent"
    return None
