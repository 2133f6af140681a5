"""The rows of an agent's tables, each made at once: a template would escape hundreds of numbers on each of many pages."""

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.charts.agent_charts import ReturnSpread, return_spreads
from leaderboard.charts.interval_chart import ChartScale, interval_element
from leaderboard.core.standings import Row
from leaderboard.pages.agent.profile import TaskResult
from leaderboard.scoring.metrics import digits
from leaderboard.text.escape_html import escape_line
from leaderboard.text.format import NONE, day, number, numbers, ranks, span

Drawn = Mapping[int, tuple[ReturnSpread, str]]
"""By the identity of a result: where its returns lie, and their outline."""
_MEDALS = 3
_WAITS = "<td></td><td></td><td>waiting</td>"
_NO_ROW = f"<td>{NONE}</td><td>{NONE}</td><td></td>"
_NO_VALUE = f"<td>{NONE}</td><td>no value</td><td></td>"
_NO_PLACE = f"<td>{NONE}</td><td>{NONE}</td>"
_TIED = ' <span class="pr-tie">not told apart from the leader</span>'
_REPRODUCED = ' <span class="pr-tag">reproduced</span>'
_LOOKS = {Verdict.OK: "ok", Verdict.INTERNAL_ERROR: "ours"}
VERDICTS = {
    verdict: Markup(f'<span class="pr-verdict pr-verdict-{_LOOKS.get(verdict, "bad")}">{verdict.value}</span>')
    for verdict in Verdict
}
"""What a verdict looks like."""
_VERDICTS = {verdict: str(tag) for verdict, tag in VERDICTS.items()}


@functools.lru_cache(maxsize=256)
def table_heads(names: tuple[str, ...]) -> Markup:
    """Columns' names, after another one; those of most agents are the same."""
    return Markup("".join([f' <th scope="col">{escape_line(name)}</th>' for name in names]))


def row_facts(found: Iterable[tuple[str, Markup]]) -> Markup:
    """Rows of a name and a value."""
    return Markup(
        "\n".join(
            [f'<tr><th scope="row">{escape_line(name)}</th><td>{escape_line(value)}</td></tr>' for name, value in found]
        )
    )


@functools.lru_cache(maxsize=256)
def verdict_codes(words: tuple[str, ...]) -> Markup:
    """Words to be typed, in a sentence; those of most agents are the same."""
    return Markup(", ".join([f"<code>{escape_line(word)}</code>" for word in words]))


@dataclass(frozen=True, kw_only=True)
class _Frame:
    """What the rows of one task share, as HTML."""

    head: str
    """The task's name as the head of a row."""
    link: str
    """The same as a link to its page."""
    scale: ChartScale
    """On which its scores are drawn."""
    digits: int
    """After the point of a score."""
    decimals: int
    """After the point of a return."""


def draw_rows(results: Sequence[Result]) -> Drawn:
    """The returns of some results, at least one each: of many at once, since the first of them takes as long as all."""
    return dict(zip(map(id, results), return_spreads([one.returns for one in results]), strict=True))


class TableRows:
    """What makes rows; what all agents share is made once."""

    def __init__(
        self, scales: Mapping[str, ChartScale], page_links: Mapping[str, Markup], reproduced: Collection[str]
    ) -> None:
        """`scales` and `page_links` are by task; `reproduced` are the keys of results that came out again."""
        self._scales, self._links, self._reproduced = scales, page_links, reproduced
        self._frames: dict[str, _Frame] = {}

    def scores(self, showings: Iterable[TaskResult]) -> Markup:
        """Where an agent stands, task by task."""
        return Markup("\n".join([self._score(showing) for showing in showings]))

    def returns(self, measured: Iterable[tuple[Task, Result]], drawn: Drawn) -> Markup:
        """How the returns of results are spread."""
        rows = [_returns(self._frame(task), result, drawn[id(result)]) for task, result in measured]
        return Markup("\n".join(rows))

    def sources(self, found: Iterable[tuple[Task, str]]) -> Markup:
        """Where the numbers of each task come from: the cells of its row are HTML."""
        return Markup("\n".join([f"<tr>{self._frame(task).head}{cells}</tr>" for task, cells in found]))

    def _score(self, showing: TaskResult) -> str:
        row, result, frame = showing.row, showing.result, self._frame(showing.task)
        end = _WAITS
        if result:
            again = _REPRODUCED if result.key in self._reproduced else ""
            when = escape_line(day(result.provenance.evaluated_at))
            end = f"<td>{showing.attempts}</td><td>{when}</td><td>{_VERDICTS[result.verdict]}{again}</td>"
        if row is None:
            return f"<tr>{_NO_PLACE}<td>{frame.link}</td>{_NO_ROW}{end}</tr>"
        tied = _TIED if row.with_leader and row.place > 1 else ""
        return f"<tr>{_place(row)}<td>{frame.link}{tied}</td>{_value(row, frame)}{end}</tr>"

    def _frame(self, task: Task) -> _Frame:
        found = self._frames.get(task.id)
        if found is None:
            name = f"<bdi>{escape_line(task.title or task.id)}</bdi>"
            found = self._frames[task.id] = _Frame(
                head=f'<th scope="row">{name}</th>', link=f'<a href="{self._links[task.id]}">{name}</a>',
                scale=self._scales[task.id], digits=digits(task), decimals=task.decimals,
            )  # fmt: skip
        return found


def _returns(frame: _Frame, result: Result, drawn: tuple[ReturnSpread, str]) -> str:
    found, outline = drawn
    lengths, count = result.lengths, len(result.returns)
    shown = numbers(found, frame.decimals, "</td><td>")
    length = number(sum(lengths) / len(lengths), 1) if lengths else NONE
    return f"<tr>{frame.head}<td>{outline}</td><td>{shown}</td><td>{count}</td><td>{length}</td></tr>"


def _value(row: Row, frame: _Frame) -> str:
    estimate, places = row.estimate, frame.digits
    if estimate.is_missing:
        return _NO_VALUE
    score, interval = number(estimate.score, places), span(estimate.low, estimate.high, places)
    return f"<td><b>{score}</b></td><td>{interval}</td><td>{interval_element(estimate, frame.scale)}</td>"


def _place(row: Row) -> str:
    if row.entry.is_aside or row.estimate.is_missing:
        return _NO_PLACE
    place = f'<span class="pr-medal pr-medal-{row.place}">{row.place}</span>' if row.place <= _MEDALS else row.place
    return f"<td>{place}</td><td>{ranks(row.rank_low, row.rank_high)}</td>"
