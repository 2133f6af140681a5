"""Renders the pages of agents, also of former ones, as values for the shell that all of them share."""

import functools
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.charts.agent_charts import value_spreads
from leaderboard.charts.interval_charts import ChartScale, chart_scale, interval_element, task_scale
from leaderboard.charts.social_cards import HOME_CARD, card_files
from leaderboard.core.entry import EXAMPLES_LOGIN, Estimate
from leaderboard.core.parallel import SINGLE_PARTITION, Partition, batches
from leaderboard.core.standings import Standings
from leaderboard.core.version_folders import version_folders
from leaderboard.pages import episode_replays
from leaderboard.pages.agent.agent_profile import AgentProfile, agent_profiles, earlier_versions, results_by_agent
from leaderboard.pages.agent.agent_table_rows import (
    DrawnReturns,
    TableRows,
    code_words,
    provenance_table,
    row_facts,
    table_heads,
)
from leaderboard.pages.agent_page_shell import PageValues
from leaderboard.pages.template_renderer import TemplateRenderer, Templates, template_environment
from leaderboard.site_context import FormerEntry, SiteContext
from leaderboard.text import escape_html, urls

# A page at the same depth as all of them: relative links from it are valid on each.
_ANY_AGENT_PAGE = "agents/_/_.md"


def render_agent_pages(
    standings: Standings, context: SiteContext, share: Partition = SINGLE_PARTITION
) -> Iterator[tuple[str, PageValues]]:
    """The page of each agent of a share: its file below the site's root, and its values for the shell."""
    profiles = agent_profiles(standings, share)
    renderer = _AgentPageRenderer(standings, context, profiles)
    for batch in batches(profiles):
        measured = [_measured(profile) for profile in batch]
        # Many at once are computed faster.
        drawn = iter(value_spreads([result.returns for pairs in measured for _, result in pairs]))
        for profile, pairs in zip(batch, measured, strict=True):
            yield renderer.current(profile, [(task, result, next(drawn)) for task, result in pairs])
    for gone in share.of(context.former_entries):
        yield renderer.former(gone)


class _AgentPageRenderer:
    """Renders agents' pages; what all of them share is computed once."""

    def __init__(self, standings: Standings, context: SiteContext, profiles: Iterable[AgentProfile]) -> None:
        self._standings, self._context = standings, context
        self._repository = context.repository or standings.challenge.repository
        self._templates = TemplateRenderer(standings, context, _html())
        self._cards = card_files(standings)
        at, season = version_folders(standings.entries.values()), standings.challenge.season
        names = [profile.entry.name for profile in profiles]
        self._past = results_by_agent(context.results, season, names, at, official=standings.official)
        tasks = [board.task for board in standings.boards]
        above, below = self._templates.page(_ANY_AGENT_PAGE, "agent_shell.html.jinja").split("<!-- the page -->")
        scales = _scales(standings)
        task_links = {task.id: Markup(urls.href(_ANY_AGENT_PAGE, urls.task_page(task.id))) for task in tasks}
        self._rows = TableRows(scales, task_links, context.reproduced)
        self._shared: Mapping[str, Any] = {
            "above": Markup(above),
            "below": Markup(below),
            "root": Markup(urls.up(_ANY_AGENT_PAGE)),
            "scales": scales,
            "task_links": task_links,
            "fragments": {task.id: urls.task_fragment(task.id) for task in tasks},
        }
        self._page = self._templates.macro("agent.html.jinja", "page", **self._shared)

    def current(self, profile: AgentProfile, measured: DrawnReturns) -> tuple[str, PageValues]:
        """The page of an agent that is on main."""
        entry = profile.entry
        page = urls.agent_page(entry.login, entry.agent)
        shown = [(entered.task, entered.result) for entered in profile.task_results if entered.result]
        results = [result for _, result in shown]
        provenance = provenance_table(profile, self._repository)
        badges = badge_snippets(self._standings.challenge, self._context, profile)
        content = self._page(
            here=page, profile=profile, entry=entry, results=results,
            returns=self._rows.returns(measured),
            with_section={result.key for task, result in shown if self._needs_section(task, result)},
            document=urls.agent_file(entry.login, entry.agent), source=self._source(profile, results),
            past=None if entry.anonymous else earlier_versions(profile, self._past.get(entry.name, ())),
            shared=row_facts(provenance.shared), column_heads=table_heads(provenance.columns),
            scores=self._rows.scores(profile.task_results),
            sources=self._rows.sources(provenance.rows),
            badges=badges, other_badges=code_words(badges.others) if badges else None,
            commands=reader_commands(self._standings, self._context, profile),
            has_replays=any(result.key in self._context.episodes for result in results),
        )  # fmt: skip
        return self._values(page, entry.submission.name, _description(profile), content)

    def former(self, gone: FormerEntry) -> tuple[str, PageValues]:
        """The page of an agent that no longer ranks."""
        page = urls.agent_page(gone.login, gone.agent)
        name = f"{gone.login}/{gone.agent}"
        content = self._templates.page(page, "former_agent.html.jinja", **self._shared, gone=gone)
        return self._values(page, name, f"{name} is no longer ranked. Its results stay recorded.", content)

    def _needs_section(self, task: Task, result: Result) -> bool:
        """Whether there is more to show of a result than the rows of the tables."""
        is_plain = result.verdict is Verdict.OK and not (
            result.sealed or result.script or result.first_attempt or result.continued_after or result.gpus or task.metrics
        )
        return not is_plain or result.key in self._context.episodes

    def _values(self, page: str, title: str, description: str, content: str) -> tuple[str, PageValues]:
        values = PageValues(
            title=escape_html.escape_line(title), description=escape_html.escape_line(description),
            address=urls.address(page), card=self._cards.get(page, HOME_CARD), content=str(content),
        )  # fmt: skip
        return f"{page.removesuffix('.md')}/index.html", values

    def _source(self, profile: AgentProfile, results: Sequence[Result]) -> str | None:
        """The address of the folder at the commit of the newest result."""
        if profile.entry.anonymous:
            return None
        newest = max(results, key=lambda result: result.provenance.evaluated_at, default=None)
        return urls.source_url(self._repository, profile.entry, newest.provenance.commit if newest else None)


@functools.cache
def _html() -> Templates:
    """The templates of HTML pages, cached."""
    environment = template_environment(escape_html.escape_line)
    environment.filters.update(
        command=escape_html.command_line,
        link=lambda url, words=None: escape_html.linked_line(url, url or "" if words is None else words),
    )
    environment.globals.update(
        bar=interval_element, point=_point, figure=episode_replays.replay_figure,
    )  # fmt: skip
    return environment


def _point(score: float, scale: ChartScale) -> Markup:
    return interval_element(Estimate(score=score, low=score, high=score), scale)


def _scales(standings: Standings) -> dict[str, ChartScale]:
    """The scale of each task and game by its id."""
    scales = {board.task.id: task_scale(board.task, (row.estimate for row in board.rows)) for board in standings.tasks}
    ratings = {board.task.id: chart_scale((row.estimate for row in board.rows), [0.0]) for board in standings.games}
    return scales | ratings


def _measured(profile: AgentProfile) -> list[tuple[Task, Result]]:
    """The ranked results that have returns."""
    ranked = [(entered.task, entered.result) for entered in profile.task_results if entered.row]
    return [(task, result) for task, result in ranked if result is not None and result.returns]


def _description(profile: AgentProfile) -> str:
    entry = profile.entry
    whose = "somebody who is not shown yet" if entry.anonymous else entry.login
    place = f" Place {profile.overall.place} overall." if profile.overall and not profile.overall.is_unranked else ""
    return f"{entry.submission.name}: {entry.submission.algorithm}, by {whose}.{place}"


@dataclass(frozen=True, kw_only=True)
class ReaderCommands:
    """Shell commands, several lines each; empty where there is nothing to run."""

    fetch: str
    """Gets the repository and the recorded files of the agent."""
    verify: str
    attested: str
    """Verifies GitHub's attestation of the recorded files."""
    play: str


def reader_commands(standings: Standings, context: SiteContext, profile: AgentProfile) -> ReaderCommands:
    """The commands for one agent."""
    entry, repository = profile.entry, context.repository or standings.challenge.repository
    results = [entered.result for entered in profile.task_results if entered.result]
    official = [result for result in results if result.tier is Tier.OFFICIAL]
    recorded = f"results/*/{shlex.quote(entry.login)}/{shlex.quote(entry.agent)}"
    is_local = entry.login == EXAMPLES_LOGIN
    folder = f"{'example_agents' if is_local else f'submissions/{entry.login}'}/{entry.agent}"
    return ReaderCommands(
        fetch=_fetch(repository, standings.challenge.season, entry.login, entry.agent) if official and repository else "",
        verify=f".venv/bin/pullrank verify {recorded}" if results else "",
        attested=_attested(repository, recorded) if official and repository else "",
        play=f".venv/bin/pullrank evaluate {shlex.quote(folder)}",
    )


def _fetch(repository: str, season: str, login: str, agent: str) -> str:
    return (
        f"git clone {shlex.quote(repository)} board && cd board && make recorded\n"
        f"git fetch origin {shlex.quote(urls.traces_branch_name(season))} && mkdir -p traces\n"
        f"git archive FETCH_HEAD {shlex.quote(f'*/{login}/{agent}/*')} | tar -x -C traces"
    )


def _attested(repository: str, recorded: str) -> str:
    name = shlex.quote("/".join(repository.rstrip("/").split("/")[-2:]))
    return f'for file in {recorded}/*.json; do gh attestation verify "$file" --repo {name}; done'


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
