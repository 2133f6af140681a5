"""The document of each agent: what it is, where it stands, and everything that was measured of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from leaderboard.api.agent_tasks import Board, Known, Told, by_task, of_task, returns_texts, row_texts, without
from leaderboard.api.documents import Document, overall_row
from leaderboard.api.facts import Facts
from leaderboard.api.games import flags
from leaderboard.core.eligibility import Name
from leaderboard.core.entry import Entry
from leaderboard.core.former_entries import Departed
from leaderboard.core.game_standings import GameFailure, GameRow
from leaderboard.core.parallel import batches
from leaderboard.core.standings import Failure, OverallRow, Row, Standings, entries_of
from leaderboard.text import serialise, urls


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """One agent, and what every board says of it."""

    entry: Entry
    """Who."""
    found: list[tuple[Board, Known]] = field(default_factory=list)
    """In the order of the challenge."""


def entered(standings: Standings) -> Mapping[Name, Sequence[Entry]]:
    """Every agent that any board names as standing on main, as boards hold it: mostly one object for all of them."""
    each = {id(entry): entry for board in standings.boards for entry in entries_of(board)}
    found: dict[Name, list[Entry]] = {}
    for entry in each.values():
        found.setdefault(entry.name, []).append(entry)
    return found


def gathered(standings: Standings, entries: Mapping[Name, Sequence[Entry]]) -> Mapping[Name, Gathered]:
    """What boards say of these agents, in their order."""
    agents = {name: Gathered(entry=own[0]) for name, own in entries.items()}
    # A look by identity: most rows may be somebody else's.
    places = {id(entry): agents[name].found for name, own in entries.items() for entry in own}

    def add(board: Board, rows: Iterable[Row | Failure | GameRow | GameFailure], waiting: Iterable[Entry]) -> None:
        for row in rows:
            if (place := places.get(id(row.entry))) is not None:
                place.append((board, row))
        for entry in waiting:
            if (place := places.get(id(entry))) is not None:
                place.append((board, None))

    for solo in standings.tasks:
        of_lengths = any(metric.kind == "mean_length" for metric in solo.task.metrics)
        board = Board(task=solo.task, digest=solo.task.digest(), of_lengths=of_lengths)
        add(board, (*solo.rows, *solo.failures), solo.waiting)
    for game in standings.games:
        add(Board(task=game.task, digest="", of_lengths=False), (*game.rows, *game.failures), game.waiting)
    return agents


def files(facts: Facts, agents: Mapping[Name, Gathered], departed: Iterable[Departed]) -> Iterator[tuple[str, bytes]]:
    """One document for each of these agents, and for each that was one."""
    overall = {row.entry.name: row for row in facts.standings.overall}
    unshown = {asked.name for asked in facts.standings.challenge.people.fields if not asked.shown}
    for batch in batches(list(agents.items())):
        every = [agent.found for _, agent in batch]
        rows, returns = row_texts(every), returns_texts(every)
        for name, agent in batch:
            head = {**_manifest(agent.entry, facts, unshown), "overall": _overall(overall.get(name))}
            path = serialise.agent_file(agent.entry.login, agent.entry.agent)
            told = Told(
                entry=agent.entry, facts=facts, rows=rows, returns=returns, recorded=by_task(facts.recorded.get(name, ()))
            )
            yield path, _joined(head, agent, told).encode("utf-8", "replace")
    for gone in departed:
        yield serialise.agent_file(gone.login, gone.agent), serialise.dumps(_departed(gone))


def _overall(row: OverallRow | None) -> Document | None:
    return None if row is None else without(overall_row(row))


def _manifest(entry: Entry, facts: Facts, unshown: set[str]) -> Document:
    said = entry.submission
    is_known = not entry.anonymous
    optional = {
        "main_file": said.main_file, "adapter": said.adapter, "extras": list(said.extras), "description": said.description,
        "url": said.url, "paper": said.paper, "license": said.license,
        "meta": {name: value for name, value in said.meta.items() if name not in unshown},
        "digest": entry.digest if is_known else None, "pull": facts.context.pulls.get(entry.name) if is_known else None,
        "source": urls.folder_url(facts.repository, entry) if is_known else None,
    }  # fmt: skip
    return {
        "login": entry.login, "agent": entry.agent, "name": said.name, **flags(entry), "state": "entered",
        "algorithm": said.algorithm, "authors": list(said.authors), "kind": said.kind.value, "entry": said.entry,
        "enters": said.tasks if said.tasks == "all" else list(said.tasks),
        "page": serialise.agent_address(entry.login, entry.agent),
        **{name: value for name, value in optional.items() if value not in (None, [], {})},
    }  # fmt: skip


def _joined(head: Document, agent: Gathered, told: Told) -> str:
    tasks = ",".join([of_task(board, found, told) for board, found in agent.found])
    return f'{serialise.dumped(head)[:-1]},"tasks":[{tasks}],"runs":{told.runs.said}}}'


def _departed(gone: Departed) -> Document:
    out = gone.exclusion
    return {
        "login": gone.login,
        "agent": gone.agent,
        "name": gone.agent,
        "state": "excluded" if out else "withdrawn",
        "rehearsal": gone.is_rehearsal,
        "exclusion": out.model_dump(include={"since", "who", "why", "link"}) if out else None,
        "page": serialise.agent_address(gone.login, gone.agent),
        "tasks": [],
        "runs": [],
        "recorded": [
            {"task": result.task, "verdict": result.verdict.value, "evaluated_at": result.provenance.evaluated_at}
            for result in gone.results
        ],
    }
