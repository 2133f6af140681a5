"""The state of the machine: when it ran last, what is wanted and not yet recorded, and what went wrong."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.standings import Standings

# A player that broke a rule against itself: it has no verdict of a result.
REFUSED = "refused"


@dataclass(frozen=True, kw_only=True)
class Health:
    """What the board can say of the machine behind it, from nothing but what is recorded."""

    recorded: int
    """Results and duels, of earlier versions too."""
    last_at: str | None
    """When the newest of them was made, in UTC; None where nothing is recorded."""
    last_run: str | None
    """Address of the run that made it, where one did."""
    waiting: Mapping[str, int]
    """By task: entries without a record of their present version. Tasks where nobody waits are left out."""
    failures: Mapping[str, int]
    """By verdict, or `refused` in a game: entries without a score by a fault of their own."""
    ours: Mapping[str, int]
    """By task: entries without a score by a fault of ours, which are tried again."""

    @property
    def wanted(self) -> int:
        """Everything that is wanted and not yet recorded, on all tasks."""
        return sum(self.waiting.values())

    @property
    def failed(self) -> int:
        """Entries without a score by a fault of their own, on all tasks."""
        return sum(self.failures.values())

    @property
    def failed_by_us(self) -> int:
        """Entries without a score by a fault of ours, on all tasks."""
        return sum(self.ours.values())


def health(standings: Standings, results: Iterable[Result] = ()) -> Health:
    """The state of the machine.

    Args:
        standings: what the board says.
        results: everything recorded of single agents; without it only what ranks or failed is counted.
    """
    recorded = list(results) or list(_shown(standings))
    duels = _duels(standings)
    made = [result.provenance for result in recorded] + [duel.provenance for duel in duels]
    last = max(made, key=lambda one: one.evaluated_at, default=None)
    ours = Counter({board.task.id: sum(_is_ours(f.result) for f in board.failures) for board in standings.tasks})
    failures = Counter(str(f.result.verdict) for b in standings.tasks for f in b.failures if not _is_ours(f.result))
    failures[REFUSED] += sum(len(board.failures) for board in standings.games)
    waiting = Counter({board.task.id: len(board.waiting) for board in standings.tasks})
    waiting.update({board.task.id: len(board.waiting) for board in standings.games})
    return Health(
        recorded=len(made),
        last_at=last.evaluated_at if last else None,
        last_run=last.run_url if last else None,
        waiting=+waiting,
        failures=dict(sorted((+failures).items())),
        ours=+ours,
    )


def _is_ours(result: Result) -> bool:
    return result.verdict is Verdict.INTERNAL_ERROR


def _shown(standings: Standings) -> Iterator[Result]:
    for board in standings.tasks:
        yield from (row.result for row in board.rows)
        yield from (failure.result for failure in board.failures)


def _duels(standings: Standings) -> list[Duel]:
    """Each once: a crosstable holds it from both sides."""
    found = {crossing.duel.key: crossing.duel for board in standings.games for crossing in board.crosstable.values()}
    found |= {failure.duel.key: failure.duel for board in standings.games for failure in board.failures}
    return list(found.values())
