"""What a comment says in words: headlines, advice, and the place of a fault. All of it is ours but what stands in code."""

import re
from collections.abc import Iterable
from typing import assert_never

from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.identifiers import AGENT, LOGIN, TASK, safe_path_segment
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict, in_plain_words, is_retryable
from leaderboard.comments.states import AgentPreview, GamePreview, OverallPreview, TaskPreview
from leaderboard.comments.text_charts import LEADER, SCORE, TextBar, text_chart
from leaderboard.core.standings import Estimate
from leaderboard.scoring.metrics import better, digits, metrics_of, oriented_value, ranking
from leaderboard.text.escape_markdown import cell, code, visible
from leaderboard.text.format import number, ranks, seconds, size, span

_PLACE = re.compile(
    r"(?:.* )?at (?P<file>[A-Za-z0-9_][A-Za-z0-9_.+/-]{0,200}):(?P<line>[1-9][0-9]{0,6})(?:: .*)?", re.DOTALL
)
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9 ()-]*")
_REFERENCE = re.compile(r"[0-9a-f]{7}|GH-[0-9]", re.IGNORECASE)
# Those that a template may print as they are: their Markdown is ours.
SENTENCES = (
    "advice", "retry", "verdict_words", "place", "rank_interval", "change", "to_leader", "interval", "bars", "score",
    "processor", "memory", "picture_title", "overall_ranks", "overall_score", "task_name",
    "metrics_line",
)  # fmt: skip
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/%#=-]*)?")


def advice(verdict: Verdict) -> str:
    """What to do next, in a sentence."""
    match verdict:
        case Verdict.OK:
            return "Nothing is left to do but to have it merged."
        case Verdict.INVALID:
            return "Mend what the message names. `pullrank check` says the same at home, without playing."
        case Verdict.TIMEOUT:
            return "Do less in each step, load and compute once, or answer for many episodes at once with `act_batch`."
        case Verdict.OUT_OF_MEMORY:
            return "Load smaller weights, or keep less history."
        case Verdict.CRASHED:
            return "Read the message and the end of the log, then play the agent at home with `pullrank evaluate`."
        case Verdict.PROTOCOL_ERROR:
            return "Compare the type, the shape and the range of the action with the task’s space, and look for `nan`."
        case Verdict.OUTPUT_LIMIT:
            return "Print less; the log holds what the limits say, for the whole task."
        case Verdict.INTERNAL_ERROR:
            return "Nothing: this is our fault, it is not held against the agent."
        case _:
            assert_never(verdict)


def retry(verdict: Verdict, official: bool) -> str:
    """Whether another run without a change helps, and how to have one."""
    if official and verdict is not Verdict.INTERNAL_ERROR:
        return "No, what is recorded stays. A new version in a new pull request is played anew."
    if verdict is Verdict.INTERNAL_ERROR:
        return "Yes. It is tried again by itself; a comment that says `/retry` does it at once."
    if is_retryable(verdict):
        return "Perhaps, if it was close to the limit: comment `/retry`. The official run does not play it again."
    return "No, the same code on the same seeds ends the same way. Push a commit and the preview starts by itself."


def task_name(row: TaskPreview) -> Markup:
    """The task's title."""
    return title_of(row.task)


def title_of(task: Task) -> Markup:
    """A task's title, which is the host's: as text where it is nothing but words, else as code like all the rest."""
    return _host_words(task.title or task.id)


def _host_words(text: str) -> Markup:
    return Markup(text) if is_plain(text) else cell(text)


def is_plain(title: str) -> bool:
    """Whether it is nothing but words, of which GitHub makes nothing else."""
    return _WORDS.fullmatch(title) is not None and not _REFERENCE.search(title)


def verdict_words(result: Result) -> str:
    """The verdict as a sentence."""
    return in_plain_words(result.verdict)


def place(row: TaskPreview) -> Markup:
    """The place and what it would be out of."""
    if row.place is None:
        return Markup("–")
    moved = f", now {row.own_place}" if row.own_place and row.own_place != row.place else ""
    return Markup(f"**{row.place}** of {row.entries}{moved}".replace(" ", "\N{NO-BREAK SPACE}"))


def rank_interval(row: TaskPreview) -> str:
    """The places that the data allows."""
    return ranks(row.rank_low, row.rank_high) if row.rank_low and row.rank_high else "–"


def change(row: TaskPreview) -> str:
    """The difference to the author's own last version."""
    if row.estimate is None or row.own_last is None:
        return "new"
    return _signed(row.estimate.score - row.own_last.score, digits(row.task))


def to_leader(row: TaskPreview) -> Markup:
    """The difference to the best of the others, and who that is."""
    if row.estimate and not row.entries:
        return Markup("not shown yet")
    if row.estimate and row.estimate.is_missing:
        return Markup("no value, so it comes last")
    if row.estimate is None or row.leader is None:
        return Markup("the first here")
    gap = row.estimate.score - row.leader.score
    shown = Markup("{} to {}").format(_signed(gap, digits(row.task)), cell(row.leader_name or "another"))
    if _is_ahead(row.task, row.estimate, row.leader):
        return Markup("**leads**, {}").format(shown)
    return shown + Markup(", not told apart") if row.with_leader else shown


def _is_ahead(task: Task, one: Estimate, other: Estimate) -> bool:
    metric = ranking(task)
    return oriented_value(metric, one.score) > oriented_value(metric, other.score)


def _signed(value: float, decimals: int) -> str:
    shown = number(value, decimals)
    return f"+{shown}" if value > 0 and shown.strip("0.") else shown


def score(row: TaskPreview) -> str:
    """The score alone."""
    return number(row.estimate.score, digits(row.task)) if row.estimate else "–"


def metrics_line(row: TaskPreview) -> Markup:
    """Every metric of the task that the host named, with which way is better; the first one ranks."""
    if not row.task.metrics or row.estimate is None:
        return Markup("")
    pairs = zip(metrics_of(row.task), (row.estimate.score, *row.others), strict=True)
    said = [Markup("{} **{}** ({})").format(_host_words(m.name), number(v, m.decimals), better(m)) for m, v in pairs]
    return Markup("{}: {}").format(task_name(row), Markup(", ").join(said))


def processor(row: TaskPreview) -> str:
    """Processor time of what is allowed."""
    return f"{seconds(row.result.cost.cpu_seconds)} of {row.result.limits.cpu_seconds:g} s"


def memory(row: TaskPreview) -> str:
    """The largest memory of what is allowed."""
    return f"{size(row.result.cost.peak_memory_bytes)} of {row.result.limits.memory_mib} MiB"


def overall_ranks(overall: OverallPreview) -> str:
    """The places that the data allows."""
    return ranks(overall.rank_low, overall.rank_high)


def overall_score(overall: OverallPreview) -> Markup:
    """The mean normalised score and its interval."""
    found = overall.estimate
    return Markup("**{}** ({})").format(number(found.score, 3), span(found.low, found.high, 3))


def picture_title(agent: AgentPreview, row: TaskPreview | GamePreview, many: bool) -> str:
    """What stands above a picture; inside a fence, where nothing but a fence could do harm."""
    title = row.task.title or row.task.id
    return _plain(f"{agent.agent} on {title}" if many else title)


def _plain(text: str) -> str:
    return visible(text).replace("`", "'")


def interval(row: TaskPreview) -> str:
    """The 95 % interval."""
    shown = span(row.estimate.low, row.estimate.high, digits(row.task)) if row.estimate else "–"
    return shown.replace(" ", "\N{NO-BREAK SPACE}")


def bars(row: TaskPreview) -> str:
    """The entry, its last version and the leader on one scale."""
    leads = row.estimate and row.leader and _is_ahead(row.task, row.estimate, row.leader)
    best = "next" if leads else "leader"
    shown: list[tuple[str, Estimate | None]] = [("this", row.estimate), ("before", row.own_last), (best, row.leader)]
    drawn = [TextBar(name=n, estimate=e, mark=LEADER if n == "leader" else SCORE) for n, e in shown if e]
    return text_chart(drawn, digits(row.task))


def fault_place(result: Result) -> tuple[str, int] | None:
    """File and line that the message names; the message is the agent's, so this is a claim and no more."""
    found = _PLACE.fullmatch(result.message)
    if not found or ".." in found["file"]:
        return None
    return found["file"], int(found["line"])


def address(url: str | None) -> Markup | None:
    """An address that may stand in a Markdown link, or nothing."""
    return Markup(url) if url and _ADDRESS.fullmatch(url) else None


def link(words: str, url: str | None) -> Markup:
    """A link of ours, and the mere words where there is no address."""
    safe = address(url)
    return Markup("[{}]({})").format(Markup(words), safe) if safe else Markup(words)


def link_code(text: str, url: str) -> Markup:
    """A code span that is a link, where the address is one."""
    safe = address(url)
    return Markup("[{}]({})").format(code(text), safe) if safe else code(text)


def unverified(pairs: Iterable[tuple[AgentPreview, TaskPreview]]) -> bool:
    """Whether some seeds come from a commit that GitHub did not sign."""
    return any(row.result.beacon_verified is False for _, row in pairs)


def verify_line(
    pairs: Iterable[tuple[AgentPreview, TaskPreview]], games: Iterable[tuple[AgentPreview, GamePreview]] = ()
) -> Markup:
    """The line that replays what is recorded."""
    named = [(agent, row.task.id, f"{agent.login}/{agent.agent}") for agent, row in pairs]
    named += [(agent, game.task.id, f"*{agent.login}+{agent.agent}*") for agent, game in games]
    known = [
        f"results/{safe_path_segment(task_id)}/{inside}"
        for agent, task_id, inside in named
        if LOGIN.fullmatch(agent.login) and AGENT.fullmatch(agent.agent) and TASK.fullmatch(task_id)
    ]
    return Markup("pullrank verify " + " ".join(known))


def command(agents: Iterable[AgentPreview], head_sha: str) -> Markup | None:
    """The line that plays the same at home; only names that a shell takes for names are put into it."""
    known = [a for a in agents if not a.copy_of and LOGIN.fullmatch(a.login) and AGENT.fullmatch(a.agent)]
    if not known or not re.fullmatch(r"[0-9a-f]{40}", head_sha):
        return None
    verb = "check" if all(agent.faults for agent in known) else "evaluate"
    played = "; ".join(f"pullrank {verb} submissions/{agent.login}/{agent.agent}" for agent in known)
    return Markup(f"git fetch origin {head_sha} && git switch --detach FETCH_HEAD && {played}")
