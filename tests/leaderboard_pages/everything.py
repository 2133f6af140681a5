"""All pages of a board, those of agents too, as the sources that they are."""

from leaderboard.core.standings import Standings
from leaderboard.pages import html_frame, page_renderer
from leaderboard.pages.agent import agent_page
from leaderboard.pages.page_context import PageContext


def render(standings: Standings, context: PageContext) -> dict[str, str]:
    """Path to source: Markdown with front matter, or HTML, as pages of agents are; they have the names that links use."""
    made = {name: text for name, text in page_renderer.render_pages(standings, context).items() if name != html_frame.PAGE}
    found = agent_page.render_agent_pages(standings, context)
    return made | {name.removesuffix("/index.html") + ".md": stamped.content for name, stamped in found}
