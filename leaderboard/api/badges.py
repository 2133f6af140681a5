"""Badges: an entry's place as a small picture, and as a document that badge services draw one from."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from evaluator.model.config.challenge import Task
from leaderboard.api import agents
from leaderboard.api.agents import BoardRow
from leaderboard.api.inputs import ApiInputs
from leaderboard.core.entry import AgentName
from leaderboard.core.former_entries import FormerEntry
from leaderboard.core.game_standings import GameFailure, GameRow
from leaderboard.core.standings import Failure, OverallRow, Row
from leaderboard.scoring import metrics
from leaderboard.text import format, serialise

# White text on each of these has a contrast of 4.5 or more. The first three places, everybody else, faults, and neither.
_MEDALS = {1: "8a6500", 2: "5c6670", 3: "8c4a1f"}
_RANKED, _FAULT, _QUIET = "1a5fb4", "b3261e", "57606a"
# Digits after the point of an overall score, as on the home page.
_OVERALL_DIGITS = 3
# Of a letter at 11 pixels, roughly; the text is fitted to what is reckoned here, so that no font can overflow.
_WIDE, _NARROW, _OTHER = 10.5, 3.8, 6.8
_AIR = 10
# Of the corners.
_ROUND = 3


@dataclass(frozen=True, kw_only=True)
class Badge:
    """What one badge says."""

    label: str
    """On the left: of what."""
    message: str
    """On the right: the place and the score."""
    color: str
    """Behind the message, six hexadecimal digits."""


def badge_files(
    facts: ApiInputs, gathered: Mapping[AgentName, agents.AgentDocuments], departed: Iterable[FormerEntry]
) -> Iterator[tuple[str, bytes]]:
    """Two files for each agent and board, and two for its place across all tasks."""
    overall = {row.entry.name: row for row in facts.standings.overall}
    title = facts.standings.challenge.title
    ranked = sum(not row.entry.is_aside for row in facts.standings.overall)
    counts = {board.task.id: sum(not row.entry.is_aside for row in board.rows) for board in facts.standings.tasks}
    counts |= {game.task.id: sum(not row.entry.is_aside for row in game.rows) for game in facts.standings.games}
    parts = {task_id: serialise.segment(task_id) for task_id in counts}
    for name, agent in gathered.items():
        folder = f"badges/{agent.entry.login}/{agent.entry.agent}"
        yield from _both(f"{folder}/overall", overall_badge(title, overall.get(name), ranked))
        for board, known in agent.found:
            task = board.task
            yield from _both(f"{folder}/{parts[task.id]}", task_badge(task, known, counts[task.id]))
    for gone in departed:
        yield from _departed(gone, title, {task.id: task for task in facts.standings.challenge.tasks})


def overall_badge(title: str, row: OverallRow | None, count: int) -> Badge:
    """Its place across all tasks."""
    if row is None:
        return Badge(label=title, message="no score yet", color=_QUIET)
    score = format.number(row.estimate.score, _OVERALL_DIGITS)
    return _ranked(title, row, count, score)


def task_badge(task: Task, known: BoardRow, count: int) -> Badge:
    """What a board knows of it."""
    label = task.title or task.id
    match known:
        case Row():
            score = format.number(known.estimate.score, metrics.digits(task))
            return _ranked(label, known, count, score)
        case GameRow():
            return _ranked(label, known, count, f"Elo {format.number(known.rating.elo, 0)}")
        case Failure():
            message = "self-reported" if known.claimed is not None else known.result.verdict.value.replace("_", " ")
            return Badge(label=label, message=message, color=_QUIET if known.claimed is not None else _FAULT)
        case GameFailure():
            return Badge(label=label, message="refused", color=_FAULT)
    return Badge(label=label, message="waiting", color=_QUIET)


def _ranked(label: str, row: Row | GameRow | OverallRow, count: int, score: str) -> Badge:
    if row.entry.is_aside:
        return Badge(label=label, message=f"{'baseline' if row.entry.baseline else 'host'} · {score}", color=_QUIET)
    return Badge(label=label, message=f"#{row.place} of {count} · {score}", color=_MEDALS.get(row.place, _RANKED))


def _departed(gone: FormerEntry, title: str, tasks: Mapping[str, Task]) -> Iterator[tuple[str, bytes]]:
    """Whoever shows a badge keeps one that loads."""
    word = "excluded" if gone.exclusion else "withdrawn"
    folder = f"badges/{gone.login}/{gone.agent}"
    yield from _both(f"{folder}/overall", Badge(label=title, message=word, color=_QUIET))
    for task_id in sorted({result.task for result in gone.results} & set(tasks)):
        label = tasks[task_id].title or task_id
        yield from _both(f"{folder}/{serialise.segment(task_id)}", Badge(label=label, message=word, color=_QUIET))


def _both(path: str, badge: Badge) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    said = f'{_label(badge.label).said}{serialise.json_text(badge.message)},"color":{serialise.json_text(badge.color)}}}'
    return (f"{path}.json", said.encode("utf-8", "replace")), (f"{path}.svg", badge_svg(badge).encode("utf-8", "replace"))


class _Label(NamedTuple):
    """The left of a badge, which those of a task share."""

    width: int
    drawn: str
    said: str


@lru_cache(maxsize=1024)
def _label(words: str) -> _Label:
    document = serialise.json_text({"schemaVersion": 1, "label": words, "message": ""})
    return _Label(width=_width(words), drawn=serialise.xml(words), said=document.removesuffix('""}'))


def badge_svg(badge: Badge) -> str:
    """The picture."""
    left, label, _ = _label(badge.label)
    right, message = _width(badge.message), serialise.xml(badge.message)
    whole, edge = left + right, right - _ROUND
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{label}: {message}">'
        f'<rect width="{whole}" height="20" rx="{_ROUND}" fill="#333"/>'
        f'<path fill="#{badge.color}" d="M{left} 0h{edge}q3 0 3 3v14q0 3-3 3h-{edge}z"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{_AIR // 2}" y="14" textLength="{left - _AIR}">{label}</text>'
        f'<text x="{left + _AIR // 2}" y="14" textLength="{right - _AIR}">{message}</text></g></svg>'
    )


class _Widths(dict[str, float]):
    """How wide a letter is drawn, roughly."""

    def __missing__(self, letter: str) -> float:
        return _OTHER if letter < "\u2e80" else 12


_WIDTHS = _Widths(dict.fromkeys("MWmw%@", _WIDE) | dict.fromkeys("ijlIft.,:;|!'()[] ·-\u202f", _NARROW))
# Most letters of a badge.
_WIDTHS |= dict.fromkeys("0123456789#o", _OTHER)


def _width(words: str) -> int:
    """Roughly as wide as the words are drawn."""
    return _AIR + round(sum(map(_WIDTHS.__getitem__, words)))
