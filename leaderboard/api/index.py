"""What a reader asks first: which documents there are, which tasks, who leads, and whether the machine is well."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from evaluator.model.config.challenge import Anchor, Challenge, Task
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.verdict import Verdict
from leaderboard.api.inputs import ApiInputs
from leaderboard.api.standings_json import Document, metric_document, overall_row
from leaderboard.core.standings import OverallRow
from leaderboard.pages.health import REFUSED, health
from leaderboard.scoring.metrics import metrics_of
from leaderboard.text import format, serialise

# Where everything lies. Every part is to be encoded as addresses are; `result` lies on the branch `results`, under the
# first twelve digits of its key.
LINKS = {
    "openapi": "api/openapi.json",
    "tasks": "api/tasks.json",
    "overall": "api/overall.json",
    "health": "api/health.json",
    "status": "api/status.json",
    "leaderboard": "api/tasks/{segment}/leaderboard.json",
    "leaderboard_newest": "api/tasks/{segment}/leaderboard-newest.json",
    "leaderboard_oldest": "api/tasks/{segment}/leaderboard-oldest.json",
    "csv": "api/tasks/{segment}/leaderboard.csv",
    "table": "api/tasks/{segment}/table.json",
    "duels": "api/tasks/{segment}/duels.json",
    "agent": "api/agents/{login}/{agent}.json",
    "result": "results/{segment}/{login}/{agent}/{key:12}.json",
    "atom": "feeds/board.atom",
    "feed": "feeds/board.json",
    "task_atom": "feeds/{badge}.atom",
    "task_feed": "feeds/{badge}.json",
    "badge": "badges/{login}/{agent}/{badge}.json",
    "badge_svg": "badges/{login}/{agent}/{badge}.svg",
    "overall_badge": "badges/{login}/{agent}/overall.json",
    "overall_badge_svg": "badges/{login}/{agent}/overall.svg",
    "metrics": "metrics.txt",
}
# Only where challenge.yml says `badges: true`.
_BADGE_LINKS = frozenset({"badge", "badge_svg", "overall_badge", "overall_badge_svg"})


def document_links(challenge: Challenge) -> dict[str, str]:
    """The addresses of the documents that this leaderboard's site has."""
    return {name: address for name, address in LINKS.items() if challenge.badges or name not in _BADGE_LINKS}


def index_files(facts: ApiInputs) -> Iterator[tuple[str, bytes]]:
    """The documents about the whole board."""
    yield "api/index.json", serialise.json_document(index_document(facts))
    yield "api/tasks.json", serialise.json_document(tasks_document(facts))
    yield "api/overall.json", serialise.json_document(overall_document(facts))
    yield "api/health.json", serialise.json_document(health_document(facts))


def _head(facts: ApiInputs) -> Document:
    challenge = facts.standings.challenge
    return {
        "title": challenge.title,
        "season": challenge.season,
        "official": facts.standings.official,
        "generated_at": facts.generated_at,
    }


def index_document(facts: ApiInputs) -> Document:
    """Where everything is."""
    boards = facts.standings.boards
    entries = {row.entry.name for board in boards for row in board.rows}
    return {
        **_head(facts),
        "site": facts.context.site_url or None,
        "repository": facts.repository,
        "links": document_links(facts.standings.challenge),
        "counts": {
            "tasks": len(boards),
            "ranked_agents": len(entries),
            "ranked": sum(len(board.rows) for board in boards),
            "failures": sum(len(board.failures) for board in boards),
            "waiting": sum(len(board.waiting) for board in boards),
        },
    }


def tasks_document(facts: ApiInputs) -> list[Document]:
    """Every task and game with its addresses, in the order of the challenge; boards that are hidden have none."""
    challenge = facts.standings.challenge
    states = {one.phase.id: one for one in format.shown_phases(challenge, facts.context.now)}
    shown = [*(board.task for board in facts.standings.tasks), *(game.task for game in facts.standings.games)]
    hidden = {task.id for task in facts.context.hidden}
    order = {task.id: place for place, task in enumerate(challenge.tasks)}
    shown.sort(key=lambda task: order.get(task.id, len(order)))
    shown += [task for task in facts.context.hidden if task.id not in {one.id for one in shown}]
    return [_task(task, _phase(task, facts, states), is_hidden=task.id in hidden) for task in shown]


def _phase(task: Task, facts: ApiInputs, states: dict[str, format.ShownPhase]) -> Document | None:
    phase = facts.standings.challenge.phase_of(task.id)
    if phase is None:
        return None
    state = states[phase.id]
    return {
        "id": phase.id, "name": phase.name, "start": phase.start, "end": phase.end, "state": state.state or None,
        "public_from": phase.public_from,
    }  # fmt: skip


def _task(task: Task, phase: Document | None, *, is_hidden: bool) -> Document:
    def at(name: str) -> str | None:
        return None if is_hidden else serialise.address(serialise.task_file(task.id, name))

    part = serialise.segment(task.id)
    kind = "game" if task.game else "script" if task.script else "task"
    return {
        "id": task.id, "segment": safe_path_segment(task.id), "badge": part, "digest": task.digest(),
        "title": task.title or task.id, "description": task.description, "kind": kind,
        "env": task.game or task.env_id,
        "metrics": [] if task.game else [metric_document(metric) for metric in metrics_of(task)],
        "anchors": {"random": _anchor(task.random), "reference": _anchor(task.reference)},
        "episodes": task.matches if task.game else task.counted, "weight": task.weight, "phase": phase,
        "hidden": is_hidden, "page": serialise.task_address(task.id), "leaderboard": at("leaderboard.json"),
        "table": at("table.json"), "csv": at("leaderboard.csv"),
        "feed": None if is_hidden else serialise.address(f"feeds/{part}.json"),
        "atom": None if is_hidden else serialise.address(f"feeds/{part}.atom"),
    }  # fmt: skip


def _anchor(anchor: Anchor | None) -> Document | None:
    return {"score": anchor.score, "source": anchor.source} if anchor else None


def overall_document(facts: ApiInputs) -> Document:
    """The overall board, row by row as `pullrank rank --json` says it."""
    return {**_head(facts), "rows": [_overall(row) for row in facts.standings.overall]}


def _overall(row: OverallRow) -> Document:
    login, agent = row.entry.login, row.entry.agent
    more = {"page": serialise.agent_address(login, agent), "api": serialise.address(serialise.agent_file(login, agent))}
    return {**overall_row(row), **more}


def health_document(facts: ApiInputs) -> Document:
    """What ran, what waits and what failed: the same numbers as on the home page."""
    state = health(facts.standings, facts.context.results)
    return {
        **_head(facts),
        "last_evaluation": state.last_at,
        "last_run": state.last_run,
        "recorded": state.recorded,
        "waiting": state.wanted,
        "failures": dict(state.failures),
        "ours": state.failed_by_us,
        "tasks": list(_healths(facts)),
    }


def _healths(facts: ApiInputs) -> Iterator[dict[str, Any]]:
    for board in facts.standings.tasks:
        verdicts = Counter(one.result.verdict.value for one in board.failures)
        ours = verdicts.pop(Verdict.INTERNAL_ERROR.value, 0)
        numbers = {"ranked": len(board.rows), "waiting": len(board.waiting)}
        yield {"task": board.task.id, **numbers, "failures": dict(sorted(verdicts.items())), "ours": ours}
    for game in facts.standings.games:
        refused = {REFUSED: len(game.failures)} if game.failures else {}
        numbers = {"ranked": len(game.rows), "waiting": len(game.waiting)}
        yield {"task": game.task.id, **numbers, "failures": refused, "ours": 0}
