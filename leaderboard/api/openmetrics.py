"""Counters and a histogram of all evaluations as OpenMetrics, computed from what is recorded."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.api.api_inputs import ApiInputs
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import shown_duels
from leaderboard.evaluation_health import health

# Upper ends in seconds: from an agent that crashes at once to a script's whole budget.
BUCKETS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 10800.0)
Labels = tuple[tuple[str, str], ...]


def openmetrics_document(inputs: ApiInputs) -> str:
    """All metric families, and the end mark."""
    return "".join([*_counters(inputs), *_histogram(inputs.results), *_gauges(inputs), "# EOF\n"])


def _counters(inputs: ApiInputs) -> Iterator[str]:
    results, duels = list(inputs.results), [duel for game in inputs.standings.games for duel in shown_duels(game)]
    yield from _family(
        "submissions_received", "counter", "Versions of agents that were entered, by the way they came.",
        {(("mode", mode),): count for mode, count in sorted(_received(inputs).items())},
    )  # fmt: skip
    invalid = Counter(r.verdict.value for r in results if r.verdict is Verdict.INVALID)
    for game in inputs.standings.games:
        invalid.update(_broken_rule(failure.duel) for failure in game.failures)
    yield from _family(
        "submissions_validation_failures", "counter", "Versions that broke the contract, or a game's rules.",
        {(("reason", reason),): count for reason, count in sorted(invalid.items())},
    )  # fmt: skip
    yield from _family(
        "evaluation_started", "counter", "Evaluations and duels that are recorded, however they ended.",
        {(): len(results) + len(duels)},
    )  # fmt: skip
    done = Counter(r.task for r in results if r.verdict is Verdict.OK)
    done.update(duel.task for duel in duels if duel.verdict is Verdict.OK)
    yield from _family(
        "evaluation_completed", "counter", "Evaluations and duels that came to their end.",
        {(("env_id", task),): count for task, count in sorted(done.items())},
    )  # fmt: skip
    failed = Counter(r.verdict.value for r in results if r.verdict is not Verdict.OK)
    failed.update(duel.verdict.value for duel in duels if duel.verdict is not Verdict.OK)
    yield from _family(
        "evaluation_failed", "counter", "Evaluations that did not, by verdict; internal_error is the board's own fault.",
        {(("reason", reason),): count for reason, count in sorted(failed.items())},
    )  # fmt: skip


def _histogram(results: Iterable[Result]) -> Iterator[str]:
    seconds: dict[str, list[float]] = {}
    for result in results:
        seconds.setdefault(result.task, []).append(result.cost.wall_seconds)
    yield from _head("evaluation_duration_seconds", "histogram", "From the start of an agent's sandbox to its end.")
    for task, durations in sorted(seconds.items()):
        durations.sort()
        for end in BUCKETS:
            # A bucket includes its upper end.
            below = bisect_right(durations, end)
            yield _sample("evaluation_duration_seconds_bucket", (("env_id", task), ("le", repr(end))), below)
        yield _sample("evaluation_duration_seconds_bucket", (("env_id", task), ("le", "+Inf")), len(durations))
        yield _sample("evaluation_duration_seconds_count", (("env_id", task),), len(durations))
        yield _sample("evaluation_duration_seconds_sum", (("env_id", task),), sum(durations))


def _gauges(inputs: ApiInputs) -> Iterator[str]:
    standings, state = inputs.standings, health(inputs.standings, inputs.context.results)
    states: dict[Labels, float] = {
        (("env_id", board.task.id), ("state", word)): len(rows)
        for board in inputs.standings.boards
        for word, rows in (("ranked", board.rows), ("failed", board.failures), ("waiting", board.waiting))
    }
    yield from _family("pullrank_entries", "gauge", "Entries of each board.", states)
    best = {board.task.id: board.best for board in standings.tasks}
    scores: dict[Labels, float] = {
        (("env_id", task),): row.estimate.score for task, row in best.items() if row and not row.estimate.is_missing
    }
    yield from _family("pullrank_best_score", "gauge", "The leader's score, in the unit of its task.", scores)
    if state.last_at:
        at = datetime.fromisoformat(state.last_at).timestamp()
        yield from _family(
            "pullrank_last_evaluation_timestamp_seconds", "gauge", "When the newest record was made.", {(): at}
        )
    if inputs.context.now:
        now = inputs.context.now.timestamp()
        yield from _family("pullrank_generated_timestamp_seconds", "gauge", "When this document was made.", {(): now})


def _received(inputs: ApiInputs) -> Counter[str]:
    """Versions by kind, each counted once, recorded or waiting. For former agents the kind is read from their results."""
    kinds: dict[AgentName, str] = {}
    versions: set[tuple[AgentName, str]] = set()
    for name, entry in inputs.standings.entries.items():
        kinds[name] = entry.submission.kind.value
        versions.add((name, entry.digest))
    for name, results in inputs.recorded.items():
        kinds.setdefault(name, "script" if any(result.script for result in results) else "policy")
        versions |= {(name, result.submission_digest) for result in results}
    return Counter(kinds[name] for name, _ in versions)


def _broken_rule(duel: Duel) -> str:
    """The rule that a player broke first; never its message, which may hold any text."""
    return next((match.end.value for match in duel.matches if match.offenders), duel.verdict.value)


def _family(name: str, kind: str, description: str, values: Mapping[Labels, float]) -> Iterator[str]:
    yield from _head(name, kind, description)
    for labels, value in values.items():
        yield _sample(f"{name}_total" if kind == "counter" else name, labels, value)


def _head(name: str, kind: str, description: str) -> Iterator[str]:
    yield f"# HELP {name} {description}\n"
    yield f"# TYPE {name} {kind}\n"


def _sample(name: str, labels: Labels, value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{pairs}}} {value!r}\n" if pairs else f"{name} {value!r}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
