"""The rows of the tables on an agent's page, as HTML: scores, returns, and where its numbers come from.

In a template, escaping hundreds of numbers a page is slow.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import SandboxKind, Tier
from evaluator.model.sealed_fields import secret_hash
from leaderboard.charts.agent_charts import ValueSpread
from leaderboard.charts.interval_charts import ChartScale, interval_element
from leaderboard.core.standings import TaskRow
from leaderboard.pages.agent.agent_profile import AgentProfile, TaskResult
from leaderboard.pages.template_renderer import verdict_tag
from leaderboard.scoring.metrics import digits
from leaderboard.text import format, urls
from leaderboard.text.escape_html import escape_line, linked_line
from leaderboard.text.format import NONE, day, number, ranks, span, superseded_reason, tries_mark

DrawnReturns = Iterable[tuple[Task, Result, tuple[ValueSpread, str]]]
"""Each with the statistics of the result's returns, and their histogram."""
_WAITS = "<td></td><td></td><td>waiting</td>"
_NO_ROW = f"<td>{NONE}</td><td>{NONE}</td><td></td>"
_NO_VALUE = f"<td>{NONE}</td><td>no value</td><td></td>"
_NO_PLACE = f"<td>{NONE}</td><td>{NONE}</td>"
_TIED = ' <span class="pr-tie">statistically tied with the leader</span>'
_REPRODUCED = ' <span class="pr-tag">reproduced</span>'


def table_heads(names: tuple[str, ...]) -> Markup:
    """The heads of further columns."""
    return Markup("".join([f' <th scope="col">{escape_line(name)}</th>' for name in names]))


def row_facts(facts: Iterable[tuple[str, Markup]]) -> Markup:
    """Rows with a name and a value."""
    return Markup(
        "\n".join(
            [f'<tr><th scope="row">{escape_line(name)}</th><td>{escape_line(value)}</td></tr>' for name, value in facts]
        )
    )


def code_words(words: tuple[str, ...]) -> Markup:
    """Words in code style, separated by commas."""
    return Markup(", ".join([f"<code>{escape_line(word)}</code>" for word in words]))


@dataclass(frozen=True, kw_only=True)
class _TaskCells:
    """What the rows of one task share; texts are HTML."""

    head: str
    """The task's name as the head of a row."""
    link: str
    """The task's name as a link to its page."""
    scale: ChartScale
    digits: int
    """Decimals of a score."""
    decimals: int
    """Decimals of a return."""


class TableRows:
    """Formats rows; what all agents share is formatted once."""

    def __init__(
        self,
        scales: Mapping[str, ChartScale],
        page_links: Mapping[str, Markup],
        reproduced: Collection[str],
    ) -> None:
        """`scales` and `page_links` are by task id; `reproduced` are the keys of reproduced results."""
        self._scales, self._links, self._reproduced = scales, page_links, reproduced
        self._tasks: dict[str, _TaskCells] = {}

    def scores(self, task_results: Iterable[TaskResult]) -> Markup:
        """The rows of the table of scores."""
        return Markup("\n".join([self._score(entered) for entered in task_results]))

    def returns(self, measured: DrawnReturns) -> Markup:
        """The rows of the table of returns."""
        return Markup("\n".join([_returns(self._cells_of(task), result, drawn) for task, result, drawn in measured]))

    def sources(self, rows: Iterable[tuple[Task, str]]) -> Markup:
        """The rows of the table of provenance, from cells that are HTML."""
        return Markup("\n".join([f"<tr>{self._cells_of(task).head}{cells}</tr>" for task, cells in rows]))

    def _score(self, entered: TaskResult) -> str:
        row, result, shared = entered.row, entered.result, self._cells_of(entered.task)
        end = _WAITS.replace("waiting", escape_line(entered.quarantine)) if entered.quarantine else _WAITS
        if result:
            again = _REPRODUCED if result.key in self._reproduced else ""
            when = escape_line(day(result.provenance.evaluated_at))
            end = f"<td>{entered.versions_tried}</td><td>{when}</td><td>{verdict_tag(result.verdict)}{again}</td>"
        if row is None:
            return f"<tr>{_NO_PLACE}<td>{shared.link}</td>{_NO_ROW}{end}</tr>"
        tied = _TIED if row.with_leader and row.place > 1 else ""
        if row.tries > 1:
            tied += f' <span class="pr-tag">{tries_mark(row.tries)}</span>'
        if row.superseded_by is not None:
            tied += f' <span class="pr-by">{escape_line(superseded_reason(row.superseded_by))}</span>'
        return f"<tr>{_place(row)}<td>{shared.link}{tied}</td>{_value(row, shared)}{end}</tr>"

    def _cells_of(self, task: Task) -> _TaskCells:
        cells = self._tasks.get(task.id)
        if cells is None:
            name = f"<bdi>{escape_line(task.title or task.id)}</bdi>"
            cells = self._tasks[task.id] = _TaskCells(
                head=f'<th scope="row">{name}</th>', link=f'<a href="{self._links[task.id]}">{name}</a>',
                scale=self._scales[task.id], digits=digits(task), decimals=task.decimals,
            )  # fmt: skip
        return cells


def _returns(shared: _TaskCells, result: Result, drawn: tuple[ValueSpread, str]) -> str:
    spread, outline = drawn
    lengths, count = result.lengths, len(result.returns)
    numbers = [number(value, shared.decimals) for value in spread]
    high = "" if spread.least == spread.greatest else f' data-high="{numbers[4]}"'
    axis = f'<i class="pr-ends" data-low="{numbers[0]}"{high}></i>'
    length = number(sum(lengths) / len(lengths), 1) if lengths else NONE
    cells = "</td><td>".join([f"{outline}{axis}", *numbers, str(count), length])
    return f"<tr>{shared.head}<td>{cells}</td></tr>"


def _value(row: TaskRow, shared: _TaskCells) -> str:
    estimate, places = row.estimate, shared.digits
    if estimate.is_missing:
        return _NO_VALUE
    score, interval = number(estimate.score, places), span(estimate.low, estimate.high, places)
    return f"<td><b>{score}</b></td><td>{interval}</td><td>{interval_element(estimate, shared.scale)}</td>"


def _place(row: TaskRow) -> str:
    if row.is_unranked or row.estimate.is_missing:
        return _NO_PLACE
    place = f'<span class="pr-medal pr-medal-{row.place}">{row.place}</span>' if row.has_medal else row.place
    return f"<td>{place}</td><td>{ranks(row.rank_low, row.rank_high)}</td>"


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
    differ = any(cells != circumstances[0] for cells in circumstances)
    chosen = [result for _, result in (results if differ else results[:1])]
    # Agents of one pull request have one beacon, and would so be known as one person's.
    common = _COMMON if not profile.entry.anonymous else tuple(column for column in _COMMON if column[1] is not _beacon)
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
