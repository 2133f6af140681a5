"""An agent's badges, with the Markdown that shows one elsewhere."""

from dataclasses import dataclass
from urllib.parse import quote

from evaluator.model.config.challenge import Challenge
from leaderboard.pages.agent.agent_results import AgentProfile
from leaderboard.site_context import SiteContext
from leaderboard.text import urls


@dataclass(frozen=True, kw_only=True)
class BadgeSnippets:
    """The badges of an agent, and the Markdown of the first one."""

    first: str
    """The segment of its address that names the task, or `overall`."""
    others: tuple[str, ...]
    """That segment for the other badges."""
    markdown: str


def badge_snippets(challenge: Challenge, context: SiteContext, profile: AgentProfile) -> BadgeSnippets | None:
    """The agent's badges: overall, if it has a place there, then of each task.

    None without `badges: true` in challenge.yml, or while the agent is anonymous.
    """
    entry = profile.entry
    tasks = [entered.task for entered in profile.task_results] + [entered.board.task for entered in profile.game_results]
    if not challenge.badges or entry.anonymous or not tasks:
        return None
    segments = [urls.segment(task.id) for task in tasks]
    title = tasks[0].title or tasks[0].id
    if profile.overall:
        segments, title = ["overall", *segments], "overall"
    image = context.site_url + quote(f"badges/{entry.login}/{entry.agent}/{segments[0]}.svg")
    page = context.site_url + urls.agent_address(entry.login, entry.agent)
    return BadgeSnippets(first=segments[0], others=tuple(segments[1:]), markdown=f"[![{_plain(title)}]({image})]({page})")


def _plain(title: str) -> str:
    """The title without characters that could end the square brackets of a Markdown image."""
    return "".join(character for character in title if character not in "[]\\`<>\n\r")
