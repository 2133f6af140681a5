"""A sample of each state of the comment, rendered as HTML for the page that explains them."""

import hashlib
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markupsafe import Markup

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.comment_states import (
    AgentReport,
    CommentContext,
    CommentState,
    NoRun,
    NoRunReason,
    OfficialScore,
    OurFailure,
    Previewed,
    Refused,
    Running,
    TaskReport,
    Withdrawn,
)
from leaderboard.comments.render_comment import render_comment
from leaderboard.core.entry import Estimate

_EXAMPLE = "https://github.com/example/board"
_RUN = f"{_EXAMPLE}/actions/runs/77"
_HEAD_SHA, _EVALUATOR, _MERGE = "4f0c7d21" * 5, "9ab31e55" * 5, "c0ffee12" * 5
SAMPLE_COMMENTS_PAGE = "states.md"
SAMPLE_CONTEXT = CommentContext(run_id=77, repository=_EXAMPLE, site="https://example.github.io/board/")

_POLE = Task(id="CartPole-v1", title="CartPole", bounds=(1, 500))
_TAXI = Task(id="Taxi-v4", title="Taxi")
_CRASH_LOG = (
    "| == alice/angle-rule on Taxi-v4: crashed\n| > loading the table\n| > Traceback (most recent call last):\n"
    '| >   File "/agent/agent.py", line 12, in act\n| >     return state // self.count\n'
    "| > ZeroDivisionError: integer division or modulo by zero\n"
)


class SampleState(NamedTuple):
    """One state of the comment, with made-up values."""

    id: str
    title: str
    what_now: str
    state: CommentState

    @property
    def comment(self) -> Markup:
        """The comment as HTML, from the templates of real comments. No entrant's text is in it, so it is safe."""
        return _html(render_comment(self.state, SAMPLE_CONTEXT))


def sample_states() -> tuple[SampleState, ...]:
    """The samples, in the order in which a submission may reach the states."""
    return (
        SampleState("running", "The preview is running", "Wait a few minutes.", Running(head_sha=_HEAD_SHA, run_url=_RUN)),
        SampleState(
            "scores", "Every task was evaluated", "Get it merged, or push a better version.",
            _previewed(_agent(_scored())),
        ),
        SampleState(
            "no-score", "The agent’s code stopped with an error", "Fix it and push: a new preview starts automatically.",
            _previewed(_agent(_crashed()), log=_CRASH_LOG),
        ),
        SampleState("faults", "The manifest has errors", "Fix the lines that it names, and push.",
        _previewed(_faulty())),
        SampleState(
            "refused", "The branch changes something else too", "Take that out of its commits, or begin a new branch.",
            Refused(head_sha=_HEAD_SHA, outside=(".github/workflows/preview.yml",), run_url=_RUN),
        ),
        SampleState(
            "waiting", "A maintainer must approve the run first", "Nothing: this is needed once for new contributors.",
            NoRun(head_sha=_HEAD_SHA, reason=NoRunReason.WAITING, run_url=_RUN),
        ),
        SampleState(
            "our-fault", "The evaluator failed", "Nothing: it is retried automatically and does not count against you.",
            OurFailure(head_sha=_HEAD_SHA, reason="the engine does not answer", tried=2, run_url=_RUN),
        ),
        SampleState(
            "official", "Merged and evaluated officially", "Nothing: this score is on the leaderboard.",
            OfficialScore(merge_sha=_MERGE, agents=(_agent(_official()),), run_url=_RUN),
        ),
        SampleState(
            "withdrawn", "The folder was removed", "Nothing: the recorded results stay readable.",
            Withdrawn(agents=("alice/old",), merged=True),
        ),
    )  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _result(task: Task, verdict: Verdict = Verdict.OK, **fields: Any) -> Result:
    played = task.episodes if verdict is Verdict.OK else 0
    return Result.with_self_hash(
        {
            "schema": 1, "key": _digest(task.id), "class": "preview", "task": task.id, "task_digest": task.digest(),
            "login": "alice", "agent": "angle-rule", "submission_digest": _digest("alice"), "season": "2026",
            "beacon": "preview", "sandbox": "docker", "runtime_digest": _digest("runtime"), "verdict": verdict,
            "seeds": ["0" * 32] * played, "returns": [1.0] * played, "lengths": [435] * played, "limits": {},
            "cost": {"cpu_seconds": 12.14, "wall_seconds": 31.5, "peak_memory_bytes": 88 << 20, "steps": 435 * played},
            "provenance": {"evaluated_at": "2026-05-01T12:00:00Z"}, **fields,
        }
    )  # fmt: skip


def _estimate(score: float, low: float, high: float) -> Estimate:
    return Estimate(score=score, low=low, high=high)


def _agent(*rows: TaskReport) -> AgentReport:
    return AgentReport(login="alice", agent="angle-rule", name="Angle rule", rows=rows)


def _previewed(*agents: AgentReport, log: str = "") -> Previewed:
    return Previewed(head_sha=_HEAD_SHA, evaluator_sha=_EVALUATOR, run_url=_RUN, agents=agents, log=log)


def _scored() -> TaskReport:
    return TaskReport(
        task=_POLE, result=_result(_POLE), estimate=_estimate(435.2, 421.1, 447.9), place=3, rank_low=2, rank_high=5,
        entries=13, own_last=_estimate(412.1, 395.1, 429.1), own_place=5, leader=_estimate(499.1, 498.3, 499.9),
        leader_name="bob/mlp",
    )  # fmt: skip


def _official() -> TaskReport:
    official: dict[str, Any] = {"class": "official", "beacon": _MERGE, "beacon_verified": True}
    result = _result(_POLE, **official)
    return TaskReport(
        task=_POLE, result=result, estimate=_estimate(431.0, 417.8, 443.1), place=2, rank_low=1, rank_high=4, entries=13,
        leader=_estimate(499.1, 498.3, 499.9), leader_name="bob/mlp", own_last=_estimate(412.1, 395.1, 429.1),
    )  # fmt: skip


def _crashed() -> TaskReport:
    message = "episode 3: act raised ZeroDivisionError: division by zero at agent.py:12"
    return TaskReport(task=_TAXI, result=_result(_TAXI, Verdict.CRASHED, message=message))


def _faulty() -> AgentReport:
    faults = (
        "submission.yml:2: unknown key 'algorythm'; did you mean 'algorithm'?",
        "submission.yml:1: the key 'algorithm' is missing; add it",
    )
    return AgentReport(login="alice", agent="angle-rule", name=None, faults=faults)


def _html(comment: str) -> Markup:
    """The comment roughly as GitHub renders it. The example repository does not exist, so links only look like links."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    _, _, body = comment.partition("\n")
    html = str(parser.render(body))
    for tag, instead in (("</a>", "</span>"), ("<pre>", '<pre tabindex="0">'), ("<th ", '<th scope="col" ')):
        html = html.replace(tag, instead)
    html = html.replace("<table>", '<div class="pr-comment-table" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>").replace("<th>", '<th scope="col">')
    return Markup(_unlinked(html))


def _unlinked(html: str) -> str:
    first, *rest = html.split("<a ")
    return first + "".join(f'<span class="pr-comment-link">{part.partition(">")[2]}' for part in rest)
