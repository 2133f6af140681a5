"""Where an agent's numbers come from: the provenance of its results."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result, SandboxKind, Tier
from evaluator.model.sealed_fields import secret_hash
from leaderboard.pages.agent.agent_profile import AgentProfile
from leaderboard.text import format, urls
from leaderboard.text.escape_html import escape_line, linked_line

_ERROR = ":error"
_UNKNOWN = Markup("not recorded")
_ProvenanceColumn = tuple[str, Sequence[Markup]]
"""Name, and the value for each result."""
_FormatField = Callable[[Result, str | None], Markup]
"""From a result and the repository's address to the HTML of a field."""


@dataclass(frozen=True, kw_only=True)
class ProvenanceTable:
    """The provenance of one agent's results, as HTML."""

    shared: tuple[tuple[str, Markup], ...]
    """Name and value of the fields that are equal for all results."""
    columns: tuple[str, ...]
    """Names of the other fields."""
    rows: tuple[tuple[Task, str], ...]
    """Each task, and its cells in the order of the columns."""


def provenance_table(profile: AgentProfile, repository: str | None) -> ProvenanceTable:
    """The provenance of the results of one agent."""
    results = [(entered.task, result) for entered in profile.task_results if (result := entered.result)]
    # Usually all results have the same circumstances: then formatting one of them is enough.
    circumstances = [_circumstances(result) for _, result in results]
    differ = any(one != circumstances[0] for one in circumstances)
    chosen = [result for _, result in (results if differ else results[:1])]
    # Agents of one pull request have one beacon, and would so be known as one person's.
    common = _COMMON if not profile.entry.anonymous else tuple(one for one in _COMMON if one[1] is not _beacon)
    fields = [(name, [form(result, repository) for result in chosen]) for name, form in common]
    # A field that nothing recorded is left out.
    shared = tuple((name, values[0]) for name, values in fields if len(set(values)) == 1 and values[0] != _UNKNOWN)
    before = [(name, values) for name, values in fields if len(set(values)) > 1]
    after = _counts([result for _, result in results])
    names, cells = (_UNLINKED, _unlinked_cells) if profile.entry.anonymous else (_OWN, _own_cells)
    rows = tuple(
        (task, f"{_cells(before, i)}{cells(result, repository)}{_cells(after, i)}")
        for i, (task, result) in enumerate(results)
    )
    columns = (*(name for name, _ in before), *names, *(name for name, _ in after))
    return ProvenanceTable(shared=shared, columns=columns, rows=rows)


def _circumstances(result: Result) -> tuple[object, ...]:
    """The fields that `_COMMON` formats."""
    limits, origin = result.limits, result.provenance
    return (
        result.tier, result.beacon, result.beacon_verified, result.sandbox, result.runtime_digest, result.image_digest,
        result.platform, result.versions, limits.cpu_seconds, limits.memory_mib, origin.commit, origin.run_url,
    )  # fmt: skip


def _cells(columns: Iterable[_ProvenanceColumn], index: int) -> str:
    return "".join([f"<td>{values[index]}</td>" for _, values in columns])


def _counts(results: Sequence[Result]) -> list[_ProvenanceColumn]:
    """The recorded counts: a column for each name that any result has."""
    names = dict.fromkeys(name for result in results for name in result.metrics if not name.endswith(_ERROR))
    return [(name, [_count(result, name) for result in results]) for name in names]


def _count(result: Result, name: str) -> Markup:
    count = result.metrics.get(name)
    return Markup(format.NONE if count is None else format.plain(count))


def _code(text: str | None) -> Markup:
    return Markup(f"<code>{escape(text)}</code>") if text else Markup("none")


def _tier(result: Result, _: str | None) -> Markup:
    return Markup(result.tier.value)


def _beacon(result: Result, _: str | None) -> Markup:
    words = "public"
    if secret_hash(result.beacon):
        words = "the hash of the season’s secret"
    elif result.tier is Tier.OFFICIAL:
        words = format.SIGNED[result.beacon_verified]
    return _code(result.beacon) + f" {words}"


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


def _own_cells(result: Result, repository: str | None) -> str:
    """The cells of the fields in `_OWN`, which differ for each result."""
    key = escape(format.short(result.key))
    url = urls.result_url(repository, result.path()) if result.tier is Tier.OFFICIAL else None
    if url:
        key = Markup(f'<a href="{escape(url)}">{key}</a>')
    trace = format.short(result.trace_sha256 or "")
    return f"<td><code>{key}</code></td><td>{_code(trace)}</td>{_unlinked_cells(result, repository)}"


def _unlinked_cells(result: Result, _: str | None) -> str:
    """The cells of the fields in `_UNLINKED`, which do not reveal the author."""
    cost = result.cost
    steps = "sealed" if result.sealed else format.number(cost.steps, 0)
    return (
        f"<td>{format.seconds(cost.cpu_seconds)}</td><td>{format.seconds(cost.wall_seconds)}</td>"
        f"<td>{format.size(cost.peak_memory_bytes)}</td><td>{steps}</td>"
        f"<td>{escape_line(result.provenance.evaluated_at.replace('T', ' ').removesuffix('Z'))}</td>"
    )


_COMMON: tuple[tuple[str, _FormatField], ...] = (
    ("tier", _tier),
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
