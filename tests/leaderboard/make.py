"""Builds the values that ranking is tested on."""

import hashlib
from typing import Any

from evaluator.model.challenge import Anchor, Challenge, Task
from evaluator.model.result import Result, sealed
from evaluator.model.submission import Submission
from leaderboard.standings import Entry

NOON = "2026-01-01T12:00:00Z"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def task(task_id: str = "task", *, anchors: tuple[float, float] | None = (0, 1), **fields: Any) -> Task:
    if anchors:
        fields["random"] = Anchor(score=anchors[0], source="test")
        fields["reference"] = Anchor(score=anchors[1], source="test")
    return Task(id=task_id, **fields)


def challenge(*tasks: Task) -> Challenge:
    return Challenge(title="Test", season="1", tasks=tasks or (task(),))


def entry(login: str, *, agent: str = "agent", version: str = "1", tasks: Any = "all") -> Entry:
    submission = Submission(name=agent, algorithm="test", tasks=tasks)
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
    return sealed({**blank, **fields})
