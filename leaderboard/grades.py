"""Grades: a row for each participant or team, with the best score on each task that came before the task's deadline."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.owners import teams_of
from leaderboard.core.standings import Standings
from leaderboard.scoring.counting_results import pooled_results
from leaderboard.scoring.intervals import pooled_values
from leaderboard.scoring.metrics import is_missing, oriented_value, ranking_metric

MISSING_STATE, LATE_STATE = "missing", "late"


@dataclass(frozen=True, kw_only=True)
class GradedSubmission:
    """What an owner handed in for a task."""

    task: Task
    login: str
    agent: str
    arrived: datetime
    """When it came to main."""
    verdict: str
    score: float | None
    """Rounded as the leaderboard shows it; None without one."""
    order: float
    """Greater is better; minus infinity without a score."""
    is_final_only: bool = False
    """Whether only the final draw, which no quota limits, could choose it: it was not evaluated before, or in a game another
    player of its owner was better then."""

    def is_late(self, challenge: Challenge) -> bool:
        """Whether it came after the end of the task's phase."""
        phase = challenge.phase_of(self.task.id)
        return phase is not None and phase.is_over(self.arrived)


def handed_in(
    challenge: Challenge,
    results: Iterable[Result],
    arrivals: Mapping[tuple[str, str, str], datetime],
    final_beacon: str | None = None,
) -> Iterator[GradedSubmission]:
    """The score of each version on each task over all its draws, so that nobody returns until a draw is lucky.

    Args:
        challenge: the tasks, as they are now.
        results: the season's official results that count.
        arrivals: by login in lower case, version and task. What is missing counts from its evaluation.
        final_beacon: that of the final draws, if there are any.
    """
    by_version: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
    for result in results:
        task = challenge.task(result.task)
        if task is not None and result.task_digest == task.digest():
            by_version[result.login.casefold(), result.submission_digest, result.task].append(result)
    for name, fitting in by_version.items():
        pooled = pooled_results(fitting)
        result = pooled[-1]
        task = challenge.task(result.task)
        assert task is not None
        metric, is_ok = ranking_metric(task), result.verdict is Verdict.OK
        score = pooled_values([pooled], task, metric)[0] if is_ok else float("nan")
        has_score = is_ok and not is_missing(score)
        yield GradedSubmission(
            task=task, login=result.login, agent=result.agent, verdict=result.verdict.value,
            arrived=arrivals.get(name) or datetime.fromisoformat(result.provenance.evaluated_at).astimezone(UTC),
            score=round(score, metric.decimals) + 0.0 if has_score else None,
            order=oriented_value(metric, score) if has_score else float("-inf"),
            is_final_only=all(one.beacon == final_beacon for one in pooled),
        )  # fmt: skip


def rated_submissions(standings: Standings, arrivals: Mapping[tuple[str, str, str], datetime]) -> Iterator[GradedSubmission]:
    """The ratings of the players of games, as what their owners handed in."""
    for board in standings.boards:
        if isinstance(board, GameStandings):
            for row in board.rows:
                name = (row.entry.login.casefold(), row.entry.digest, board.task.id)
                since = arrivals.get(name) or datetime.fromisoformat(row.since).astimezone(UTC)
                elo = row.rating.elo
                yield GradedSubmission(
                    task=board.task, login=row.entry.login, agent=row.entry.agent, verdict=Verdict.OK.value,
                    arrived=since, score=round(elo, 1), order=elo, is_final_only=row.superseded_by is not None,
                )  # fmt: skip


def too_late(
    challenge: Challenge,
    entries: Iterable[Entry],
    handed: Iterable[GradedSubmission],
    arrivals: Mapping[tuple[str, str, str], datetime],
) -> Iterator[GradedSubmission]:
    """The entries that came after a deadline and so were not evaluated, without a score."""
    done = {(submission.login.casefold(), submission.agent, submission.task.id) for submission in handed}
    for entry in entries:
        for task in challenge.tasks:
            arrived = arrivals.get((entry.login.casefold(), entry.digest, task.id))
            if arrived is None or (entry.login.casefold(), entry.agent, task.id) in done or not entry.submission.plays(task):
                continue
            submission = GradedSubmission(
                task=task, login=entry.login, agent=entry.agent, arrived=arrived, verdict=LATE_STATE, score=None,
                order=float("-inf"),
            )  # fmt: skip
            if submission.is_late(challenge):
                yield submission


def grade_rows(challenge: Challenge, entries: Iterable[Entry], handed: Iterable[GradedSubmission]) -> list[list[object]]:
    """The table: the names of its columns, then a row for each team, in the order of logins."""
    entries = [entry for entry in entries if not (entry.is_unranked or entry.baseline)]
    teams = teams_of(entries)
    by_team: dict[frozenset[str], dict[str, list[GradedSubmission]]] = defaultdict(lambda: defaultdict(list))
    for entry in entries:
        by_team[teams[entry.login.casefold()]].clear()
    for submission in handed:
        login = submission.login.casefold()
        by_team[teams.get(login, frozenset([login]))][submission.task.id].append(submission)
    fields = [field.name for field in challenge.people.fields]
    suffixes = ("", " state", " agent", " arrived", " late")
    head = ["people", *fields, *(f"{task.id}{suffix}" for task in challenge.tasks for suffix in suffixes)]
    rows: list[list[object]] = [list(head)]
    for team in sorted(by_team, key=sorted):
        answers = _answers(fields, [entry for entry in entries if entry.login.casefold() in team])
        cells = [cell for task in challenge.tasks for cell in _task_cells(challenge, by_team[team][task.id])]
        rows.append([" ".join(sorted(team)), *answers, *cells])
    return rows


def _answers(fields: Iterable[str], entries: list[Entry]) -> Iterator[object]:
    """What a team's entries answered, different answers one after the other."""
    for name in fields:
        given = [entry.submission.meta[name] for entry in entries if name in entry.submission.meta]
        yield given[0] if len(set(given)) == 1 else " / ".join(dict.fromkeys(map(str, given)))


def _preference(submission: GradedSubmission) -> tuple[bool, float, float]:
    """The best score first, then the first arrival. Where only the final draw could choose, any score is as good."""
    has_score, is_chosen = submission.score is not None, submission.score is not None and not submission.is_final_only
    return is_chosen, submission.order if is_chosen else float(has_score), -submission.arrived.timestamp()


def _task_cells(challenge: Challenge, handed: list[GradedSubmission]) -> list[object]:
    """The score that came in time, state, agent, arrival, and the best late score."""
    late = [submission for submission in handed if submission.is_late(challenge)]
    in_time = [submission for submission in handed if submission not in late]
    best = max(in_time or late, key=_preference, default=None)
    if best is None:
        return ["", MISSING_STATE, "", "", ""]
    state = best.verdict if in_time else LATE_STATE
    after = max(late, key=lambda submission: submission.order, default=None)
    return [
        "" if best.score is None or not in_time else best.score, state, f"{best.login}/{best.agent}",
        best.arrived.strftime("%Y-%m-%dT%H:%M:%SZ"), "" if after is None or after.score is None else after.score,
    ]  # fmt: skip
