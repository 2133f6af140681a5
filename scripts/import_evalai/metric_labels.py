"""Conversion of EvalAI's leaderboard labels into metrics, with their kind and direction."""

import re
from typing import Any

from scripts.import_evalai.config_reader import ConfigSection, ConversionReport, ImportFaultError

# EvalAI has labels only, so a metric's kind is guessed from its label; the first pattern that matches counts.
_LABEL_KINDS = (
    (re.compile(r"success|solved|completion|win.?rate", re.IGNORECASE), "success_rate"),
    (re.compile(r"length|steps|duration", re.IGNORECASE), "mean_length"),
    (re.compile(r"median", re.IGNORECASE), "median_return"),
    (re.compile(r"return|reward|score|total|mean|average", re.IGNORECASE), "mean_return"),
)


def task_metrics(board: ConfigSection, split: ConfigSection) -> list[dict[str, Any]]:
    """The metrics of a leaderboard in one phase split; the first one ranks.

    Raises:
        ImportFaultError: the leaderboard has no labels.
    """
    schema = board.mapping("schema")
    labels = list(dict.fromkeys(schema.texts("labels")))
    if not labels:
        raise ImportFaultError(f"{schema.at('labels')}: is missing or empty; a leaderboard has labels")
    first = _ranking_label(schema, labels)
    decimals = split.integer("leaderboard_decimal_precision")
    split.carried("leaderboard_decimal_precision", "decimals of the task's metrics")
    carried = []
    for label in [first, *(label for label in labels if label != first)]:
        kind = _kind(label, schema, ranks=label == first)
        if kind is None:
            continue
        metric: dict[str, Any] = {
            "name": label[:60],
            "kind": kind,
            "direction": _direction(label, schema, split, label == first),
        }
        if kind == "success_rate":
            metric["threshold"] = 1
            schema.report.warn(schema.at("labels"), f"'{label}' is taken as a success rate: set its 'threshold'")
        if words := _label_metadata(schema, label).text("description"):
            metric["description"] = words[:2000]
        carried.append(metric | {"decimals": min(6, max(0, 2 if decimals is None else decimals))})
    return carried


def _ranking_label(schema: ConfigSection, labels: list[str]) -> str:
    wanted = schema.text("default_order_by")
    schema.carried("labels", "metrics of each task")
    if wanted in labels:
        schema.carried("default_order_by", f"'{wanted}' is the first metric, which ranks")
        return wanted
    problem = f"{wanted!r} is none of the labels" if wanted else "is missing"
    schema.changed("default_order_by", f"'{labels[0]}', the first label, ranks")
    schema.report.warn(schema.at("default_order_by"), f"{problem}; '{labels[0]}' ranks; put another first if that is wrong")
    return labels[0]


def _kind(label: str, schema: ConfigSection, *, ranks: bool) -> str | None:
    kind = next((kind for pattern, kind in _LABEL_KINDS if pattern.search(label)), None)
    if kind is None and ranks:
        schema.report.warn(
            schema.at("labels"),
            f"'{label}' ranks and nothing says how it is computed: taken as mean_return",
        )
        return "mean_return"
    if kind is None:
        schema.report.warn(
            schema.at("labels"),
            f"'{label}' is left out, as nothing says how it is computed: add it with a function",
        )
    return kind


def _label_metadata(schema: ConfigSection, label: str) -> ConfigSection:
    return schema.mapping("metadata").mapping(label)


def _direction(label: str, schema: ConfigSection, split: ConfigSection, ranks: bool) -> str:
    """The direction. If metadata and flag disagree the flag counts, though EvalAI sorts by the metadata."""
    flag = split.boolean("is_leaderboard_order_descending", True)
    split.carried("is_leaderboard_order_descending", "direction of the metric that ranks")
    meta = _label_metadata(schema, label)
    has_metadata = schema.mapping("metadata").has(label)
    if has_metadata:
        schema.carried("metadata", "direction and description of each metric")
    ascending = meta.boolean("sort_ascending", False) if meta.has("sort_ascending") else None
    if not ranks:
        return "lower" if ascending else "higher"
    if has_metadata and ascending is None and flag:
        meta.report.warn(
            meta.at("sort_ascending"),
            f"is missing, so EvalAI sorted '{label}' ascending against is_leaderboard_order_descending; taken as higher",
        )
    elif ascending is not None and ascending == flag:
        meta.report.warn(
            meta.at("sort_ascending"),
            f"is {ascending}, and is_leaderboard_order_descending is {flag}: they disagree on '{label}'. The flag is taken"
            f" ({'higher' if flag else 'lower'} is better), EvalAI sorted by the other; check 'direction'",
        )
    return "higher" if flag else "lower"


def warn_unused_leaderboards(boards: list[ConfigSection], used: set[str], report: ConversionReport) -> None:
    """Warn of leaderboards that no phase split shows."""
    for board in boards:
        board.carried("id", "tells boards apart in the original only")
        if board.text("id") not in used:
            report.warn(board.place, "no phase split shows this leaderboard, so it is left out")
