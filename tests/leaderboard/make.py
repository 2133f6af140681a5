"""Builds the values that ranking is tested on."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import ReferenceScore, Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.result import Result
from evaluator.model.records.trace import TraceLeaf
from leaderboard.build_standings import RecordedLeaderboard
from leaderboard.comments.comment_standings import preview_state
from leaderboard.comments.comment_states import TaskReport
from leaderboard.core.entry import Entry

NOON = "2026-01-01T12:00:00Z"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def task(task_id: str = "task", *, anchors: tuple[float, float] | None = (0, 1), **fields: Any) -> Task:
    if anchors:
        fields["random"] = ReferenceScore(score=anchors[0], source="test")
        fields["reference"] = ReferenceScore(score=anchors[1], source="test")
    return Task(id=task_id, **fields)


def challenge(*tasks: Task) -> Challenge:
    return Challenge(title="Test", season="1", tasks=tasks or (task(),))


def entry(
    login: str, *, agent: str = "agent", version: str = "1", tasks: Any = "all", authors: tuple[str, ...] = ()
) -> Entry:
    submission = Submission(name=agent, algorithm="test", tasks=tasks, authors=authors)
    return Entry(login=login, agent=agent, submission=submission, digest=digest(f"{login}/{agent}/{version}"))


def result(of: Entry, returns: Any = (), *, on: Task | None = None, at: str = NOON, **fields: Any) -> Result:
    """A result that counts on the official board; without returns, one of a crash."""
    on = on or task()
    blank = {
        "key": digest(f"{of.digest} {on.digest()} {at}"),
        "class": "official",
        "task": on.id,
        "task_digest": on.digest(),
        "login": of.login,
        "agent": of.agent,
        "submission_digest": of.digest,
        "season": "1",
        "beacon": "test",
        "sandbox": "docker",
        "runtime_digest": digest("runtime"),
        "verdict": "ok" if len(returns) else "crashed",
        "seeds": ["0" * 32] * len(returns),
        "returns": list(returns),
        "lengths": [1] * len(returns),
        "limits": {},
        "cost": {},
        "provenance": {"evaluated_at": at},
    }
    return Result.with_self_hash({**blank, **fields})


def game(task_id: str = "game", **fields: Any) -> Task:
    """A game; with few matches, since its duels say how many they have."""
    return Task(id=task_id, game="pettingzoo.classic.tictactoe_v3", **fields)


# How a match ended for the player named first; a capital says that the other one offended.
OUTCOMES: dict[str, tuple[MatchEnd, int | None, tuple[int, ...]]] = {
    "w": (MatchEnd.PLAYED, 0, ()),
    "l": (MatchEnd.PLAYED, 1, ()),
    "d": (MatchEnd.PLAYED, None, ()),
    "t": (MatchEnd.TOO_LONG, None, ()),
    "i": (MatchEnd.ILLEGAL, 1, (0,)),
    "I": (MatchEnd.ILLEGAL, 0, (1,)),
    "o": (MatchEnd.LATE, 1, (0,)),
    "O": (MatchEnd.LATE, 0, (1,)),
    "f": (MatchEnd.FORFEIT, 1, (0,)),
    "F": (MatchEnd.FORFEIT, 0, (1,)),
    "b": (MatchEnd.FORFEIT, None, (0, 1)),
}


def duel(
    first: Entry,
    second: Entry | None = None,
    outcomes: str = "dd",
    *,
    on: Task | None = None,
    at: str = NOON,
    moves: Sequence[Sequence[int]] = (),
    verdicts: tuple[str, str] = ("ok", "ok"),
    **fields: Any,
) -> Duel:
    """A duel that counts on the official board; of a player with itself, its validation, where no second is named.

    Args:
        first: a player; the sides are put in order by this.
        second: its opponent.
        outcomes: one of `OUTCOMES` for each match, from the first one's side; none for a failure of ours.
        on: the game.
        at: when.
        moves: of each match; each match has moves of its own when left out.
        verdicts: the first one's and the second's.
        fields: anything of the document.
    """
    on, second = on or game(), second or first
    swapped = first.name > second.name
    named = [(second, verdicts[1]), (first, verdicts[0])] if swapped else [(first, verdicts[0]), (second, verdicts[1])]
    played = moves or [[index, 0, 1] for index in range(len(outcomes))]
    blank = {
        "key": digest(f"{[player.digest for player, _ in named]} {on.digest()} {at}"),
        "class": "official",
        "task": on.id,
        "task_digest": on.digest(),
        "players": [_player(player, verdict) for player, verdict in named],
        "season": "1",
        "beacon": "test",
        "sandbox": "docker",
        "runtime_digest": digest("runtime"),
        "verdict": "ok" if outcomes else "internal_error",
        "seeds": ["0" * 32] * (len(outcomes) // 2),
        "matches": [_match(letter, own, swapped) for letter, own in zip(outcomes, played, strict=True)],
        "moves": _leaf(played) if outcomes else None,
        "milliseconds": _leaf([[1] * len(own) for own in played]) if outcomes else None,
        "limits": {},
        "provenance": {"evaluated_at": at},
    }
    return Duel.with_self_hash({**blank, **fields})


def _player(player: Entry, verdict: str) -> dict[str, Any]:
    named = {"login": player.login, "agent": player.agent, "submission_digest": player.digest}
    return {**named, "verdict": verdict, "cost": {"wall_seconds": 1.0, "steps": 1}}


def _match(letter: str, moves: Sequence[int], swapped: bool) -> dict[str, Any]:
    end, winner, offenders = OUTCOMES[letter]
    if swapped:
        winner, offenders = None if winner is None else 1 - winner, tuple(sorted(1 - side for side in offenders))
    scores = (0.0, 0.0) if winner is None else (1.0, -1.0) if winner == 0 else (-1.0, 1.0)
    return {
        "end": end, "winner": winner, "offenders": offenders, "scores": scores, "plies": len(moves),
        "refused": 9 if end is MatchEnd.ILLEGAL else None, "checksum": digest(str(list(moves)))[:32],
    }  # fmt: skip


def _leaf(rows: Sequence[Sequence[int]]) -> TraceLeaf:
    return TraceLeaf.of(np.array([number for row in rows for number in row], dtype=np.int64))


def hypothetical_row(recorded: RecordedLeaderboard, played: Result) -> TaskReport | None:
    """The place that one result would take; None if the challenge does not have its task in these settings."""
    agent = PreviewedAgent.model_construct(
        login=played.login, agent=played.agent, submission_digest=played.submission_digest, name=None, faults=(),
        results=(played,), duels=(),
    )  # fmt: skip
    preview = Preview.model_construct(head_sha="a" * 40, evaluator_sha="b" * 40, agents=(agent,), skipped=())
    return next(iter(preview_state(preview, recorded, run_url=None).agents[0].rows), None)
