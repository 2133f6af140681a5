"""Boards of games made by hand; the matches are real ones, played by lot."""

import functools
import hashlib
import importlib
import random
from typing import Any

import numpy as np

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.trace import TraceLeaf
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import (
    GameFailure,
    GameRow,
    GameStandings,
    HeadToHead,
    MatchCount,
    PreferenceCycle,
    Rating,
    RatingSnapshot,
)
from leaderboard.core.standings import Standings
from leaderboard.site_context import AllFrames, ReplayFrames
from tests.leaderboard.pages import samples

TICTACTOE = Task(id="tictactoe", title="Tic-tac-toe", game="pettingzoo.classic.tictactoe_v3", matches=12)
CONNECT_FOUR = Task(
    id="connect_four",
    title="Connect Four",
    game="pettingzoo.classic.connect_four_v3",
    matches=20,
    description="Four in a row.",
)
QUARTO = Task(id="quarto", title="Quarto", game="evaluator.environments.quarto", matches=8)
ROUNDS = Task(
    id="rock_paper_scissors",
    title="Rock, paper, scissors",
    game="pettingzoo.classic.rps_v2",
    kwargs={"max_cycles": 25},
    opening=0,
    matches=6,
)
UNKNOWN = Task(id="chess", game="pettingzoo.classic.chess_v6", matches=4)
DRAWN = (TICTACTOE, CONNECT_FOUR, QUARTO, ROUNDS)


def played(task: Task, chance: random.Random) -> tuple[list[int], list[float]]:
    """A match by lot: its moves and the returns of who began and of the other."""
    env = importlib.import_module(task.game).raw_env(**task.kwargs)
    env.reset(seed=1)
    returns, moves = dict.fromkeys(env.possible_agents, 0.0), []
    while any(not (env.terminations[a] or env.truncations[a]) for a in env.agents):
        agent = env.agent_selection
        seen = env.observe(agent)
        mask = seen["action_mask"] if isinstance(seen, dict) else np.ones(env.action_space(agent).n)
        moves.append(int(chance.choice(np.flatnonzero(mask).tolist())))
        env.step(moves[-1])
        for one in returns:
            returns[one] += float(env.rewards[one])
    return moves, list(returns.values())


def match(index: int, moves: list[int], returns: list[float], **fields: Any) -> dict[str, Any]:
    """A match's record; `returns` are those of who began and of the other."""
    scores = returns if index % 2 == 0 else returns[::-1]
    winner = None if scores[0] == scores[1] else int(scores[1] > scores[0])
    plain = {"end": "played", "winner": winner, "scores": scores, "plies": len(moves), "checksum": "0" * 32}
    return {**plain, **fields}


def duel(
    one: Entry, other: Entry, task: Task, seed: int = 0, broken: dict[int, dict[str, Any]] | None = None, **fields: Any
) -> Duel:
    """Matches by lot; those in `broken` are cut short and end as it says."""
    chance = random.Random(seed)
    one, other = sorted((one, other), key=lambda entry: entry.name)
    matches, moves = [], []
    for index in range(task.matches):
        made, returns = played(task, chance)
        extra = (broken or {}).get(index, {})
        if extra:
            made, returns = made[: max(3, len(made) // 2)], [0.0, 0.0]
        matches.append(match(index, made, returns, **extra))
        moves += made
    return recorded(one, other, task, matches, moves, [chance.randrange(400) for _ in moves], **fields)


def recorded(one: Entry, other: Entry, task: Task, matches: Any, moves: list[int], times: list[int], **fields: Any) -> Duel:
    return Duel.with_self_hash(
        {
            "key": hashlib.sha256(f"{one.digest} {other.digest} {task.id}".encode()).hexdigest(),
            "class": "official",
            "task": task.id,
            "task_digest": task.digest(),
            "players": [player(one), player(other)],
            "season": "2026",
            "beacon": "b" * 40,
            "beacon_verified": True,
            "sandbox": "docker",
            "runtime_digest": samples.digest("runtime"),
            "verdict": "ok",
            "seeds": ["0" * 32] * (task.matches // 2),
            "matches": matches,
            "moves": TraceLeaf.of(np.array(moves, np.int64)),
            "milliseconds": TraceLeaf.of(np.array(times, np.int64)),
            "limits": {},
            "versions": {"python": "3.12"},
            "platform": "Linux x86_64",
            "provenance": {"commit": "c" * 40, "run_url": None, "evaluated_at": samples.NOON},
            **fields,
        }
    )


def player(entry: Entry, **fields: Any) -> dict[str, Any]:
    cost = {"cpu_seconds": 1.5, "wall_seconds": 3, "peak_memory_bytes": 50 << 20, "steps": 1000}
    who = {"login": entry.login, "agent": entry.agent, "submission_digest": entry.digest}
    return {**who, "cost": cost, **fields}


def counted(record: Duel, side: int) -> MatchCount:
    wins = sum(m.winner == side for m in record.matches)
    draws = sum(m.winner is None and not m.offenders for m in record.matches)
    errors = sum(side in m.offenders for m in record.matches)
    return MatchCount(won=wins, drawn=draws, lost=len(record.matches) - wins - draws, errors=errors)


def rows(entries: list[Entry], **fields: Any) -> tuple[GameRow, ...]:
    return tuple(
        GameRow(
            **{
                "place": i + 1,
                "rank_low": max(1, i),
                "rank_high": min(len(entries), i + 2),
                "with_leader": i < 2,
                "entry": entry,
                "rating": Rating(elo=412.4 - 130 * i, low=330.0 - 130 * i, high=497.0 - 130 * i),
                "count": MatchCount(won=40 - 5 * i, drawn=3, lost=5 * i, errors=int(i == 2)),
                "points_place": i + 1,
                "opponents": len(entries) - 1,
                "versions_tried": 1,
                "since": samples.NOON,
                **fields,
            }
        )
        for i, entry in enumerate(entries)
    )


def board(task: Task, entries: list[Entry], **fields: Any) -> GameStandings:
    """A board on which everybody met everybody."""
    crosstable = {}
    for i, one in enumerate(entries):
        for j, other in enumerate(entries[:i]):
            record = duel(one, other, task, seed=100 * i + j)
            for side, (row, column) in enumerate(sorted([(one, other), (other, one)], key=lambda pair: pair[0].name)):
                crosstable[row.name, column.name] = HeadToHead(count=counted(record, side), duel=record, side=side)
    plain = {
        "task": task, "rows": rows(entries), "failures": (), "waiting": (), "crosstable": crosstable,
        "anchor": entries[-1].shown if entries else None, "prior": (), "cycle": PreferenceCycle(names=(), share=0.0,
        triads=0),
    }  # fmt: skip
    return GameStandings(**{**plain, **fields})


def players() -> list[Entry]:
    """Four, one with the longest names and one baseline."""
    long = samples.long_names()
    names = [("minimax", "alice"), ("mcts", "bob")]
    return [*(samples.entry(*name) for name in names), long, samples.entry("random", "local", baseline=True)]


def refused(task: Task = CONNECT_FOUR) -> GameFailure:
    who = samples.entry("cheat", "mallory")
    wrong = {0: {"end": "illegal", "winner": 1, "offenders": [0], "refused": 3}}
    record = duel(who, who, task, broken=wrong)
    return GameFailure(
        entry=who, duel=record, reason="match 1, move 12: drops into column 4 (3) is not legal", versions_tried=2
    )


BROKEN = {
    1: {"end": "illegal", "winner": 1, "offenders": [0], "refused": 3},
    2: {"end": "malformed", "winner": 0, "offenders": [1], "message": "act returned None"},
    3: {"end": "late", "winner": 1, "offenders": [0]},
    4: {"end": "forfeit", "winner": 0, "offenders": [1]},
    5: {"end": "too_long", "winner": None},
    6: {"end": "forfeit", "winner": None, "offenders": [0, 1]},
}


def of(*boards: GameStandings, tasks: Any = (), official: bool = True, **fields: Any) -> Standings:
    challenge = Challenge(
        **{"title": "Sample board", "season": "2026", "badges": True, **fields, "tasks": [b.task for b in (*tasks, *boards)]}
    )
    return Standings(challenge=challenge, official=official, overall=(), tasks=tuple(tasks), games=boards)


@functools.cache
def full() -> Standings:
    """Every drawn game, a history, a cycle, a refused player, one that waits, and every way a match may end."""
    who = players()
    history = tuple(
        RatingSnapshot(
            day=f"2026-01-{day:02}", elo={entry.name: 40.0 * day - 90 * i for i, entry in enumerate(who[: day // 2 + 2])}
        )
        for day in (1, 2, 3, 7)
    )
    rich = board(
        CONNECT_FOUR,
        who,
        failures=(refused(),),
        waiting=(samples.entry("late", "carol"),),
        cycle=PreferenceCycle(names=("alice/minimax", "bob/mcts", "local/random"), share=0.25, triads=4),
        moving_first=Rating(elo=35.4, low=-20.2, high=91.0),
        prior=("alice/minimax",),
        history=history,
    )
    one, other = who[0], who[1]
    record = duel(one, other, CONNECT_FOUR, broken=BROKEN)
    crosstable = dict(rich.crosstable)
    for side, (row, column) in enumerate([(one, other), (other, one)]):
        crosstable[row.name, column.name] = HeadToHead(count=counted(record, side), duel=record, side=side)
    rich = GameStandings(**{**vars(rich), "crosstable": crosstable})
    return of(rich, *(board(task, who[:3]) for task in (TICTACTOE, QUARTO, ROUNDS)), tasks=samples.crowded().tasks)


PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def undrawn() -> tuple[Standings, AllFrames]:
    """A game that we cannot draw: one match with text, one with pictures, the rest with neither."""
    one, other = players()[:2]
    record = recorded(one, other, UNKNOWN, [match(i, [5, 6], [1.0, -1.0]) for i in range(4)], [5, 6] * 4, [1] * 8)
    crosstable = {(one.name, other.name): HeadToHead(count=counted(record, 0), duel=record, side=0)}
    made = GameStandings(**{**vars(board(UNKNOWN, [])), "rows": rows([one, other]), "crosstable": crosstable})
    texts = ReplayFrames(texts=("r n b\n. . .", "r n b\n. x .", "<b> & </script>"), movers=(0, 1))
    return of(made), {(record.key, 0): texts, (record.key, 1): ReplayFrames(images=(PIXEL,) * 3)}


def empty() -> Standings:
    return of(board(CONNECT_FOUR, []), board(QUARTO, []))


def lone() -> Standings:
    who = players()[:1]
    return of(board(CONNECT_FOUR, who, rows=rows(who, rank_high=1)), official=False)
