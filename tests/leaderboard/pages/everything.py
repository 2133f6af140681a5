"""All pages of a leaderboard as sources, including those of agents."""

from leaderboard.core.standings import Standings
from leaderboard.pages import agent_page_shell, render_pages
from leaderboard.pages.agent import agent_page
from leaderboard.site_context import SiteContext


def render(standings: Standings, context: SiteContext) -> dict[str, str]:
    """Path to source: Markdown with front matter, or HTML for the pages of agents, under the names that links use."""
    pages = render_pages.render_pages(standings, context)
    pages.pop(agent_page_shell.SHELL_PAGE)
    agents = agent_page.render_agent_pages(standings, context)
    return pages | {name.removesuffix("/index.html") + ".md": values.content for name, values in agents}
