"""The rows of an agent's tables, each made at once: a template would escape hundreds of numbers on each of many pages."""

from collections.abc import Collection, Iterable, Mapping

from markupsafe import Markup

from evaluator.model.challenge import Task
from evaluator.model.result import Result
from evaluator.model.verdict import Verdict
from leaderboard import agent_figures
from leaderboard.figures import Scale
from leaderboard.format import NONE, day, number, ranks, span
from leaderboard.metrics import digits
from leaderboard.profiles import Showing
from leaderboard.words import line

_MEDALS = 3
_WAITS = "<td></td><td></td><td>waiting</td>"
_TIED = ' <span class="pr-tie">not told apart from the leader</span>'
_REPRODUCED = ' <span class="pr-tag">reproduced</span>'
_LOOKS = {Verdict.OK: "ok", Verdict.INTERNAL_ERROR: "ours"}
VERDICTS = {
    verdict: Markup(f'<span class="pr-verdict pr-verdict-{_LOOKS.get(verdict, "bad")}">{verdict.value}</span>')
    for verdict in Verdict
}
"""What a verdict looks like."""


def cells(found: Iterable[object]) -> Markup:
    """Cells of a table, one for each value; what is not `Markup` is escaped."""
    return Markup("".join([f"<td>{line(one)}</td>" for one in found]))


def heads(names: Iterable[str]) -> Markup:
    """Columns' names, after another one."""
    return Markup("".join([f' <th scope="col">{line(name)}</th>' for name in names]))


def facts(found: Iterable[tuple[str, Markup]]) -> Markup:
    """Rows of a name and a value."""
    return Markup("\n".join([f'<tr><th scope="row">{line(name)}</th><td>{line(value)}</td></tr>' for name, value in found]))


def codes(words: Iterable[str]) -> Markup:
    """Words to be typed, in a sentence."""
    return Markup(", ".join([f"<code>{line(word)}</code>" for word in words]))


class Rows:
    """What makes rows; what all agents share is made once."""

    def __init__(self, scales: Mapping[str, Scale], page_links: Mapping[str, Markup], reproduced: Collection[str]) -> None:
        """`scales` and `page_links` are by task; `reproduced` are the keys of results that came out again."""
        self._scales, self._links, self._reproduced = scales, page_links, reproduced
        self._heads: dict[str, tuple[str, str]] = {}

    def score(self, showing: Showing) -> Markup:
        """Where an agent stands on one task."""
        row, result = showing.row, showing.result
        end = _WAITS
        if result:
            again = _REPRODUCED if result.key in self._reproduced else ""
            when = line(day(result.provenance.evaluated_at))
            end = f"<td>{showing.attempts}</td><td>{when}</td><td>{VERDICTS[result.verdict]}{again}</td>"
        tied = _TIED if row and row.with_leader and row.place > 1 else ""
        linked = self._head(showing.task)[1]
        return Markup(f"<tr>{_place(showing)}<td>{linked}{tied}</td>{self._value(showing)}{end}</tr>")

    def returns(self, task: Task, result: Result) -> Markup:
        """How the returns of one result are spread."""
        found, lengths = agent_figures.spread(result.returns), result.lengths
        numbers = (found.least, found.lower, found.median, found.upper, found.greatest, found.mean, found.deviation)
        shown = "".join([f"<td>{number(value, task.decimals)}</td>" for value in numbers])
        length = number(sum(lengths) / len(lengths), 1) if lengths else NONE
        picture = agent_figures.histogram(result.returns, found.least, found.greatest)
        head = self._head(task)[0]
        return Markup(f"<tr>{head}<td>{picture}</td>{shown}<td>{len(result.returns)}</td><td>{length}</td></tr>")

    def sources(self, task: Task, found: Iterable[Markup]) -> Markup:
        """Where the numbers of one task come from."""
        return Markup(f"<tr>{self._head(task)[0]}{cells(found)}</tr>")

    def _head(self, task: Task) -> tuple[str, str]:
        """A task's name as the head of a row, and as a link to its page."""
        if task.id not in self._heads:
            name = f"<bdi>{line(task.title or task.id)}</bdi>"
            self._heads[task.id] = f'<th scope="row">{name}</th>', f'<a href="{self._links[task.id]}">{name}</a>'
        return self._heads[task.id]

    def _value(self, showing: Showing) -> str:
        row, places = showing.row, digits(showing.task)
        if row is None:
            return f"<td>{NONE}</td><td>{NONE}</td><td></td>"
        if row.estimate.is_missing:
            return f"<td>{NONE}</td><td>no value</td><td></td>"
        score, interval = number(row.estimate.score, places), span(row.estimate.low, row.estimate.high, places)
        picture = agent_figures.bar(row.estimate, self._scales[showing.task.id])
        return f"<td><b>{score}</b></td><td>{interval}</td><td>{picture}</td>"


def _place(showing: Showing) -> str:
    row = showing.row
    if row is None or row.entry.is_aside or row.estimate.is_missing:
        return f"<td>{NONE}</td><td>{NONE}</td>"
    place = f'<span class="pr-medal pr-medal-{row.place}">{row.place}</span>' if row.place <= _MEDALS else str(row.place)
    return f"<td>{place}</td><td>{ranks(row.rank_low, row.rank_high)}</td>"
