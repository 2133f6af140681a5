"""Renders the comment on a pull request: GitHub-flavoured Markdown for every state.

Entrants' text must have no effect. So whatever a template prints becomes a code span, unless our own code made it: a value
that a template forgets to escape is harmless.
"""

import functools
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluator.model.identifiers import AGENT, LOGIN
from evaluator.model.records.verdict import Verdict
from leaderboard.comments import phrases
from leaderboard.comments.comment_states import (
    AgentReport,
    CommentContext,
    CommentState,
    HelpText,
    NoRun,
    NoRunReason,
    OfficialScore,
    OurFailure,
    Previewed,
    RankReply,
    Refused,
    Report,
    Running,
    TaskReport,
    Withdrawn,
)
from leaderboard.comments.log_excerpt import log_excerpt, log_tails, shortened
from leaderboard.core.entry import INTERVAL_NAME
from leaderboard.scoring.metrics import oriented_value, ranking_metric
from leaderboard.site_context import REPLAYED_ENTRIES
from leaderboard.text import escape_markdown, format, urls

# GitHub answers 422 above this. It does not document the unit, so we count UTF-16 units, the largest of the candidates.
COMMENT_LIMIT = 65_536
TRUNCATION_NOTE = "\n\n*This comment was too long for GitHub, so its end is left out. The run's artifact has the rest.*\n"
# Entries of a list that a comment shows.
_LIST_LINES = 20
_COMMENT_TEMPLATES = Path(__file__).with_name("templates")
_COMMENT_MARKER = "<!-- pullrank:comment run={} -->"
_COMMENT_RUN = re.compile(re.escape(_COMMENT_MARKER).replace(r"\{\}", r"(\d{1,20})"))
_REPLY_MARKER = "<!-- pullrank:reply run={} -->"
_FENCE = re.compile(r"(`{3,})")
_DETAILS, _CLOSED = "<details>", "</details>"
_TEMPLATE_NAMES: dict[type[CommentState], str] = {
    Running: "running", Previewed: "previewed", Refused: "refused", NoRun: "no_run", OurFailure: "our_failure",
    OfficialScore: "official", Withdrawn: "withdrawn", RankReply: "rank_reply", HelpText: "help",
}  # fmt: skip


def comment_length(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def truncate_comment(text: str, limit: int = COMMENT_LIMIT) -> str:
    """The text itself, or as many of its first lines as fit, and a note.

    Args:
        text: Markdown whose fences and details begin at the start of a line.
        limit: the greatest length in UTF-16 units, at least that of the note.
    """
    if comment_length(text) <= limit:
        return text
    room = limit - comment_length(TRUNCATION_NOTE)
    lines: list[str] = []
    open_fence, open_details = "", 0
    for line in text.split("\n"):  # pragma: no branch  (the text is too long, so the loop always breaks)
        fence, details = _open_blocks(line, open_fence, open_details)
        closing = (f"\n{fence}" if fence else "") + f"\n\n{_CLOSED}" * details
        room -= comment_length(line) + 1
        if room < comment_length(closing):
            break
        lines.append(line)
        open_fence, open_details = fence, details
    ending = (f"\n{open_fence}" if open_fence else "") + f"\n\n{_CLOSED}" * open_details
    return "\n".join(lines) + ending + TRUNCATION_NOTE


def _open_blocks(line: str, fence: str, details: int) -> tuple[str, int]:
    """The fence that is open after a line, and the number of open details."""
    if fence:
        closes = line.startswith(fence) and not line.strip("`")
        return ("" if closes else fence), details
    if opening := _FENCE.match(line):
        return opening.group(), details
    return "", max(0, details + line.startswith(_DETAILS) - line.startswith(_CLOSED))


def render_comment(state: CommentState, context: CommentContext) -> str:
    """The comment's Markdown, within GitHub's limit; its first line is a hidden marker with the run's id."""
    marker = _REPLY_MARKER if isinstance(state, RankReply | HelpText) else _COMMENT_MARKER
    template = _environment().get_template(f"{_TEMPLATE_NAMES[type(state)]}.md.jinja")
    repository = context.repository.rstrip("/")
    body = template.render(state=state, context=context, repository=repository, guide=_guide(context))
    return truncate_comment(f"{marker.format(context.run_id)}\n{body.strip()}\n")


def comment_run(body: str) -> int | None:
    """The run in the marker that a comment begins with; None without the marker, also for answers to commands."""
    marker = _COMMENT_RUN.match(body)
    return int(marker[1]) if marker else None


def _guide(context: CommentContext) -> str:
    """The address of the rules for submissions."""
    repository = context.repository.rstrip("/")
    return f"{context.site.rstrip('/')}/submit/" if context.site else f"{repository}/blob/main/site/pages/submit.md"


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_COMMENT_TEMPLATES), autoescape=True, finalize=_escaped, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters.update(
        code=escape_markdown.code,
        cell=escape_markdown.cell,
        few=_few,
        fenced=_block,
        sha=_sha,
        ours=Markup,
        several=_are_of_several_agents,
    )
    environment.globals.update({name: _trusted(getattr(phrases, name)) for name in phrases.PHRASES})
    environment.globals.update(
        NoRunReason=NoRunReason, Verdict=Verdict, INTERVAL_NAME=Markup(INTERVAL_NAME),
        preview_headline=phrases.preview_headline, official_headline=phrases.official_headline,
        quantity=_trusted(format.quantity), rows=_rows, failures=_failures, log=_log, more=_more, line_url=_line_url,
        page_url=_page_url, decisive_episode=_decisive_episode, link_words=phrases.link_words, link_code=phrases.link_code,
        preview_command=phrases.preview_command, verify_command=phrases.verify_command,
        fault_location=phrases.fault_location, rated=phrases.rated_players, refused=phrases.refused_players,
        players_without_opponents=phrases.players_without_opponents, won_drawn_lost_bar=phrases.won_drawn_lost_bar,
        any_unsigned_score=phrases.any_unsigned_score, any_unsigned_player=phrases.any_unsigned_player,
    )  # fmt: skip
    return environment


def _escaped(value: Any) -> Markup:
    """Integers and `Markup` as they are, everything else as a code span."""
    return Markup(value) if isinstance(value, int) and not isinstance(value, bool) else escape_markdown.code(value)


def _trusted(function: Any) -> Any:
    """A function whose return value templates print without escaping, since our own code made it."""
    return lambda *arguments: Markup(function(*arguments))


def _rows(agents: tuple[AgentReport, ...]) -> list[tuple[AgentReport, TaskReport]]:
    """Every evaluation with a score."""
    return [(agent, row) for agent in agents for row in agent.rows if row.estimate]


def _failures(agents: tuple[AgentReport, ...]) -> list[tuple[AgentReport, TaskReport]]:
    """Every evaluation without a score; those that failed by our fault come last."""
    failures = [(agent, row) for agent in agents for row in agent.rows if not row.estimate]
    return sorted(failures, key=lambda pair: pair[1].result.verdict is Verdict.INTERNAL_ERROR)


def _are_of_several_agents(pairs: Iterable[tuple[AgentReport, Report]]) -> bool:
    return len({agent.agent for agent, _ in pairs}) > 1


def _few(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a list that are shown."""
    return tuple(map(shortened, lines[:_LIST_LINES]))


def _more(lines: tuple[str, ...]) -> int:
    """The number of lines that are not shown."""
    return max(0, len(lines) - _LIST_LINES)


def _block(lines: str | tuple[str, ...]) -> Markup:
    return escape_markdown.fenced(lines if isinstance(lines, str) else "\n".join(_few(lines)))


def _log(state: Previewed | OfficialScore, agent: AgentReport, task_id: str, recorded: str) -> str:
    """The end of an agent's log on a task, or of a player's in its validation: as recorded, or as in preview.log."""
    log = state.log if isinstance(state, Previewed) else ""
    return log_excerpt(recorded or log_tails(log).get(f"{agent.login}/{agent.agent} on {task_id}", ""))


def _sha(commit: str | None) -> Markup:
    return escape_markdown.code((commit or "")[:7])


def _line_url(repository: str, commit: str, agent: AgentReport, place: tuple[str, int]) -> str:
    return f"{repository}/blob/{commit}/submissions/{agent.login}/{agent.agent}/{place[0]}#L{place[1]}"


def _decisive_episode(context: CommentContext, agent: AgentReport, row: TaskReport) -> tuple[str, str] | None:
    """Address and name of the episode that made most of the difference to the best other agent; None where no page shows it.

    The difference of two means is made by single episodes: most by the best one of who is ahead, and by the worst one of who
    is behind.
    """
    page, returns, other = _page_url(context, agent), row.result.returns, row.leader
    if page is None or not returns or row.place is None or row.place > REPLAYED_ENTRIES or not (row.estimate and other):
        return None
    metric = ranking_metric(row.task)
    is_behind = oriented_value(metric, row.estimate.score) < oriented_value(metric, other.score)
    which = "worst" if is_behind and min(returns) != max(returns) else "best"
    return f"{page}#{quote(urls.task_fragment(row.task.id))}-{which}", which


def _page_url(context: CommentContext, agent: AgentReport) -> str | None:
    """The address of the agent's page on the published site."""
    if not context.site or not LOGIN.fullmatch(agent.login) or not AGENT.fullmatch(agent.agent):
        return None
    return f"{context.site.rstrip('/')}/{urls.address(urls.agent_page(agent.login, agent.agent))}"
