"""The rows of the tables on an agent's page, as HTML. In a template, escaping hundreds of numbers a page is slow."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from leaderboard.charts.agent_charts import ReturnSpread
from leaderboard.charts.interval_charts import ChartScale, interval_element
from leaderboard.core.standings import TaskRow
from leaderboard.pages.agent.agent_profile import TaskResult
from leaderboard.pages.page_templates import verdict_tag
from leaderboard.scoring.metrics import digits
from leaderboard.text.escape_html import escape_line
from leaderboard.text.format import NONE, day, number, ranks, span, superseded_reason, tries_mark

DrawnReturns = Iterable[tuple[Task, Result, tuple[ReturnSpread, str]]]
"""Each with the statistics of the result's returns, and their histogram."""
_MEDAL_PLACES = 3
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


def _returns(shared: _TaskCells, result: Result, drawn: tuple[ReturnSpread, str]) -> str:
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
    place = f'<span class="pr-medal pr-medal-{row.place}">{row.place}</span>' if row.place <= _MEDAL_PLACES else row.place
    return f"<td>{place}</td><td>{ranks(row.rank_low, row.rank_high)}</td>"
