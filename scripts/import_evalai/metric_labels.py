"""EvalAI's leaderboards as metrics: which label is which, and which direction is better."""

import re
from typing import Any

from scripts.import_evalai.config_reader import ConfigSection, ConversionReport, ImportFaultError

# What a label's words say of the number behind it; EvalAI itself knows labels only. The first that fits counts.
_KINDS = (
    (re.compile(r"success|solved|completion|win.?rate", re.IGNORECASE), "success_rate"),
    (re.compile(r"length|steps|duration", re.IGNORECASE), "mean_length"),
    (re.compile(r"median", re.IGNORECASE), "median_return"),
    (re.compile(r"return|reward|score|total|mean|average", re.IGNORECASE), "mean_return"),
)


def metrics_of(board: ConfigSection, split: ConfigSection) -> list[dict[str, Any]]:
    """The metrics of a leaderboard as one phase split shows it: the one that ranks first.

    Raises:
        ImportFaultError: the leaderboard has no labels.
    """
    schema = board.inner("schema")
    labels = list(dict.fromkeys(schema.words("labels")))
    if not labels:
        raise ImportFaultError(f"{schema.at('labels')}: is missing or empty; a leaderboard has labels")
    first = _default(schema, labels)
    decimals = split.whole("leaderboard_decimal_precision")
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
            schema.ledger.warn(schema.at("labels"), f"'{label}' is taken as a success rate: set its 'threshold'")
        if words := _meta(schema, label).text("description"):
            metric["description"] = words[:2000]
        carried.append(metric | {"decimals": min(6, max(0, 2 if decimals is None else decimals))})
    return carried


def _default(schema: ConfigSection, labels: list[str]) -> str:
    wanted = schema.text("default_order_by")
    schema.carried("labels", "metrics of each task")
    if wanted in labels:
        schema.carried("default_order_by", f"'{wanted}' is the first metric, which ranks")
        return wanted
    what = f"{wanted!r} is none of the labels" if wanted else "is missing"
    schema.changed("default_order_by", f"'{labels[0]}', the first label, ranks")
    schema.ledger.warn(schema.at("default_order_by"), f"{what}; '{labels[0]}' ranks; put another first if that is wrong")
    return labels[0]


def _kind(label: str, schema: ConfigSection, *, ranks: bool) -> str | None:
    found = next((kind for words, kind in _KINDS if words.search(label)), None)
    if found is None and ranks:
        schema.ledger.warn(
            schema.at("labels"),
            f"'{label}' ranks and nothing says how it is computed: taken as mean_return",
        )
        return "mean_return"
    if found is None:
        schema.ledger.warn(
            schema.at("labels"),
            f"'{label}' is left out, as nothing says how it is computed: add it with a function",
        )
    return found


def _meta(schema: ConfigSection, label: str) -> ConfigSection:
    return schema.inner("metadata").inner(label)


def _direction(label: str, schema: ConfigSection, split: ConfigSection, ranks: bool) -> str:
    """EvalAI sorts by the metadata, where it is there, and ascending where that is silent; hosts mean the flag."""
    flag = split.truth("is_leaderboard_order_descending", True)
    split.carried("is_leaderboard_order_descending", "direction of the metric that ranks")
    meta = _meta(schema, label)
    said = schema.inner("metadata").has(label)
    if said:
        schema.carried("metadata", "direction and description of each metric")
    ascending = meta.truth("sort_ascending", False) if meta.has("sort_ascending") else None
    if not ranks:
        return "lower" if ascending else "higher"
    if said and ascending is None and flag:
        meta.ledger.warn(
            meta.at("sort_ascending"),
            f"is missing, so EvalAI sorted '{label}' ascending against is_leaderboard_order_descending; taken as higher",
        )
    elif ascending is not None and ascending == flag:
        meta.ledger.warn(
            meta.at("sort_ascending"),
            f"is {ascending}, and is_leaderboard_order_descending is {flag}: they disagree on '{label}'. The flag is taken"
            f" ({'higher' if flag else 'lower'} is better), EvalAI sorted by the other; check 'direction'",
        )
    return "higher" if flag else "lower"


def unused(boards: list[ConfigSection], used: set[str], ledger: ConversionReport) -> None:
    """Leaderboards that no phase split shows."""
    for board in boards:
        board.carried("id", "tells boards apart in the original only")
        if board.text("id") not in used:
            ledger.warn(board.place, "no phase split shows this leaderboard, so it is left out")
