"""What was measured of an agent before: its earlier versions, and the same version under other settings."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result, SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import AgentName
from leaderboard.core.versions import VersionFolders
from leaderboard.pages.agent.profile import AgentProfile
from leaderboard.scoring.intervals import values
from leaderboard.scoring.metrics import known_metrics, ranking
from leaderboard.text import format, urls
from leaderboard.text.escape_html import escape_line, linked_line

_ERROR = ":error"
_UNKNOWN = Markup("not recorded")
Column = tuple[str, Sequence[Markup]]
"""Its name and its values, result by result."""
Tell = Callable[[Result, str | None], Markup]


@dataclass(frozen=True, kw_only=True)
class ProvenanceTable:
    """The provenance of one agent's results, as HTML."""

    shared: tuple[tuple[str, Markup], ...]
    """Name and value of what is the same for all of them."""
    named: tuple[str, ...]
    """What is told task by task."""
    rows: tuple[tuple[Task, str], ...]
    """The task, and its cells in the order of the names."""


def provenance_table(profile: AgentProfile, repository: str | None) -> ProvenanceTable:
    """What stands behind the numbers of one agent."""
    results = [(showing.task, result) for showing in profile.showings if (result := showing.result)]
    # Mostly all of it is the same, and then it is told once.
    around = [_circumstances(result) for _, result in results]
    chosen = [result for _, result in (results if any(one != around[0] for one in around) else results[:1])]
    told = [(name, [tell(result, repository) for result in chosen]) for name, tell in _COMMON]
    # What nobody recorded is not worth a line.
    shared = tuple((name, values[0]) for name, values in told if len(set(values)) == 1 and values[0] != _UNKNOWN)
    before = [(name, values) for name, values in told if len(set(values)) > 1]
    after = _counts([result for _, result in results])
    named, own = (_UNLINKED, _own_unlinked) if profile.entry.anonymous else (_OWN, _own)
    rows = tuple(
        (task, f"{_cells(before, i)}{own(result, repository)}{_cells(after, i)}") for i, (task, result) in enumerate(results)
    )
    names = (*(name for name, _ in before), *named, *(name for name, _ in after))
    return ProvenanceTable(shared=shared, named=names, rows=rows)


def _circumstances(result: Result) -> tuple[object, ...]:
    """All that `_COMMON` tells of."""
    limits, origin = result.limits, result.provenance
    return (
        result.tier, result.beacon, result.beacon_verified, result.sandbox, result.runtime_digest, result.image_digest,
        result.platform, result.versions, limits.cpu_seconds, limits.memory_mib, origin.commit, origin.run_url,
    )  # fmt: skip


def _cells(columns: Iterable[Column], index: int) -> str:
    return "".join([f"<td>{values[index]}</td>" for _, values in columns])


def _counts(results: Sequence[Result]) -> list[Column]:
    """What was counted beside the returns: a column for each name that any of them has."""
    names = dict.fromkeys(name for result in results for name in result.metrics if not name.endswith(_ERROR))
    return [(name, [_count(result, name) for result in results]) for name in names]


def _count(result: Result, name: str) -> Markup:
    found = result.metrics.get(name)
    return Markup(format.NONE if found is None else format.plain(found))


@functools.lru_cache(maxsize=4096)
def _code(text: str | None) -> Markup:
    return Markup(f"<code>{escape(text)}</code>") if text else Markup("none")


def _class(result: Result, _: str | None) -> Markup:
    return Markup(result.tier.value)


def _beacon(result: Result, _: str | None) -> Markup:
    said = "public"
    if secret_hash(result.beacon):
        said = "the hash of the season’s secret"
    elif result.tier is Tier.OFFICIAL:
        said = format.SIGNED[result.beacon_verified]
    return _code(result.beacon) + f" {said}"


def _sandbox(result: Result, _: str | None) -> Markup:
    return Markup(
        result.sandbox.value + (", which is no security boundary" if result.sandbox is SandboxKind.PROCESS else "")
    )


def _versions(result: Result, _: str | None) -> Markup:
    return escape_line(", ".join(f"{name} {version}" for name, version in result.versions.items())) or _UNKNOWN


def _commit(result: Result, repository: str | None) -> Markup:
    commit = result.provenance.commit
    return linked_line(urls.commit_url(repository, commit), format.short(commit)) if commit else _UNKNOWN


def _run(result: Result, _: str | None) -> Markup:
    return linked_line(result.provenance.run_url, "open") if result.provenance.run_url else _UNKNOWN


def _own(result: Result, repository: str | None) -> str:
    """The cells of what only one result has, in the order of `_OWN`."""
    key = escape(format.short(result.key))
    url = urls.result_url(repository, result.path()) if result.tier is Tier.OFFICIAL else None
    if url:
        key = Markup(f'<a href="{escape(url)}">{key}</a>')
    trace = format.short(result.trace_sha256 or "")
    return f"<td><code>{key}</code></td><td>{_code(trace)}</td>{_own_unlinked(result, repository)}"


def _own_unlinked(result: Result, _: str | None) -> str:
    """Those of them by which nobody finds out whose they are."""
    cost = result.cost
    steps = "sealed" if result.sealed else format.number(cost.steps, 0)
    return (
        f"<td>{format.seconds(cost.cpu_seconds)}</td><td>{format.seconds(cost.wall_seconds)}</td>"
        f"<td>{format.size(cost.peak_memory_bytes)}</td><td>{steps}</td>"
        f"<td>{escape_line(result.provenance.evaluated_at.replace('T', ' ').removesuffix('Z'))}</td>"
    )


_COMMON: tuple[tuple[str, Tell], ...] = (
    ("class", _class),
    ("beacon", _beacon),
    ("sandbox", _sandbox),
    ("runtime digest", lambda result, _: _code(result.runtime_digest)),
    ("image", lambda result, _: _code(result.image_digest)),
    ("platform", lambda result, _: escape_line(result.platform) if result.platform else _UNKNOWN),
    ("versions", _versions),
    ("processor time allowed", lambda result, _: Markup(format.seconds(result.limits.cpu_seconds))),
    ("memory allowed", lambda result, _: Markup(f"{result.limits.memory_mib} MiB")),
    ("commit", _commit),
    ("workflow run", _run),
)
_UNLINKED = ("processor time", "wall time", "peak memory", "steps", "evaluated")
_OWN = ("result", "trace", *_UNLINKED)


# The newest so many; the others are in the agent's document.
SHOWN = 40


@dataclass(frozen=True, kw_only=True)
class EarlierVersion:
    """One result among those that an agent has."""

    task: Task
    """On which task."""
    result: Result
    """What was measured."""
    score: float | None
    """What that amounts to; None where it failed or nothing can be compared."""
    is_shown: bool
    """Whether it is the one that counts now."""
    is_other_task: bool
    """Whether the task had other settings then, so that the number is of another kind."""


@dataclass(frozen=True, kw_only=True)
class EarlierVersions:
    """The history of one agent."""

    versions: tuple[EarlierVersion, ...]
    """The newest first."""
    more: int
    """How many older ones are not among them."""


def results_by_agent(
    results: Iterable[Result], season: str, names: Iterable[AgentName], at: VersionFolders, *, official: bool
) -> Mapping[AgentName, Sequence[Result]]:
    """The results of the season of those agents: looked through once, not for each."""
    found: dict[AgentName, list[Result]] = {name: [] for name in names}
    for result in results:
        own = found.get(at.of(result))
        if own is not None and result.season == season and (is_official(result) or not official):
            own.append(result)
    return found


def earlier_versions(profile: AgentProfile, own: Sequence[Result]) -> EarlierVersions | None:
    """What is recorded of an agent beside what its page shows anyway; None where there is nothing else."""
    shown = {showing.result.key for showing in profile.showings if showing.result}
    tasks = {showing.task.id: showing.task for showing in profile.showings}
    known_tasks = [result for result in own if result.task in tasks]
    if not any(result.key not in shown for result in known_tasks):
        return None
    ordered = sorted(known_tasks, key=lambda result: (result.provenance.evaluated_at, result.key), reverse=True)
    versions = tuple(_version(tasks[result.task], result, shown) for result in ordered[:SHOWN])
    return EarlierVersions(versions=versions, more=len(ordered) - len(versions))


def _version(task: Task, result: Result, shown: set[str]) -> EarlierVersion:
    is_other = result.task_digest != task.digest()
    score = None if is_other or result.verdict is not Verdict.OK else known_metrics(values([result], task, ranking(task))[0])
    return EarlierVersion(task=task, result=result, score=score, is_shown=result.key in shown, is_other_task=is_other)
