"""All pages of a board, those of agents too, as the sources that they are."""

from leaderboard import agent_pages, pages, shell
from leaderboard.context import PageContext
from leaderboard.core.standings import Standings


def render(standings: Standings, context: PageContext) -> dict[str, str]:
    """Path to source: Markdown with front matter, or HTML, as pages of agents are; they have the names that links use."""
    made = {name: text for name, text in pages.render(standings, context).items() if name != shell.PAGE}
    found = agent_pages.render(standings, context)
    return made | {name.removesuffix("/index.html") + ".md": stamped.content for name, stamped in found}
