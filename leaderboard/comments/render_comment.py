"""The comment on a pull request: GitHub-flavoured Markdown for every state, with nothing in it that an entrant could use.

Whatever a template prints becomes a code span, unless our own code made it: text that is forgotten is harmless.
"""

import functools
import re
from pathlib import Path
from typing import Any, assert_never

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluator.model.identifiers import AGENT, LOGIN
from evaluator.model.records.verdict import Verdict
from leaderboard.comments import game_phrases as games
from leaderboard.comments import headlines
from leaderboard.comments import phrases as words
from leaderboard.comments.log_excerpt import log_tails
from leaderboard.comments.states import (
    AgentPreview,
    Broken,
    CommentContext,
    CommentState,
    GamePreview,
    HelpText,
    NoRun,
    OfficialScore,
    Previewed,
    Ranked,
    Refused,
    Running,
    TaskPreview,
    WithdrawnEntry,
)
from leaderboard.text import escape_markdown, format, urls

# GitHub answers 422 above this. It does not say how it counts, so we count as the most cautious do: in UTF-16 units.
LIMIT = 65_536
NOTE = "\n\n*This comment was too long for GitHub, so its end is left out. The run's artifact has the rest.*\n"
_FENCE = re.compile(r"(`{3,})")
_DETAILS, _CLOSED = "<details>", "</details>"


def comment_length(text: str) -> int:
    """UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def truncate_comment(text: str, limit: int = LIMIT) -> str:
    """The text itself, or as many of its lines as there is room for, and a note.

    Args:
        text: Markdown whose fences and details begin at a line's start.
        limit: the greatest length, in UTF-16 units; enough for the note.
    """
    if comment_length(text) <= limit:
        return text
    room = limit - comment_length(NOTE)
    kept: list[str] = []
    open_fence, open_details = "", 0
    for line in text.split("\n"):  # pragma: no branch  (it never comes to the end: there is no room for that)
        fence, details = _after(line, open_fence, open_details)
        closing = (f"\n{fence}" if fence else "") + f"\n\n{_CLOSED}" * details
        room -= comment_length(line) + 1
        if room < comment_length(closing):
            break
        kept.append(line)
        open_fence, open_details = fence, details
    ending = (f"\n{open_fence}" if open_fence else "") + f"\n\n{_CLOSED}" * open_details
    return "\n".join(kept) + ending + NOTE


def _after(line: str, fence: str, details: int) -> tuple[str, int]:
    """The fence that is open after a line, and how many details are."""
    if fence:
        closes = line.startswith(fence) and not line.strip("`")
        return ("" if closes else fence), details
    if found := _FENCE.match(line):
        return found.group(), details
    return "", max(0, details + line.startswith(_DETAILS) - line.startswith(_CLOSED))


TEMPLATES = Path(__file__).with_name("templates")
# So many lines of a list and of a log are shown; of a line so many characters.
LINES, LOG_LINES, LINE = 20, 25, 300
MARKER = "<!-- pullrank:comment run={} -->"
REPLY = "<!-- pullrank:reply run={} -->"


def render_comment(state: CommentState, context: CommentContext) -> str:
    """The comment's Markdown, never longer than GitHub takes; its first line is a hidden marker with the run's id."""
    marker = REPLY if isinstance(state, Ranked | HelpText) else MARKER
    template = _environment().get_template(f"{_template(state)}.md.jinja")
    repository = context.repository.rstrip("/")
    body = template.render(state=state, context=context, repository=repository, guide=_guide(context))
    return truncate_comment(f"{marker.format(context.run_id)}\n{body.strip()}\n")


def _template(state: CommentState) -> str:
    match state:
        case Running():
            return "running"
        case Previewed():
            return "previewed"
        case Refused():
            return "refused"
        case NoRun():
            return "no_run"
        case Broken():
            return "broken"
        case OfficialScore():
            return "official"
        case WithdrawnEntry():
            return "withdrawn"
        case Ranked():
            return "ranked"
        case HelpText():
            return "help"
        case _:
            assert_never(state)


def _guide(context: CommentContext) -> str:
    """Where the rules of a submission are written."""
    repository = context.repository.rstrip("/")
    return f"{context.site.rstrip('/')}/submit/" if context.site else f"{repository}/blob/main/site/pages/submit.md"


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, finalize=_shown, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    made.filters.update(code=escape_markdown.code, cell=escape_markdown.cell, few=_few, fenced=_block, sha=_sha, ours=Markup)
    made.globals.update({name: _ours(getattr(words, name)) for name in words.SENTENCES})
    made.globals.update(
        headline=headlines.comment_headline, official_headline=headlines.official_headline,
        counted=_ours(format.counted), rows=_rows, failures=_failures, log=_log, more=_more, line_url=_line_url,
        page_url=_page_url, link=words.link, link_code=words.link_code, command=words.command,
        verify_line=words.verify_line, fault_place=words.fault_place, unverified=words.unverified,
        rated=games.rated_phrase, admitted=games.admitted_phrase, refused=games.refused_phrase, game_log=_game_log,
        game_title=_ours(words.picture_title), record_bar=games.record_bar, unsigned=games.unsigned_number,
    )  # fmt: skip
    made.globals.update({name: _ours(getattr(games, name)) for name in games.SENTENCES})
    return made


def _shown(value: Any) -> Markup:
    """Numbers of ours as they are, everything else as code."""
    return Markup(value) if isinstance(value, int) and not isinstance(value, bool) else escape_markdown.code(value)


def _ours(function: Any) -> Any:
    """A function of ours whose text is Markdown of ours."""
    return lambda *arguments: Markup(function(*arguments))


def _rows(agents: tuple[AgentPreview, ...]) -> list[tuple[AgentPreview, TaskPreview]]:
    """Every evaluation that has a score."""
    return [(agent, row) for agent in agents for row in agent.rows if row.estimate]


def _failures(agents: tuple[AgentPreview, ...]) -> list[tuple[AgentPreview, TaskPreview]]:
    """Every evaluation that has none; those that are our fault come last."""
    found = [(agent, row) for agent in agents for row in agent.rows if not row.estimate]
    return sorted(found, key=lambda pair: pair[1].result.verdict is Verdict.INTERNAL_ERROR)


def _few(lines: tuple[str, ...]) -> tuple[str, ...]:
    """As many lines as are shown, none too long."""
    return tuple(line if len(line) <= LINE else f"{line[: LINE - 1]}…" for line in lines[:LINES])


def _more(lines: tuple[str, ...]) -> int:
    """How many are not shown."""
    return max(0, len(lines) - LINES)


def _block(lines: str | tuple[str, ...]) -> Markup:
    return escape_markdown.fenced(lines if isinstance(lines, str) else "\n".join(_few(lines)))


def _log(state: Previewed | OfficialScore, agent: AgentPreview, row: TaskPreview) -> str:
    """The end of the agent's log on a task: an official result holds it, a preview has it in a file of its own."""
    return _end(state, agent, row.task.id, row.result.log_tail)


def _game_log(state: Previewed | OfficialScore, agent: AgentPreview, game: GamePreview) -> str:
    """The end of a player's log in its validation."""
    return _end(state, agent, game.task.id, game.log)


def _end(state: Previewed | OfficialScore, agent: AgentPreview, task_id: str, recorded: str) -> str:
    log = state.log if isinstance(state, Previewed) else ""
    found = recorded or log_tails(log).get(f"{agent.login}/{agent.agent} on {task_id}", "")
    lines = found.rstrip().splitlines()[-LOG_LINES:]
    return "\n".join(line if len(line) <= LINE else f"{line[: LINE - 1]}…" for line in lines)


def _sha(commit: str | None) -> Markup:
    return escape_markdown.code((commit or "")[:7])


def _line_url(repository: str, commit: str, agent: AgentPreview, place: tuple[str, int]) -> str:
    return f"{repository}/blob/{commit}/submissions/{agent.login}/{agent.agent}/{place[0]}#L{place[1]}"


def _page_url(context: CommentContext, agent: AgentPreview) -> str | None:
    """The agent's page on the published board."""
    if not context.site or not LOGIN.fullmatch(agent.login) or not AGENT.fullmatch(agent.agent):
        return None
    return f"{context.site.rstrip('/')}/{urls.address(urls.agent_page(agent.login, agent.agent))}"
