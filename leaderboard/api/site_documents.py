"""The documents about the whole site: where everything is, the tasks, the overall leaderboard, and the health."""

from collections import Counter
from collections.abc import Iterator
from typing import Literal
from urllib.parse import quote

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import ReferenceScore, Task
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.verdict import Verdict
from leaderboard.api.api_inputs import ApiInputs
from leaderboard.api.entry_json import Address, ClosedObject, UtcTime, json_fields, links_document
from leaderboard.api.rank_json import OverallRowJson, overall_improvements, overall_row
from leaderboard.api.task_leaderboards import MetricJson
from leaderboard.evaluation_health import REFUSED_PLAYERS, health
from leaderboard.scoring.metrics import metrics_of
from leaderboard.text import format, phases, serialise, urls

# Address templates. Each part must be percent-encoded. `result` is on the branch `results`, with the first twelve digits of
# its key.
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


class SiteHeadJson(ClosedObject):
    """Of which leaderboard a document is."""

    title: str
    season: str
    official: bool
    generated_at: UtcTime


class CountsJson(ClosedObject):
    """Over all tasks."""

    tasks: int
    ranked_agents: int
    ranked: int
    failures: int
    waiting: int


class IndexJson(SiteHeadJson):
    """Where everything is."""

    site: str | None
    repository: str | None
    links: dict[str, str]
    counts: CountsJson


class PhaseJson(ClosedObject):
    """A part of the season with dates of its own."""

    id: str
    name: str
    start: str | None
    end: str | None
    state: str | None
    public_from: str | None


class AnchorJson(ClosedObject):
    """A score with a name, and who measured it."""

    score: float
    source: str


class AnchorsJson(ClosedObject):
    """0 and 1 of the normalised score."""

    random: AnchorJson | None
    reference: AnchorJson | None


class TaskJson(ClosedObject):
    """A task or game; the addresses are null where its leaderboard is hidden."""

    id: str
    segment: str
    badge: str
    digest: str
    title: str
    description: str | None
    kind: Literal["task", "script", "game"]
    env: str
    metrics: list[MetricJson]
    anchors: AnchorsJson
    episodes: int
    weight: float
    phase: PhaseJson | None
    hidden: bool
    page: Address
    leaderboard: Address | None
    table: Address | None
    csv: Address | None
    feed: Address | None
    atom: Address | None


class OverallJson(SiteHeadJson):
    """The overall leaderboard."""

    rows: list[OverallRowJson]


class TaskHealthJson(ClosedObject):
    """What a task waits for and what failed on it; `ours` are failures of the evaluator."""

    task: str
    ranked: int
    waiting: int
    failures: dict[str, int]
    ours: int


class HealthJson(SiteHeadJson):
    """What ran last, what waits, what failed."""

    last_evaluation: UtcTime | None
    last_run: str | None
    recorded: int
    waiting: int
    failures: dict[str, int]
    ours: int
    tasks: list[TaskHealthJson]


def site_document_files(inputs: ApiInputs) -> Iterator[tuple[str, bytes]]:
    """The documents of this module."""
    yield "api/index.json", serialise.json_document(index_document(inputs))
    yield "api/tasks.json", serialise.json_document(tasks_document(inputs))
    yield "api/overall.json", serialise.json_document(overall_document(inputs))
    yield "api/health.json", serialise.json_document(health_document(inputs))


def _head(inputs: ApiInputs) -> SiteHeadJson:
    challenge = inputs.standings.challenge
    return {
        "title": challenge.title,
        "season": challenge.season,
        "official": inputs.standings.official,
        "generated_at": inputs.generated_at,
    }


def index_document(inputs: ApiInputs) -> IndexJson:
    """Where everything is."""
    boards = inputs.standings.boards
    return {
        **_head(inputs),
        "site": inputs.context.site_url or None,
        "repository": inputs.repository,
        "links": document_links(inputs.standings.challenge),
        "counts": {
            "tasks": len(boards),
            "ranked_agents": inputs.standings.ranked_agents,
            "ranked": sum(len(board.rows) for board in boards),
            "failures": sum(len(board.failures) for board in boards),
            "waiting": sum(len(board.waiting) for board in boards),
        },
    }


def tasks_document(inputs: ApiInputs) -> list[TaskJson]:
    """Every task and game with its addresses, in the order of challenge.yml; hidden leaderboards have no addresses."""
    challenge = inputs.standings.challenge
    states = {phase.phase.id: phase for phase in phases.shown_phases(challenge, inputs.context.now)}
    shown = [*(board.task for board in inputs.standings.tasks), *(game.task for game in inputs.standings.games)]
    hidden = {task.id for task in inputs.context.hidden}
    order = {task.id: place for place, task in enumerate(challenge.tasks)}
    shown.sort(key=lambda task: order.get(task.id, len(order)))
    shown += [task for task in inputs.context.hidden if task.id not in {other.id for other in shown}]
    return [_task(task, _phase(task, inputs, states), is_hidden=task.id in hidden) for task in shown]


def _phase(task: Task, inputs: ApiInputs, states: dict[str, phases.ShownPhase]) -> PhaseJson | None:
    phase = inputs.standings.challenge.phase_of(task.id)
    if phase is None:
        return None
    state = states[phase.id]
    return {
        "id": phase.id, "name": phase.name, "start": phase.start, "end": phase.end, "state": state.state,
        "public_from": phase.public_from,
    }  # fmt: skip


def _task(task: Task, phase: PhaseJson | None, *, is_hidden: bool) -> TaskJson:
    def at(name: str) -> str | None:
        return None if is_hidden else quote(urls.task_file(task.id, name))

    part = urls.segment(task.id)
    return {
        "id": task.id, "segment": safe_path_segment(task.id), "badge": part, "digest": task.digest(),
        "title": task.title or task.id, "description": task.description, "kind": format.task_kind(task),
        "env": task.game or task.env_id,
        "metrics": [] if task.game else [json_fields(MetricJson, metric) for metric in metrics_of(task)],
        "anchors": {"random": _reference_score(task.random), "reference": _reference_score(task.reference)},
        "episodes": task.matches if task.game else task.counted, "weight": task.weight, "phase": phase,
        "hidden": is_hidden, "page": urls.task_address(task.id), "leaderboard": at("leaderboard.json"),
        "table": at("table.json"), "csv": at("leaderboard.csv"),
        "feed": None if is_hidden else quote(f"feeds/{part}.json"),
        "atom": None if is_hidden else quote(f"feeds/{part}.atom"),
    }  # fmt: skip


def _reference_score(reference_score: ReferenceScore | None) -> AnchorJson | None:
    return json_fields(AnchorJson, reference_score) if reference_score else None


def overall_document(inputs: ApiInputs) -> OverallJson:
    """The overall leaderboard; its rows are those of `pullrank rank --json` with addresses."""
    rows = overall_improvements(inputs.standings)
    return {**_head(inputs), "rows": [{**overall_row(row, beside), **links_document(row.entry)} for row, beside in rows]}


def health_document(inputs: ApiInputs) -> HealthJson:
    """What ran, what waits and what failed: the same numbers as on the home page."""
    state = health(inputs.standings, inputs.context.results)
    return {
        **_head(inputs),
        "last_evaluation": state.last_at,
        "last_run": state.last_run,
        "recorded": state.recorded,
        "waiting": state.waiting_count,
        "failures": dict(state.failures),
        "ours": state.our_failure_count,
        "tasks": list(_task_healths(inputs)),
    }


def _task_healths(inputs: ApiInputs) -> Iterator[TaskHealthJson]:
    for board in inputs.standings.tasks:
        verdicts = Counter(failure.result.verdict.value for failure in board.failures)
        ours = verdicts.pop(Verdict.INTERNAL_ERROR.value, 0)
        yield {
            "task": board.task.id, "ranked": len(board.rows), "waiting": len(board.waiting),
            "failures": dict(sorted(verdicts.items())), "ours": ours,
        }  # fmt: skip
    for game in inputs.standings.games:
        yield {
            "task": game.task.id, "ranked": len(game.rows), "waiting": len(game.waiting),
            "failures": {REFUSED_PLAYERS: len(game.failures)} if game.failures else {}, "ours": 0,
        }  # fmt: skip
