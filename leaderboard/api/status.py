"""Where every submission stands, for the page that looks one up."""

from collections.abc import Iterator
from typing import Any

from leaderboard.api.inputs import ApiInputs
from leaderboard.api.standings_json import Document
from leaderboard.core import former_entries
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.standings import Standings
from leaderboard.text import serialise

State = list[Any]
"""A word, and what it needs: ranked and a place, failed and a verdict, refused, excluded or withdrawn and a reason."""


def status_files(facts: ApiInputs) -> Iterator[tuple[str, bytes]]:
    """The one document."""
    yield "api/status.json", serialise.json_document(status_document(facts))


def status_document(facts: ApiInputs) -> Document:
    """Every agent by login and folder; its states stand in the order of `tasks`, null where it did not enter."""
    standings = facts.standings
    tasks = [*(board.task for board in standings.tasks), *(game.task for game in standings.games)]
    agents: dict[AgentName, Document] = {}
    for index, (entry, state) in _states(standings):
        name = entry.name
        found = agents.get(name)
        if found is None:
            found = agents[name] = _agent(entry, facts, len(tasks))
        found["tasks"][index] = state
    for gone in facts.context.departed:
        name = AgentName.folded(gone.login, gone.agent)
        if name not in agents:
            agents[name] = _gone(gone, [task.id for task in tasks])
    return {
        "generated_at": facts.generated_at,
        "tasks": [
            {"id": task.id, "title": task.title or task.id, "page": serialise.task_address(task.id)} for task in tasks
        ],
        "agents": [agents[name] for name in sorted(agents)],
    }


def _states(standings: Standings) -> Iterator[tuple[int, tuple[Entry, State]]]:
    for index, board in enumerate(standings.tasks):
        for row in board.rows:
            yield index, (row.entry, ["ranked", None if row.entry.is_aside else row.place])
        for one in board.failures:
            told = ["self-reported", one.claimed] if one.claimed is not None else ["failed", one.result.verdict.value]
            yield index, (one.entry, told)
        for entry in board.waiting:
            yield index, (entry, ["waiting"])
    for index, game in enumerate(standings.games, start=len(standings.tasks)):
        for player in game.rows:
            yield index, (player.entry, ["ranked", None if player.entry.is_aside else player.place])
        for refused in game.failures:
            yield index, (refused.entry, ["refused", refused.reason])
        for entry in game.waiting:
            yield index, (entry, ["waiting"])


def _agent(entry: Entry, facts: ApiInputs, tasks: int) -> Document:
    return {
        "login": entry.login,
        "agent": entry.agent,
        "name": entry.submission.name,
        "pull": facts.context.pulls.get(entry.name),
        "page": serialise.agent_address(entry.login, entry.agent),
        "tasks": [None] * tasks,
    }


def _gone(gone: former_entries.FormerEntry, tasks: list[str]) -> Document:
    played = {result.task for result in gone.results}
    state = ["excluded", gone.exclusion.why] if gone.exclusion else ["withdrawn", "its folder is on main no more"]
    return {
        "login": gone.login,
        "agent": gone.agent,
        "name": gone.agent,
        "pull": None,
        "page": serialise.agent_address(gone.login, gone.agent),
        "tasks": [state if task in played or gone.exclusion else None for task in tasks],
    }
