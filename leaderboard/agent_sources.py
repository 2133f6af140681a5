"""Where an agent's numbers come from: what all its results share is said once, the rest task by task.

The full text of every hash is in the agent's document; a page of eight tasks would be hashes for the most part.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from evaluator.model.challenge import Task
from evaluator.model.result import Class, Result, SandboxKind
from evaluator.model.sealing import secret_hash
from leaderboard import format, links
from leaderboard.profiles import Profile
from leaderboard.words import line, linked

_ERROR = ":error"
_UNKNOWN = Markup("not recorded")
Row = tuple[Task, tuple[Markup, ...]]


@dataclass(frozen=True, kw_only=True)
class Sources:
    """The provenance of one agent's results, as HTML."""

    shared: tuple[tuple[str, Markup], ...]
    """Name and value of what is the same for all of them."""
    named: tuple[str, ...]
    """What is told task by task."""
    rows: tuple[Row, ...]
    """The task, and the values in the order of the names."""


def sources(profile: Profile, repository: str | None) -> Sources:
    """What stands behind the numbers of one agent."""
    results = [(showing.task, showing.result) for showing in profile.showings if showing.result]
    # Mostly all of it is the same, and then it is told once.
    different = [result for _, result in results[:1]]
    different += [result for _, result in results[1:] if _circumstances(result) != _circumstances(different[0])]
    chosen = different if len(different) == 1 else [result for _, result in results]
    told = [(name, [tell(result, repository) for result in chosen]) for name, tell in _COMMON]
    # What nobody recorded is not worth a line.
    shared = tuple((name, values[0]) for name, values in told if len(set(values)) == 1 and values[0] != _UNKNOWN)
    columns = [(name, values) for name, values in told if len(set(values)) > 1]
    own = [(name, tell) for name, tell in _OWN if not (profile.entry.anonymous and name in ("result", "trace"))]
    columns += [(name, [tell(result, repository) for _, result in results]) for name, tell in own]
    columns += _counts([result for _, result in results])
    rows = tuple((task, tuple(values[i] for _, values in columns)) for i, (task, _) in enumerate(results))
    return Sources(shared=shared, named=tuple(name for name, _ in columns), rows=rows)


def _circumstances(result: Result) -> tuple[object, ...]:
    """All that `_COMMON` tells of."""
    return (
        result.klass, result.beacon, result.beacon_verified, result.sandbox, result.runtime_digest, result.image_digest,
        result.platform, result.versions, result.limits, result.provenance.commit, result.provenance.run_url,
    )  # fmt: skip


def _counts(results: Sequence[Result]) -> Iterable[tuple[str, list[Markup]]]:
    """What was counted beside the returns: a column for each name that any of them has."""
    names = dict.fromkeys(name for result in results for name in result.metrics if not name.endswith(_ERROR))
    for name in names:
        yield name, [Markup(format.plain(found)) if (found := r.metrics.get(name)) is not None else _none() for r in results]


def _none() -> Markup:
    return Markup(format.NONE)


def _code(text: str | None) -> Markup:
    return Markup(f"<code>{escape(text)}</code>") if text else Markup("none")


def _class(result: Result, _: str | None) -> Markup:
    return Markup(result.klass.value)


def _beacon(result: Result, _: str | None) -> Markup:
    said = "public"
    if secret_hash(result.beacon):
        said = "the hash of the season’s secret"
    elif result.klass is Class.OFFICIAL:
        said = "signed by GitHub" if result.beacon_verified else "not verified as GitHub’s"
    return _code(result.beacon) + f" {said}"


def _sandbox(result: Result, _: str | None) -> Markup:
    return Markup(
        result.sandbox.value + (", which is no security boundary" if result.sandbox is SandboxKind.PROCESS else "")
    )


def _versions(result: Result, _: str | None) -> Markup:
    return line(", ".join(f"{name} {version}" for name, version in result.versions.items())) or _UNKNOWN


def _commit(result: Result, repository: str | None) -> Markup:
    commit = result.provenance.commit
    return linked(links.commit_url(repository, commit), format.short(commit)) if commit else _UNKNOWN


def _result(result: Result, repository: str | None) -> Markup:
    url = links.result_url(repository, result.path()) if result.klass is Class.OFFICIAL else None
    key = escape(format.short(result.key))
    return Markup(f'<code><a href="{escape(url)}">{key}</a></code>') if url else _code(key)


def _evaluated(result: Result, _: str | None) -> Markup:
    return line(result.provenance.evaluated_at.replace("T", " ").removesuffix("Z"))


def _run(result: Result, _: str | None) -> Markup:
    return linked(result.provenance.run_url, "open") if result.provenance.run_url else _UNKNOWN


def _cpu(result: Result, _: str | None) -> Markup:
    return Markup(format.seconds(result.cost.cpu_seconds))


def _memory(result: Result, _: str | None) -> Markup:
    return Markup(format.size(result.cost.peak_memory_bytes))


def _steps(result: Result, _: str | None) -> Markup:
    return Markup("sealed" if result.sealed else format.number(result.cost.steps, 0))


Tell = Callable[[Result, str | None], Markup]
_COMMON: tuple[tuple[str, Tell], ...] = (
    ("class", _class),
    ("beacon", _beacon),
    ("sandbox", _sandbox),
    ("runtime digest", lambda result, _: _code(result.runtime_digest)),
    ("image", lambda result, _: _code(result.image_digest)),
    ("platform", lambda result, _: line(result.platform) if result.platform else _UNKNOWN),
    ("versions", _versions),
    ("processor time allowed", lambda result, _: Markup(format.seconds(result.limits.cpu_seconds))),
    ("memory allowed", lambda result, _: Markup(f"{result.limits.memory_mib} MiB")),
    ("commit", _commit),
    ("workflow run", _run),
)
_OWN: tuple[tuple[str, Tell], ...] = (
    ("result", _result),
    ("trace", lambda result, _: _code(format.short(result.trace_sha256 or ""))),
    ("processor time", _cpu),
    ("wall time", lambda result, _: Markup(format.seconds(result.cost.wall_seconds))),
    ("peak memory", _memory),
    ("steps", _steps),
    ("evaluated", _evaluated),
)
