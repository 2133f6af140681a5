"""The phrases of a comment: advice, table cells, links and commands. Entrants' text stands only in code spans."""

import re
from collections.abc import Iterable
from typing import assert_never

from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.identifiers import AGENT, LOGIN, TASK, safe_path_segment
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.states import AgentPreview, GamePreview, OverallPreview, TaskPreview
from leaderboard.comments.text_charts import LEADER_SIGN, SCORE_SIGN, TextBar, text_chart
from leaderboard.core.standings import Estimate
from leaderboard.scoring.metrics import better, digits, metrics_of, oriented_value, ranking
from leaderboard.text.escape_markdown import cell, code, visible
from leaderboard.text.format import number, provisional, ranks, seconds, size, span

_FAULT_PLACE = re.compile(
    r"(?:.* )?at (?P<file>[A-Za-z0-9_][A-Za-z0-9_.+/-]{0,200}):(?P<line>[1-9][0-9]{0,6})(?:: .*)?", re.DOTALL
)
_PLAIN_TITLE = re.compile(r"[A-Za-z][A-Za-z0-9 ()-]*")
_REFERENCE = re.compile(r"[0-9a-f]{7}|GH-[0-9]", re.IGNORECASE)
# The functions whose return value templates print without escaping.
PHRASES = (
    "advice", "retry", "verdict_words", "place", "rank_interval", "change", "to_leader", "interval", "bars", "score",
    "processor", "memory", "picture_title", "overall_ranks", "overall_score", "task_name",
    "metrics_line",
)  # fmt: skip
_SAFE_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/%#=-]*)?")


def advice(verdict: Verdict) -> str:
    """What the author should do next, in a sentence."""
    match verdict:
        case Verdict.OK:
            return "Nothing. It can be merged."
        case Verdict.INVALID:
            return "Fix what the message names. `pullrank check` reports the same locally, without an evaluation."
        case Verdict.TIMEOUT:
            return "Do less in each step, load and compute once, or answer for many episodes at once with `act_batch`."
        case Verdict.OUT_OF_MEMORY:
            return "Load smaller weights, or keep less history."
        case Verdict.CRASHED:
            return "Read the message and the end of the log, then run the agent locally with `pullrank evaluate`."
        case Verdict.PROTOCOL_ERROR:
            return "Compare the type, the shape and the range of the action with the task’s space, and look for `nan`."
        case Verdict.OUTPUT_LIMIT:
            return "Print less; the log has a size limit for the whole task."
        case Verdict.INTERNAL_ERROR:
            return "Nothing. This is our fault and does not count against the agent."
        case _:
            assert_never(verdict)


def retry(verdict: Verdict, official: bool) -> str:
    """Whether running it again without a change helps, and how to do that."""
    if official and verdict is not Verdict.INTERNAL_ERROR:
        return "No, the recorded result stays. Submit a new version in a new pull request."
    if verdict is Verdict.INTERNAL_ERROR:
        return "Yes. It is retried automatically; the comment `/retry` does it at once."
    if verdict.is_retryable:
        return "Perhaps, if it was close to the limit: comment `/retry`. The official run is not repeated."
    return "No, the same code on the same seeds gives the same result. Push a fix, and a new preview starts automatically."


def task_name(row: TaskPreview) -> Markup:
    """The task's title."""
    return title_of(row.task)


def title_of(task: Task) -> Markup:
    """A task's title, which the host wrote: as text if it consists of plain words, else as a code span."""
    return _host_text(task.title or task.id)


def _host_text(text: str) -> Markup:
    return Markup(text) if is_plain(text) else cell(text)


def is_plain(title: str) -> bool:
    """Whether GitHub shows the title as plain text, with no Markdown, reference or link in it."""
    return _PLAIN_TITLE.fullmatch(title) is not None and not _REFERENCE.search(title)


def verdict_words(result: Result) -> str:
    """The verdict as a sentence."""
    return result.verdict.plain_words


def place(row: TaskPreview) -> Markup:
    """The place, and the number of entries."""
    if row.place is None:
        return Markup("–")
    moved = f", now {row.own_place}" if row.own_place and row.own_place != row.place else ""
    shown = f"**{row.place}** of {row.entries}{moved}".replace(" ", "\N{NO-BREAK SPACE}")
    return Markup(f"{shown}, {provisional(row.tries)}" if row.tries > 1 else shown)


def rank_interval(row: TaskPreview) -> str:
    """The rank range."""
    return ranks(row.rank_low, row.rank_high) if row.rank_low and row.rank_high else "–"


def change(row: TaskPreview) -> str:
    """The difference to the author's previous version."""
    if row.estimate is None or row.own_last is None:
        return "new"
    return _signed(row.estimate.score - row.own_last.score, digits(row.task))


def to_leader(row: TaskPreview) -> Markup:
    """The difference to the best other entry, and its name."""
    if row.estimate and not row.entries:
        return Markup("not shown yet")
    if row.estimate and row.estimate.is_missing:
        return Markup("no value, so it ranks last")
    if row.estimate is None or row.leader is None:
        return Markup("first entry")
    gap = row.estimate.score - row.leader.score
    shown = Markup("{} to {}").format(_signed(gap, digits(row.task)), cell(row.leader_name or "another"))
    if _is_ahead(row.task, row.estimate, row.leader):
        return Markup("**leads**, {}").format(shown)
    return shown + Markup(", statistically tied") if row.with_leader else shown


def _is_ahead(task: Task, estimate: Estimate, other: Estimate) -> bool:
    metric = ranking(task)
    return oriented_value(metric, estimate.score) > oriented_value(metric, other.score)


def _signed(value: float, decimals: int) -> str:
    shown = number(value, decimals)
    return f"+{shown}" if value > 0 and shown.strip("0.") else shown


def score(row: TaskPreview) -> str:
    """The score without its interval."""
    return number(row.estimate.score, digits(row.task)) if row.estimate else "–"


def metrics_line(row: TaskPreview) -> Markup:
    """The value of each metric that the host defined, and which direction is better; the first metric ranks."""
    if not row.task.metrics or row.estimate is None:
        return Markup("")
    pairs = zip(metrics_of(row.task), (row.estimate.score, *row.others), strict=True)
    values = [Markup("{} **{}** ({})").format(_host_text(m.name), number(v, m.decimals), better(m)) for m, v in pairs]
    return Markup("{}: {}").format(task_name(row), Markup(", ").join(values))


def processor(row: TaskPreview) -> str:
    """The processor time, and its limit."""
    return f"{seconds(row.result.cost.cpu_seconds)} of {row.result.limits.cpu_seconds:g} s"


def memory(row: TaskPreview) -> str:
    """The peak memory, and its limit."""
    return f"{size(row.result.cost.peak_memory_bytes)} of {row.result.limits.memory_mib} MiB"


def overall_ranks(overall: OverallPreview) -> str:
    """The rank range."""
    return ranks(overall.rank_low, overall.rank_high)


def overall_score(overall: OverallPreview) -> Markup:
    """The mean normalised score and its interval."""
    estimate = overall.estimate
    return Markup("**{}** ({})").format(number(estimate.score, 3), span(estimate.low, estimate.high, 3))


def picture_title(agent: AgentPreview, row: TaskPreview | GamePreview, many: bool) -> str:
    """The line above a text chart. It stands in a code fence, so only backticks have to be replaced."""
    title = row.task.title or row.task.id
    return visible(f"{agent.agent} on {title}" if many else title).replace("`", "'")


def interval(row: TaskPreview) -> str:
    """The 95 % interval."""
    shown = span(row.estimate.low, row.estimate.high, digits(row.task)) if row.estimate else "–"
    return shown.replace(" ", "\N{NO-BREAK SPACE}")


def bars(row: TaskPreview) -> str:
    """A text chart of the entry, its previous version, and the best other entry."""
    leads = row.estimate and row.leader and _is_ahead(row.task, row.estimate, row.leader)
    return compared_bars(row.estimate, row.own_last, row.leader, digits(row.task), leads=bool(leads))


def compared_bars(
    this: Estimate | None, before: Estimate | None, other: Estimate | None, decimals: int, *, leads: bool
) -> str:
    """A text chart of a score, that of the previous version, and that of the best other entry."""
    name, mark = ("next", SCORE_SIGN) if leads else ("leader", LEADER_SIGN)
    bars = [("this", this, SCORE_SIGN), ("before", before, SCORE_SIGN), (name, other, mark)]
    return text_chart([TextBar(name=name, estimate=e, mark=mark) for name, e, mark in bars if e], decimals)


def fault_place(result: Result) -> tuple[str, int] | None:
    """File and line that the message names. The agent wrote the message, so both may be false."""
    place = _FAULT_PLACE.fullmatch(result.message)
    if not place or ".." in place["file"]:
        return None
    return place["file"], int(place["line"])


def safe_url(url: str | None) -> Markup | None:
    """The URL if it is safe in a Markdown link, else None."""
    return Markup(url) if url and _SAFE_URL.fullmatch(url) else None


def link(words: str, url: str | None) -> Markup:
    """A link with trusted words; only the words if the URL is not safe."""
    safe = safe_url(url)
    return Markup("[{}]({})").format(Markup(words), safe) if safe else Markup(words)


def link_code(text: str, url: str) -> Markup:
    """A code span, linked if the URL is safe."""
    safe = safe_url(url)
    return Markup("[{}]({})").format(code(text), safe) if safe else code(text)


def unverified(pairs: Iterable[tuple[AgentPreview, TaskPreview]]) -> bool:
    """Whether some seeds come from a commit that GitHub did not sign."""
    return any(row.result.beacon_verified is False for _, row in pairs)


def verify_line(
    pairs: Iterable[tuple[AgentPreview, TaskPreview]], games: Iterable[tuple[AgentPreview, GamePreview]] = ()
) -> Markup:
    """The command that replays the recorded results."""
    named = [(agent, row.task.id, f"{agent.login}/{agent.agent}") for agent, row in pairs]
    named += [(agent, game.task.id, f"*{agent.login}+{agent.agent}*") for agent, game in games]
    paths = [
        f"results/{safe_path_segment(task_id)}/{inside}"
        for agent, task_id, inside in named
        if LOGIN.fullmatch(agent.login) and AGENT.fullmatch(agent.agent) and TASK.fullmatch(task_id)
    ]
    return Markup("pullrank verify " + " ".join(paths))


def command(agents: Iterable[AgentPreview], head_sha: str) -> Markup | None:
    """The command that repeats the preview; names that are not safe in a shell are left out."""
    safe = [a for a in agents if not a.copy_of and LOGIN.fullmatch(a.login) and AGENT.fullmatch(a.agent)]
    if not safe or not re.fullmatch(r"[0-9a-f]{40}", head_sha):
        return None
    verb = "check" if all(agent.faults for agent in safe) else "evaluate"
    commands = "; ".join(f"pullrank {verb} submissions/{agent.login}/{agent.agent}" for agent in safe)
    return Markup(f"git fetch origin {head_sha} && git switch --detach FETCH_HEAD && {commands}")
