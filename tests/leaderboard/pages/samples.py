"""Boards of every odd kind, made by hand."""

import random
from typing import Any

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Exclusion
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import ReferenceScore, Task
from evaluator.model.records.result import Result
from leaderboard.core.entry import Entry, Estimate, Excluded
from leaderboard.core.standings import OverallRow, Standings, TaskFailure, TaskRow, TaskStandings, WithdrawnScore
from leaderboard.site_context import SiteContext
from tests.leaderboard.make import digest

REPOSITORY = "https://github.com/example/board"
NOON = "2026-01-01T12:00:00Z"
CONTEXT = SiteContext(generated_at="2026-01-02 03:04 UTC", repository=REPOSITORY)

POLE = Task(
    id="CartPole-v1",
    title="CartPole",
    description="Keep a pole upright.",
    bounds=(1, 500),
    random=ReferenceScore(score=22.4, source="our random agent, 1,000 episodes"),
    reference=ReferenceScore(score=475, source="Gymnasium's reward threshold"),
)
CAR = Task(
    id="MountainCar-v0",
    random=ReferenceScore(score=-200, source="our random agent"),
    reference=ReferenceScore(score=-110, source="Gymnasium's reward threshold"),
)
PONG = Task(id="ALE/Pong-v5", env="module:Pong", episodes=10, kwargs={"frameskip": 4})
TASKS = (POLE, CAR, PONG)


def challenge(*tasks: Task, **fields: Any) -> Challenge:
    return Challenge(**{"title": "Sample board", "season": "2026", "tasks": tasks or TASKS, "badges": True, **fields})


def entry(agent: str = "angle-rule", login: str = "alice", *, baseline: bool = False, **fields: Any) -> Entry:
    submission = Submission(**{"name": agent, "algorithm": "hand-written rule", **fields})
    return Entry(login=login, agent=agent, submission=submission, digest=digest(f"{login}/{agent}"), baseline=baseline)


def result(who: Entry, task: Task, returns: tuple[float, ...], **fields: Any) -> Result:
    ok = bool(returns)
    return Result.with_self_hash(
        {
            "schema": 1,
            "key": digest(f"{who.digest} {task.id}"),
            "class": "official",
            "task": task.id,
            "task_digest": task.digest(),
            "login": who.login,
            "agent": who.agent,
            "submission_digest": who.digest,
            "season": "2026",
            "beacon": "b" * 40,
            "beacon_verified": True,
            "sandbox": "docker",
            "runtime_digest": digest("runtime"),
            "verdict": "ok" if ok else "crashed",
            "seeds": ["0" * 32] * len(returns),
            "returns": list(returns),
            "lengths": [10] * len(returns),
            "metrics": {"clipped_actions": 0.0} if ok else {},
            "limits": {},
            "cost": {"cpu_seconds": 1.5, "wall_seconds": 3, "peak_memory_bytes": 50 << 20, "steps": 1000},
            "versions": {"python": "3.12", "numpy": "2.4.6"},
            "image_digest": "sha256:" + digest("image"),
            "platform": "Linux x86_64",
            "provenance": {"commit": "c" * 40, "run_url": f"{REPOSITORY}/actions/runs/1", "evaluated_at": NOON},
            "trace_sha256": digest("trace") if ok else None,
            **fields,
        }
    )  # fmt: skip


def returns_around(score: float, spread: float, seed: int = 0, count: int = 100) -> tuple[float, ...]:
    chance = random.Random(seed)
    return tuple(round(chance.gauss(score, spread), 2) for _ in range(count))


def row(who: Entry, task: Task, place: int, score: float, width: float = 5.0, **fields: Any) -> TaskRow:
    return TaskRow(
        **{
            "place": place,
            "rank_low": place,
            "rank_high": place,
            "with_leader": place == 1,
            "entry": who,
            "pooled_results": (result(who, task, returns_around(score, 3 * width, seed=place)),),
            "estimate": Estimate(score=score, low=score - width, high=score + width),
            "versions_tried": 1,
            "since": NOON,
            **fields,
        }
    )


def failure(who: Entry, task: Task, versions_tried: int = 1, **fields: Any) -> TaskFailure:
    plain = {"message": "act raised ZeroDivisionError at agent.py:12", "log_tail": "one\ntwo  spaced\n\nthree"}
    return TaskFailure(entry=who, result=result(who, task, (), **plain | fields), versions_tried=versions_tried)


def excluded(who: Entry, **fields: Any) -> Excluded:
    defaults = {"since": "2026-05-01", "who": "host", "why": "copies weights", "link": f"{REPOSITORY}/issues/1"}
    return Excluded(login=who.login, agent=who.agent, exclusion=Exclusion(**{"login": who.login, **defaults, **fields}))


def withdrawn(who: Entry, task: Task, score: float | None = 480.0, **fields: Any) -> WithdrawnScore:
    last = result(who, task, () if score is None else (score,), **fields)
    return WithdrawnScore(login=who.login, agent=who.agent, result=last, score=score)


def task_board(task: Task, rows: Any = (), failures: Any = (), waiting: Any = (), **gone: Any) -> TaskStandings:
    return TaskStandings(task=task, rows=tuple(rows), failures=tuple(failures), waiting=tuple(waiting), **gone)


def overall_row(who: Entry, place: int, score: float, tasks: tuple[Task, ...], **fields: Any) -> OverallRow:
    return OverallRow(
        **{
            "place": place,
            "rank_low": place,
            "rank_high": place,
            "with_leader": place == 1,
            "entry": who,
            "estimate": Estimate(score=score, low=score - 0.02, high=score + 0.02),
            "iqm": Estimate(score=score, low=score - 0.03, high=score + 0.03),
            "normalised": {task.id: score if i % 2 == 0 else None for i, task in enumerate(tasks)},
            **fields,
        }
    )


def board(*boards: TaskStandings, official: bool = True, overall: Any = (), **fields: Any) -> Standings:
    tasks = tuple(b.task for b in boards)
    return Standings(challenge=challenge(*tasks, **fields), official=official, overall=tuple(overall), tasks=boards)


def empty() -> Standings:
    return board(*(task_board(task) for task in TASKS))


def one() -> Standings:
    who = entry()
    return board(task_board(POLE, [row(who, POLE, 1, 497.5)]), overall=[overall_row(who, 1, 1.05, (POLE,))])


def tied() -> Standings:
    """Three who share the first place, constant returns, and a fourth."""
    equal = [entry(f"agent-{i}", f"user-{i}") for i in range(3)]
    rows = [row(who, POLE, 1, 500.0, 0.0, rank_high=4, with_leader=True) for who in equal]
    last = row(entry("last", "zoe"), POLE, 4, 480.0, 25.0, rank_low=1, rank_high=4, with_leader=True, versions_tried=7)
    overall = [overall_row(who, 1, 1.0, (POLE,), with_leader=True) for who in equal]
    return board(task_board(POLE, [*rows, last]), overall=overall)


def failed() -> Standings:
    verdicts = ("crashed", "timeout", "out_of_memory", "protocol_error", "output_limit", "invalid", "internal_error")
    failures = [failure(entry(f"agent-{i}", "bob"), POLE, verdict=verdict) for i, verdict in enumerate(verdicts)]
    return board(task_board(POLE, [], failures, [entry("late", "carol")]), official=False)


def long_names() -> Entry:
    fields = {"authors": ["An Author", "Another"], "url": "https://example.org/a?b=c"}
    return entry("a" * 40, "b" * 39, name="W" * 60, algorithm="m" * 60, **fields)


def crowded() -> Standings:
    """Long names, negative scores, waiting and failed ones, a baseline, a task with a slash."""
    long = long_names()
    others = [entry(f"rule-{i}", f"user{i}", description="Two.\n\nParagraphs.") for i in range(5)]
    base = entry("random", "local", baseline=True)
    car = [row(long, CAR, 1, -104.2, 1.5, rank_high=3)]
    car += [
        row(who, CAR, i + 2, -105.0 - 8 * i, 2.0, rank_low=max(1, i), rank_high=i + 3, with_leader=i < 2)
        for i, who in enumerate(others)
    ]
    car.append(row(base, CAR, 7, -200.0, 0.0))
    pong = [row(others[0], PONG, 1, -20.96, 0.4)]
    pole = [row(others[1], POLE, 1, 500.0, 0.0), row(long, POLE, 2, 488.0, 9.0, rank_low=1, rank_high=2, with_leader=True)]
    overall = [overall_row(who, i + 1, 1.1 - 0.4 * i, TASKS) for i, who in enumerate([long, *others])]
    return board(
        task_board(POLE, pole, [failure(others[2], POLE, 3)], [others[3]]),
        task_board(CAR, car),
        task_board(PONG, pong, [failure(long, PONG)]),
        overall=overall,
    )
