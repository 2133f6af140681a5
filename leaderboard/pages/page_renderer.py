"""All pages that MkDocs builds or copies, each with the values that its template shows, and the page of a closed season."""

import json
from dataclasses import dataclass, field

from evaluator.model.config.submission import ADAPTERS, EXTRAS, MODEL_ADAPTERS, SubmissionKind
from evaluator.model.config.task import Task
from evaluator.model.identifiers import LOGIN, NEW_AGENT
from evaluator.model.visible_text import HIDDEN_IN_NAMES, HIDDEN_IN_TEXTS
from leaderboard.comments import sample_comments
from leaderboard.core.entry import AgentName, Entry, RankedEntry
from leaderboard.core.standings import Standings, listed_entries
from leaderboard.health import health
from leaderboard.history import LeaderboardHistory
from leaderboard.pages import game_page, home_page, ledger, page_shell, task_page
from leaderboard.pages.page_templates import TemplateRenderer, template_environment
from leaderboard.site_context import SiteContext
from leaderboard.text import format, urls

FORM_RULES = "submit/form.json"
# Changes of leaders on the page of the season.
TIMELINE_ROWS = 500
# Rows of each table on the page of a closed season; the archived leaderboard has all of them.
SEASON_ROWS = 10
# Places that a row names; the agent's page has all of them.
NAMED_PLACES = 3


def form_rules(standings: Standings, context: SiteContext) -> str:
    """The JSON document for the submit form: repository, tasks, and the rules of a submission."""
    challenge = standings.challenge
    tasks = {task.id: task for task in (*challenge.tasks, *context.hidden)}
    people = challenge.people
    return json.dumps(
        {
            "title": challenge.title,
            "not_open": format.not_open(challenge, context.now) or None,
            "repository": (context.repository or challenge.repository or "").rstrip("/") or None,
            "tasks": [
                {
                    "id": task.id,
                    "title": task.title or task.id,
                    "kind": format.task_kind(task),
                    "not_open": format.not_open(challenge, context.now, task.id) or None,
                }
                for task in tasks.values()
            ],
            "kinds": [kind.value for kind in SubmissionKind],
            "adapters": list(ADAPTERS),
            "adapters_of_models": list(MODEL_ADAPTERS),
            "extras": list(EXTRAS),
            "files": challenge.submissions.files,
            "kib": challenge.submissions.kib,
            "patterns": {
                "login": LOGIN.pattern,
                "agent": NEW_AGENT.pattern,
                "invisible": HIDDEN_IN_TEXTS,
                "invisible_in_names": HIDDEN_IN_NAMES,
            },
            "terms": people.terms,
            "fields": [field.model_dump(mode="json", exclude={"shown"}) for field in people.fields],
            "bans": [ban.login for ban in people.ban],
        },
        ensure_ascii=True,
    )


@dataclass(kw_only=True)
class AgentLine:
    """One agent."""

    entry: Entry
    places: list[tuple[int, Task]] = field(default_factory=list)
    """The best first."""
    tasks: int = 0
    """With a score or a rating, also without a place."""

    @property
    def named(self) -> list[tuple[int, Task]]:
        """The places that its row names."""
        return self.places[:NAMED_PLACES]


def agent_lines(standings: Standings) -> list[AgentLine]:
    """Every agent that is on the board or waits for it: the best place first, then the most places, then by name."""
    lines: dict[AgentName, AgentLine] = {}
    for board in standings.boards:
        for entry, listed in listed_entries(board):
            line = lines.setdefault(entry.name, AgentLine(entry=entry))
            if isinstance(listed, RankedEntry):
                line.tasks += 1
                line.places += [] if listed.is_unranked else [(listed.place, board.task)]
    for line in lines.values():
        line.places.sort(key=lambda step: step[0])
    return sorted(lines.values(), key=_order)


def _order(line: AgentLine) -> tuple[float, int, str]:
    best = line.places[0][0] if line.places else float("inf")
    return best, -len(line.places), line.entry.shown


def render_pages(standings: Standings, context: SiteContext, past: LeaderboardHistory | None = None) -> dict[str, str]:
    """All pages that MkDocs builds or copies: path below the folder of pages to Markdown; the pages of duels are HTML.

    The pages of agents are too many for MkDocs: `leaderboard.pages.agent` makes them. `past` saves computing the history
    again.
    """
    past = past or LeaderboardHistory(standings, context.results)
    renderer = TemplateRenderer(standings, context)
    pages = {page_shell.SHELL_PAGE: page_shell.SHELL_SOURCE}
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
    pages[urls.ALL_AGENTS] = renderer.page(urls.ALL_AGENTS, "all_agents.md.jinja", lines=agent_lines(standings))
    pages[sample_comments.STATES_PAGE] = renderer.page(
        sample_comments.STATES_PAGE, "states.md.jinja", shown=sample_comments.sample_states()
    )
    pages[FORM_RULES] = form_rules(standings, context)
    for board in standings.tasks:
        pages[urls.task_page(board.task.id)] = task_page.render_task_page(board, renderer.page, context, past)
    for game in standings.games:
        pages |= game_page.render_game_pages(game, renderer.page, context.frames, context.networks)
    for task in context.hidden:
        path = urls.task_page(task.id)
        phase = standings.challenge.phase_of(task.id)
        pages[path] = renderer.page(path, "hidden.md.jinja", task=task, phase=phase)
    return pages


@dataclass(frozen=True, kw_only=True)
class SeasonSummary:
    """How a season ended."""

    at: str
    """UTC."""
    by: str
    """Who signed it off."""
    results: int
    """Results and duels that were verified."""
    stale: int
    """Results under settings of a task that changed later; they do not rank."""
    steps: int
    """Environment steps that were replayed."""
    manifest_sha256: str
    """Of the archive's list of hashes."""
    archive: str
    """File name."""
    archive_sha256: str
    bibtex: str
    revealed: str | None = None
    """The secret of a sealed season."""


def season_page(standings: Standings, freeze: SeasonSummary) -> str:
    """The page of a closed season as Markdown."""
    template = template_environment().get_template("closed_season.md.jinja")
    return template.render(standings=standings, challenge=standings.challenge, freeze=freeze, few=SEASON_ROWS)
