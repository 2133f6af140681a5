"""`pullrank bot reconcile`: whatever was missed is found and said; what failed on our side is tried again, then reported."""

from dataclasses import replace

from evaluator.model.verdict import Verdict
from leaderboard.comment_states import Broken, Reason
from leaderboard.plan import TRIES, given_up, given_up_duels, mark_of
from scripts.bot import sticky
from scripts.bot.answers import Issue
from scripts.bot.client import GitHubError
from scripts.bot.desk import BASE, Desk, deliver, guarded, status_of
from scripts.bot.duels import between
from scripts.bot.mapping import Pull, Run
from scripts.bot.outcomes import FINAL, Outcome, no_run, without_agent
from scripts.bot.report import Case, decide, latest_run
from scripts.console import OK, CommandError, say

LABEL = "pullrank-failure"
LABEL_LOOKS = ("d1242f", "Something of the board itself fails and somebody has to look")
TITLE = "Something of the board itself keeps failing"
OFFICIAL = "official.yml"
INTRODUCTION = (
    "Each line failed on our side as often as it is tried by itself. Nothing of it is held against an entrant. "
    "This issue is kept by the bot, and it closes it once all is mended.\n"
)


def run(desk: Desk) -> int:
    """Settle every open pull request, then report or withdraw what keeps failing."""
    trouble: list[str] = []
    known = _open_issues(desk)
    for pull in desk.github.open_pulls(base=BASE):
        try:
            trouble += _settle(desk, pull, known[0].html_url if known else None)
        except CommandError as error:  # One pull request must not keep the others waiting.
            say(f"#{pull.number}: {error}")
            trouble.append(f"#{pull.number} could not be settled; the log of the run says why")
    trouble += _given_up(desk) + _failing(desk)
    _tell(desk, trouble, known)
    return OK


def _settle(desk: Desk, pull: Pull, issue_url: str | None) -> list[str]:
    """Bring one pull request to a terminal, explained comment; a line if it keeps failing on our side."""
    said = status_of(desk, pull.head_sha)
    if said is not None and said.state in FINAL:
        return []
    speaking = latest_run(desk, pull)
    if speaking is None:
        if outcome := _without_run(desk, pull):
            deliver(desk, pull, _spoken(desk, pull), outcome)
        return []
    if speaking.conclusion is None:
        return []
    outcome = decide(desk, Case(run=speaking, pull=pull, trusted=False))
    if not outcome.ours:
        return _deliver(desk, pull, speaking, outcome)
    if isinstance(outcome.state, Broken):
        outcome = replace(outcome, state=replace(outcome.state, issue_url=issue_url))
    return _again(desk, pull, speaking, outcome)


def _deliver(desk: Desk, pull: Pull, speaking: Run, outcome: Outcome) -> list[str]:
    deliver(desk, pull, max(speaking.id, _spoken(desk, pull)), outcome)
    return []


def _spoken(desk: Desk, pull: Pull) -> int:
    """The run that the comment speaks for: what is said without a run takes its place, and any later run takes ours."""
    return sticky.newest(sticky.ours(desk.github.comments(pull.number), desk.surroundings.bot))


def _without_run(desk: Desk, pull: Pull) -> Outcome | None:
    """Why GitHub started no run; None while it has not made up its mind."""
    now = desk.github.pull(pull.number)
    if now.head_sha != pull.head_sha or now.state != "open" or now.mergeable is None:
        return None
    if now.mergeable is False:
        return no_run(pull, Reason.CONFLICT)
    found = guarded(desk, pull)
    if not found.agents and not found.faults:
        return without_agent(pull, found)
    return no_run(pull, Reason.NO_RUN)


def _again(desk: Desk, pull: Pull, speaking: Run, outcome: Outcome) -> list[str]:
    """Try once more what failed on our side, or say that somebody has to look."""
    tried = outcome.state.tried if isinstance(outcome.state, Broken) else desk.github.attempts(speaking.id)
    _deliver(desk, pull, speaking, outcome)
    if tried >= TRIES:
        return [f"the preview of #{pull.number} failed {tried} times: {speaking.html_url}"]
    try:
        desk.github.rerun(speaking.id)
    except GitHubError as error:
        if error.status not in (403, 404, 409):  # It runs already, or is too old to be run again.
            raise
        say(f"#{pull.number}: {error}")
    return []


def _given_up(desk: Desk) -> list[str]:
    """Official evaluations of the present versions that failed on our side as often as we try."""
    marks = given_up(desk.results)
    current = {(entry.login.casefold(), entry.agent, entry.digest) for entry in desk.entries}
    measured = {mark_of(result) for result in desk.results if result.verdict is not Verdict.INTERNAL_ERROR}
    lost = {
        f"{result.login}/{result.agent} on {result.task} has no official result"
        for result in desk.results
        if result.verdict is Verdict.INTERNAL_ERROR
        and mark_of(result) in marks
        and (result.login.casefold(), result.agent, result.submission_digest) in current
        and mark_of(result) not in measured
    }
    return sorted(lost | _lost_duels(desk))


def _lost_duels(desk: Desk) -> set[str]:
    """The same of duels between versions that stand now."""
    marks = given_up_duels(desk.duels)
    current = {(*entry.name, entry.digest) for entry in desk.entries}
    measured = {duel.path() for duel in desk.duels if duel.verdict is Verdict.OK}
    return {
        f"{between(duel)} on {duel.task} has no official result"
        for duel in desk.duels
        if duel.verdict is Verdict.INTERNAL_ERROR
        and (duel.players[0].name, duel.players[1].name, duel.key) in marks
        and all((*player.name, player.submission_digest) in current for player in duel.players)
        and duel.path() not in measured
    }


def _failing(desk: Desk) -> list[str]:
    """Whether the official workflow itself failed its last runs."""
    runs = desk.github.runs_of_workflow(OFFICIAL, BASE, 2 * TRIES)
    ended = [run for run in runs if run.conclusion not in (None, "cancelled", "skipped")][:TRIES]
    if len(ended) == TRIES and all(run.conclusion != "success" for run in ended):
        return [f"the last {TRIES} official runs failed: {ended[0].html_url}"]
    return []


def _open_issues(desk: Desk) -> list[Issue]:
    return [issue for issue in desk.github.issues_by_label(LABEL) if issue.author == desk.surroundings.bot]


def _tell(desk: Desk, trouble: list[str], opened: list[Issue]) -> None:
    """One issue while something keeps failing; none once it is mended."""
    body = INTRODUCTION + "".join(f"\n- {line}" for line in trouble[:100])
    if trouble and not opened:
        desk.github.ensure_labels({LABEL: LABEL_LOOKS})
        desk.github.create_issue(TITLE, body, [LABEL])
    elif trouble and opened[0].body != body:
        desk.github.edit_issue(opened[0].number, body)
    for issue in opened[1:] if trouble else opened:
        desk.github.close_issue(issue.number)
    say(f"{len(trouble)} things keep failing on our side.")
