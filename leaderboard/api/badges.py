"""Badges: an entry's place as a small SVG picture, and as a JSON document from which badge services draw one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from evaluator.model.config.task import Task
from leaderboard.api.api_inputs import ApiInputs
from leaderboard.api.entry_json import ClosedObject
from leaderboard.core.entry import AgentName
from leaderboard.core.game_standings import GameFailure, GameRow
from leaderboard.core.standings import Listed, ListedOnBoards, OverallRow, TaskFailure, TaskRow
from leaderboard.scoring.metrics import digits
from leaderboard.site_context import FormerEntry
from leaderboard.text import format, serialise, urls

# White text has a contrast of at least 4.5 on each of these: the first three places, other places, faults, all else.
_PLACE_COLOURS = {1: "8a6500", 2: "5c6670", 3: "8c4a1f"}
_RANKED, _FAULT, _NEUTRAL = "1a5fb4", "b3261e", "57606a"
# Digits after the point of an overall score, as on the home page.
_OVERALL_DIGITS = 3
# Rough widths of letters at 11 pixels. `textLength` fits the text to the width computed here, whatever the font.
_WIDE, _NARROW, _OTHER, _ASIAN = 10.5, 3.8, 6.8, 12
# Pixels beside the text, left and right together.
_AIR = 10
# Radius of the corners.
_ROUND = 3


class BadgeJson(ClosedObject):
    """As shields.io reads it."""

    schemaVersion: Literal[1]  # noqa: N815  # its name there
    label: str
    message: str
    color: str


def badge_files(
    inputs: ApiInputs, agents: Mapping[AgentName, ListedOnBoards], former_entries: Iterable[FormerEntry]
) -> Iterator[tuple[str, bytes]]:
    """Two files for each agent and board, and two for its place across all tasks."""
    overall = {row.entry.name: row for row in inputs.standings.overall}
    title = inputs.standings.challenge.title
    ranked = sum(not row.is_unranked for row in inputs.standings.overall)
    counts = {board.task.id: sum(not row.is_unranked for row in board.rows) for board in inputs.standings.boards}
    parts = {task_id: urls.segment(task_id) for task_id in counts}
    for name, boards in agents.items():
        folder = f"badges/{inputs.standings.entries[name].shown}"
        yield from _both(f"{folder}/overall", overall_badge(title, overall.get(name), ranked))
        for board, listed in boards:
            task = board.task
            yield from _both(f"{folder}/{parts[task.id]}", task_badge(task, listed, counts[task.id]))
    for former in former_entries:
        yield from _former(former, title, {task.id: task for task in inputs.standings.challenge.tasks})


def overall_badge(title: str, row: OverallRow | None, count: int) -> BadgeJson:
    """Its place across all tasks."""
    if row is None:
        return _badge(title, "no score yet", _NEUTRAL)
    score = format.number(row.estimate.score, _OVERALL_DIGITS)
    return _ranked(title, row, count, score)


def task_badge(task: Task, listed: Listed, count: int) -> BadgeJson:
    """Its place on a task of `count` ranked entries, or why it has none."""
    label = task.title or task.id
    match listed:
        case TaskRow():
            return _ranked(label, listed, count, format.number(listed.estimate.score, digits(task)))
        case GameRow():
            return _ranked(label, listed, count, f"Elo {format.number(listed.rating.elo, 0)}")
        case TaskFailure():
            if listed.claimed is not None:
                return _badge(label, "self-reported", _NEUTRAL)
            return _badge(label, listed.result.verdict.value.replace("_", " "), _FAULT)
        case GameFailure():
            return _badge(label, "refused", _FAULT)
    return _badge(label, "waiting", _NEUTRAL)


def _ranked(label: str, row: TaskRow | GameRow | OverallRow, count: int, score: str) -> BadgeJson:
    if row.is_unranked:
        why = format.SUPERSEDED_TAG if row.superseded_by else "baseline" if row.entry.baseline else "host"
        return _badge(label, f"{why} · {score}", _NEUTRAL)
    return _badge(label, f"#{row.place} of {count} · {score}", _PLACE_COLOURS.get(row.place, _RANKED))


def _former(former: FormerEntry, title: str, tasks: Mapping[str, Task]) -> Iterator[tuple[str, bytes]]:
    """Badges of an agent that left, so that pages which show them have no broken picture."""
    word = "excluded" if former.exclusion else "withdrawn"
    folder = f"badges/{former.login}/{former.agent}"
    yield from _both(f"{folder}/overall", _badge(title, word, _NEUTRAL))
    for task_id in sorted({result.task for result in former.results} & set(tasks)):
        label = tasks[task_id].title or task_id
        yield from _both(f"{folder}/{urls.segment(task_id)}", _badge(label, word, _NEUTRAL))


def _badge(label: str, message: str, color: str) -> BadgeJson:
    return {"schemaVersion": 1, "label": label, "message": message, "color": color}


def _both(path: str, badge: BadgeJson) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    return (f"{path}.json", serialise.json_document(badge)), (f"{path}.svg", badge_svg(badge).encode("utf-8", "replace"))


def badge_svg(badge: BadgeJson) -> str:
    """The picture."""
    label, message = serialise.xml(badge["label"]), serialise.xml(badge["message"])
    left, right = _width(badge["label"]), _width(badge["message"])
    total, edge = left + right, right - _ROUND
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="20" role="img" aria-label="{label}: {message}">'
        f'<rect width="{total}" height="20" rx="{_ROUND}" fill="#333"/>'
        f'<path fill="#{badge["color"]}" d="M{left} 0h{edge}q3 0 3 3v14q0 3-3 3h-{edge}z"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{_AIR // 2}" y="14" textLength="{left - _AIR}">{label}</text>'
        f'<text x="{left + _AIR // 2}" y="14" textLength="{right - _AIR}">{message}</text></g></svg>'
    )


_WIDTHS = dict.fromkeys("MWmw%@", _WIDE) | dict.fromkeys("ijlIft.,:;|!'()[] ·-\u202f", _NARROW)


def _width(words: str) -> int:
    """Roughly how many pixels wide the words are drawn; letters of Asian scripts are the widest."""
    return _AIR + round(sum(_WIDTHS.get(letter, _OTHER if letter < "\u2e80" else _ASIAN) for letter in words))
