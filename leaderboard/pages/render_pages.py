"""All pages that MkDocs builds or copies, each with the values that its template shows."""

from leaderboard.comments import sample_comments
from leaderboard.core.standings import Standings
from leaderboard.evaluation_health import health
from leaderboard.history import LeaderboardHistory
from leaderboard.pages import agent_list, agent_page_shell, duel_page, game_page, home_page, ledger, submit_form, task_page
from leaderboard.pages.template_renderer import TemplateRenderer
from leaderboard.site_context import SiteContext
from leaderboard.text import urls

# Changes of leaders on the page of the season.
TIMELINE_ROWS = 500


def render_pages(standings: Standings, context: SiteContext, past: LeaderboardHistory | None = None) -> dict[str, str]:
    """All pages that MkDocs builds or copies: path below the folder of pages to Markdown; the pages of duels are HTML.

    The pages of agents are too many for MkDocs: `leaderboard.pages.agent` makes them. `past` saves computing the history
    again.
    """
    past = past or LeaderboardHistory(standings, context.results)
    renderer = TemplateRenderer(standings, context)
    pages = {agent_page_shell.SHELL_PAGE: agent_page_shell.SHELL_SOURCE}
    pages[urls.HOME_PAGE] = renderer.page(
        urls.HOME_PAGE, "home.md.jinja",
        events=past.events(home_page.HOME_EVENTS), leads=past.leads()[:home_page.HOME_EVENTS],
        health=health(standings, context.results),
        season_end=home_page.season_end(standings.challenge, context.now),
    )  # fmt: skip
    pages[urls.TASKS_PAGE] = renderer.page(urls.TASKS_PAGE, "tasks.md.jinja")
    pages[urls.OVERALL_PAGE] = renderer.page(urls.OVERALL_PAGE, "overall.md.jinja")
    log = ledger.build_ledger(standings, context)
    pages[urls.LEDGER] = renderer.page(urls.LEDGER, "ledger.md.jinja", log=log)
    pages[urls.COMPARE] = renderer.page(urls.COMPARE, "compare.md.jinja")
    pages[urls.STATUS] = renderer.page(urls.STATUS, "status.md.jinja")
    leads = past.leads()
    pages[urls.TIMELINE] = renderer.page(urls.TIMELINE, "timeline.md.jinja", leads=leads, most=TIMELINE_ROWS)
    pages[urls.ALL_AGENTS] = renderer.page(urls.ALL_AGENTS, "all_agents.md.jinja", lines=agent_list.agent_lines(standings))
    pages[sample_comments.SAMPLE_COMMENTS_PAGE] = renderer.page(
        sample_comments.SAMPLE_COMMENTS_PAGE, "sample_comments.md.jinja", shown=sample_comments.sample_states()
    )
    pages[submit_form.FORM_RULES] = submit_form.form_rules(standings, context)
    for board in standings.tasks:
        pages[urls.task_page(board.task.id)] = task_page.render_task_page(board, renderer.page, context, past)
    for game in standings.games:
        pages |= game_page.render_game_page(game, renderer.page, context.networks)
        pages |= duel_page.render_duel_pages(game, renderer.page, context.frames)
    for task in context.hidden:
        path = urls.task_page(task.id)
        phase = standings.challenge.phase_of(task.id)
        pages[path] = renderer.page(path, "hidden.md.jinja", task=task, phase=phase)
    return pages
