"""Duels and ratings of a game for a comment: of a pull request's players as if merged, and of merged ones."""

from collections.abc import Iterable, Iterator

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import PreviewedAgent
from evaluator.model.records.result import SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.states import GamePreview, PreviewDuel
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import Standings, entries_of
from leaderboard.game_boards.board_registry import moves_of, position_text
from leaderboard.ratings.duel_results import duel_totals, validation_fault

# A longer drawing of a position is left out.
MAX_POSITION_CHARACTERS = 1200
# Replaces the beacon, which would be the commit of the merge.
MERGED_BEACON = "merged"


def as_official(agents: Iterable[PreviewedAgent]) -> list[Duel]:
    """A preview's duels as if they were official; never stored, and only of pull requests that passed the guard."""
    return [
        duel.model_copy(update={"tier": Tier.OFFICIAL, "sandbox": SandboxKind.DOCKER, "beacon": MERGED_BEACON})
        for agent in agents
        for duel in agent.duels
    ]


def preview_game(then: Standings, now: Standings, agent: PreviewedAgent) -> tuple[GamePreview, ...]:
    """Each game that a preview played. `then`: the standings with the pull request's agents; `now`: without them."""
    name = AgentName.folded(agent.login, agent.agent)
    baselines = {entry.name for entry in _players(then) if entry.baseline}
    games = []
    for board, before in zip(then.games, now.games, strict=True):
        duels = [duel for duel in agent.duels if (duel.task, duel.task_digest) == (board.task.id, board.task.digest())]
        if duels:
            old = _row(before, name)
            shown = _played(board, name, duels, baselines)
            games.append(_with(shown, own_last=old.rating if old else None))
    return tuple(games)


def official_game(now: Standings, entry: Entry) -> tuple[GamePreview, ...]:
    """Each game in which an entry's validation is recorded."""
    baselines = {other.name for other in _players(now) if other.baseline}
    games = []
    for board in now.games:
        failure = next((failure for failure in board.failures if failure.entry.name == entry.name), None)
        met = [crossing.duel for (name, _), crossing in board.crosstable.items() if name == entry.name]
        if failure:
            games.append(
                GamePreview(
                    task=board.task, refusal=failure.reason, position=_position(board.task, failure.duel),
                    log=failure.duel.players[0].log_tail, official=True,
                )
            )  # fmt: skip
        elif _row(board, entry.name) or met:
            signed = all(duel.beacon_verified is not False for duel in met)
            games.append(_with(_rated(board, entry.name, met, baselines), official=True, signed=signed))
    return tuple(games)


def _with(game: GamePreview, **fields: object) -> GamePreview:
    return GamePreview(**{**game.__dict__, **fields})


def _players(board: Standings) -> Iterator[Entry]:
    return (entry for game in board.games for entry in entries_of(game))


def _row(board: GameStandings, name: AgentName) -> GameRow | None:
    return next((row for row in board.rows if row.entry.name == name), None)


def _played(board: GameStandings, name: AgentName, duels: list[Duel], baselines: set[AgentName]) -> GamePreview:
    """A preview's duels of one player in one game."""
    broken = next((duel for duel in duels if duel.verdict is not Verdict.OK), None)
    failed = broken.message or "it gave no reason" if broken else None
    validation = next((duel for duel in duels if duel.is_validation), None)
    refusal = validation_fault(validation) if validation and validation.verdict is Verdict.OK else None
    if refusal is not None:
        return GamePreview(task=board.task, refusal=refusal, position=_position(board.task, validation), failed=failed)
    met = [duel for duel in duels if not duel.is_validation and duel.verdict is Verdict.OK]
    return _with(_rated(board, name, met, baselines), failed=failed)


def _rated(board: GameStandings, name: AgentName, met: Iterable[Duel], baselines: set[AgentName]) -> GamePreview:
    row = _row(board, name)
    meetings = tuple(_meeting(duel, name, baselines) for duel in met)
    if row is None:
        return GamePreview(task=board.task, meetings=meetings, anchor=board.anchor)
    leader = next((other for other in board.rows if other is not row), None)
    return GamePreview(
        task=board.task, meetings=meetings, rating=row.rating, place=row.place, rank_low=row.rank_low,
        rank_high=row.rank_high, with_leader=row.with_leader, players=len(board.rows), anchor=board.anchor,
        one_sided=row.entry.shown in board.prior,
        leader=leader.rating if leader else None, leader_name=leader.entry.shown if leader else None,
    )  # fmt: skip


def _meeting(duel: Duel, name: AgentName, baselines: set[AgentName]) -> PreviewDuel:
    # A folder may have been renamed since; then the login tells, as two agents of one login meet in no duel that counts.
    named = [player.name for player in duel.players]
    side = named.index(name) if name in named else [login for login, _ in named].index(name[0])
    other = duel.players[1 - side]
    return PreviewDuel(
        opponent=f"{other.login}/{other.agent}", count=duel_totals(duel).counts[side], is_baseline=other.name in baselines,
        fault=_fault(duel, side),
    )  # fmt: skip


def _position(task: Task, validation: Duel | None) -> str:
    """The position in which a player first broke a rule in its validation, drawn with characters; empty if there is none."""
    if validation is None or any(player.verdict is not Verdict.OK for player in validation.players):
        return ""
    index = next((index for index, match in enumerate(validation.matches) if match.offenders), None)
    if index is None:
        return ""
    shown = position_text(task, moves_of(validation)[index]) or ""
    return shown if len(shown) <= MAX_POSITION_CHARACTERS else ""


def _fault(duel: Duel, side: int) -> str:
    """The first rule that a side broke."""
    player = duel.players[side]
    if player.verdict is not Verdict.OK:
        return " ".join(f"{player.verdict.plain_words} {player.message}".split())
    for index, match in enumerate(duel.matches):
        if side in match.offenders:
            offence = f"the illegal move {match.refused}" if match.refused is not None else match.end.value
            return " ".join(f"match {index + 1}, move {match.plies + 1}: {offence} {match.message}".split())
    return ""
