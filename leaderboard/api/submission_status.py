"""Where every submission stands, for the page that looks one up."""

from typing import Any

from evaluator.model.config.task import Task
from evaluator.model.records.verdict import Verdict
from leaderboard.api.api_inputs import ApiInputs
from leaderboard.api.entry_json import Address, ClosedObject, UtcTime
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import GameFailure, GameRow
from leaderboard.core.standings import Listed, TaskFailure, TaskRow, listed_entries
from leaderboard.site_context import FormerEntry
from leaderboard.text import urls

State = list[Any]
"""A word and its detail: ranked and a place, failed and a verdict, refused, excluded or withdrawn and a reason."""


class StatusTaskJson(ClosedObject):
    """A task on the page of the status."""

    id: str
    title: str
    page: Address


class StatusAgentJson(ClosedObject):
    """An agent's states stand in the order of `tasks`: a word and its place, verdict or reason; null where it has none."""

    login: str
    agent: str
    name: str
    algorithm: str
    kind: str
    pull: int | None
    page: Address
    tasks: list[State | None]


class VerdictWordsJson(ClosedObject):
    """What an agent's owner can do after a verdict; `ours` says that the evaluator failed, not the agent."""

    next: str
    ours: bool


class StatusJson(ClosedObject):
    """Where every submission stands."""

    generated_at: UtcTime
    verdicts: dict[Verdict, VerdictWordsJson]
    tasks: list[StatusTaskJson]
    agents: list[StatusAgentJson]


def status_document(inputs: ApiInputs) -> StatusJson:
    """Every agent by login and folder, with its state on each task."""
    standings = inputs.standings
    tasks = [board.task for board in standings.boards]
    agents: dict[AgentName, StatusAgentJson] = {}
    for index, board in enumerate(standings.boards):
        for entry, listed in listed_entries(board):
            if entry.name not in agents:
                agents[entry.name] = _agent(entry, inputs, len(tasks))
            agents[entry.name]["tasks"][index] = _state(entry, listed, board.task)
    for former in inputs.context.former_entries:
        name = AgentName.folded(former.login, former.agent)
        if name not in agents:
            agents[name] = _former_agent(former, [task.id for task in tasks])
    return {
        "generated_at": inputs.generated_at,
        "verdicts": {
            verdict: {"next": _next_step(verdict), "ours": verdict is Verdict.INTERNAL_ERROR}
            for verdict in Verdict
            if verdict is not Verdict.OK
        },
        "tasks": [{"id": task.id, "title": task.title or task.id, "page": urls.task_address(task.id)} for task in tasks],
        "agents": [agents[name] for name in sorted(agents)],
    }


def _next_step(verdict: Verdict) -> str:
    advice = verdict.advice.replace("`", "")
    return advice if verdict is Verdict.INTERNAL_ERROR else f"{advice} Then open another pull request."


def _state(entry: Entry, listed: Listed, task: Task) -> State:
    match listed:
        case TaskRow() | GameRow():
            return ["ranked", None if listed.is_unranked else listed.place]
        case TaskFailure():
            claim = listed.claimed
            return ["failed", listed.result.verdict] if claim is None else ["self-reported", claim]
        case GameFailure():
            return ["refused", listed.reason]
    words = entry.waits_for(task.id)
    return ["waiting", words] if words else ["waiting"]


def _agent(entry: Entry, inputs: ApiInputs, tasks: int) -> StatusAgentJson:
    return {
        "login": entry.login,
        "agent": entry.agent,
        "name": entry.submission.name,
        "algorithm": entry.submission.algorithm,
        "kind": entry.submission.kind.value,
        "pull": inputs.context.pulls.get(entry.name),
        "page": urls.agent_address(entry.login, entry.agent),
        "tasks": [None] * tasks,
    }


def _former_agent(former: FormerEntry, tasks: list[str]) -> StatusAgentJson:
    measured = {result.task for result in former.results}
    state = ["excluded", former.exclusion.why] if former.exclusion else ["withdrawn", "its folder is on main no more"]
    return {
        "login": former.login,
        "agent": former.agent,
        "name": former.agent,
        "algorithm": "",
        "kind": "",
        "pull": None,
        "page": urls.agent_address(former.login, former.agent),
        "tasks": [state if task in measured or former.exclusion else None for task in tasks],
    }
