"""Where every submission stands, for the page that looks one up."""

from collections.abc import Iterator
from typing import Any

from evaluator.model.config.challenge import Task
from evaluator.model.records.verdict import Verdict
from leaderboard.api.documents import Address, ClosedObject, UtcTime
from leaderboard.api.inputs import ApiInputs
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.standings import Standings
from leaderboard.site_context import FormerEntry
from leaderboard.text import serialise

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


_NEXT_STEPS = {
    Verdict.INVALID: "Run pullrank check; its page names the file and the line.",
    Verdict.CRASHED: "Read the message and the end of the log on its page, mend it, and open another pull request.",
    Verdict.TIMEOUT: "Do less per step; load and compute once.",
    Verdict.OUT_OF_MEMORY: "Load smaller weights, or keep less history.",
    Verdict.PROTOCOL_ERROR: "Compare the action’s type, shape and range with the task’s space.",
    Verdict.OUTPUT_LIMIT: "Print less.",
    Verdict.INTERNAL_ERROR: "Nothing to do: the evaluator failed, and tries again. It is never held against the agent.",
}


def status_files(facts: ApiInputs) -> Iterator[tuple[str, bytes]]:
    """The one document."""
    yield "api/status.json", serialise.json_document(status_document(facts))


def status_document(facts: ApiInputs) -> StatusJson:
    """Every agent by login and folder, with its state on each task."""
    standings = facts.standings
    tasks = [*(board.task for board in standings.tasks), *(game.task for game in standings.games)]
    agents: dict[AgentName, StatusAgentJson] = {}
    for index, entry, state in _states(standings):
        if entry.name not in agents:
            agents[entry.name] = _agent(entry, facts, len(tasks))
        agents[entry.name]["tasks"][index] = state
    for former in facts.context.departed:
        name = AgentName.folded(former.login, former.agent)
        if name not in agents:
            agents[name] = _former_agent(former, [task.id for task in tasks])
    return {
        "generated_at": facts.generated_at,
        "verdicts": {
            verdict: {"next": _NEXT_STEPS[verdict], "ours": verdict is Verdict.INTERNAL_ERROR}
            for verdict in Verdict
            if verdict is not Verdict.OK
        },
        "tasks": [
            {"id": task.id, "title": task.title or task.id, "page": serialise.task_address(task.id)} for task in tasks
        ],
        "agents": [agents[name] for name in sorted(agents)],
    }


def _states(standings: Standings) -> Iterator[tuple[int, Entry, State]]:
    """The number of a task, an entry, and its state there."""
    for index, board in enumerate(standings.tasks):
        for row in board.rows:
            yield index, row.entry, ["ranked", None if row.is_aside else row.place]
        for failure in board.failures:
            claim = failure.claimed
            yield index, failure.entry, ["failed", failure.result.verdict] if claim is None else ["self-reported", claim]
        for entry in board.waiting:
            yield index, entry, _waiting(entry, board.task)
    for index, game in enumerate(standings.games, start=len(standings.tasks)):
        for player in game.rows:
            yield index, player.entry, ["ranked", None if player.is_aside else player.place]
        for refused in game.failures:
            yield index, refused.entry, ["refused", refused.reason]
        for entry in game.waiting:
            yield index, entry, _waiting(entry, game.task)


def _waiting(entry: Entry, task: Task) -> State:
    quarantined = entry.quarantined.get(task.id)
    return ["waiting", quarantined] if quarantined else ["waiting"]


def _agent(entry: Entry, facts: ApiInputs, tasks: int) -> StatusAgentJson:
    return {
        "login": entry.login,
        "agent": entry.agent,
        "name": entry.submission.name,
        "algorithm": entry.submission.algorithm,
        "kind": entry.submission.kind.value,
        "pull": facts.context.pulls.get(entry.name),
        "page": serialise.agent_address(entry.login, entry.agent),
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
        "page": serialise.agent_address(former.login, former.agent),
        "tasks": [state if task in measured or former.exclusion else None for task in tasks],
    }
