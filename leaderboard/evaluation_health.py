"""The state of the evaluation system: its last run, what is waiting for evaluation, and what failed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.game_standings import shown_duels
from leaderboard.core.standings import Standings, results_of

# Stands for a verdict: the validation of a player has none.
REFUSED_PLAYERS = "refused"


@dataclass(frozen=True, kw_only=True)
class Health:
    """The state of the evaluation system, from the recorded results."""

    recorded: int
    """Number of results and duels, including earlier versions."""
    last_at: str | None
    """The time of the newest record in UTC; None if nothing is recorded."""
    last_run: str | None
    """The address of the workflow run that made it."""
    waiting: Mapping[str, int]
    """By task: entries whose current version has no result yet and gets one; tasks without any are left out."""
    failures: Mapping[str, int]
    """By verdict, or `refused` in a game: entries without a score by their own fault."""
    our_failures: Mapping[str, int]
    """By task: entries without a score by our fault, which are retried."""

    @property
    def waiting_count(self) -> int:
        """Number of evaluations that are waiting, on all tasks."""
        return sum(self.waiting.values())

    @property
    def failure_count(self) -> int:
        """Number of failures by the agents' own fault, on all tasks."""
        return sum(self.failures.values())

    @property
    def our_failure_count(self) -> int:
        """Number of failures by our fault, on all tasks."""
        return sum(self.our_failures.values())


def health(standings: Standings, results: Iterable[Result] = ()) -> Health:
    """The state of the evaluation system.

    Args:
        standings: the leaderboards.
        results: all recorded results; without them only results in the standings are counted.
    """
    recorded = list(results) or list(results_of(standings))
    duels = [duel for game in standings.games for duel in shown_duels(game)]
    records = [result.provenance for result in recorded] + [duel.provenance for duel in duels]
    last = max(records, key=lambda record: record.evaluated_at, default=None)
    ours = Counter({board.task.id: sum(_is_ours(f.result) for f in board.failures) for board in standings.tasks})
    failures = Counter(str(f.result.verdict) for b in standings.tasks for f in b.failures if not _is_ours(f.result))
    failures[REFUSED_PLAYERS] += sum(len(board.failures) for board in standings.games)
    waiting = Counter(
        board.task.id for board in standings.boards for entry in board.waiting if not entry.refused.get(board.task.id)
    )
    return Health(
        recorded=len(records),
        last_at=last.evaluated_at if last else None,
        last_run=last.run_url if last else None,
        waiting=+waiting,
        failures=dict(sorted((+failures).items())),
        our_failures=+ours,
    )


def _is_ours(result: Result) -> bool:
    return result.verdict is Verdict.INTERNAL_ERROR
