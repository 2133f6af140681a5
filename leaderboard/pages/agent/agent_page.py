"""The pages of agents, present and departed: what each puts into the frame that all of them share."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.charts.interval_chart import ChartScale, interval_element, task_scale
from leaderboard.charts.rating_charts import rating_scale
from leaderboard.charts.social_cards import HOME_CARD, card_files
from leaderboard.core.eligibility import Name
from leaderboard.core.former_entries import FormerEntry
from leaderboard.core.parallel import WHOLE, Partition, batches
from leaderboard.core.standings import Estimate, Standings
from leaderboard.core.versions import version_folders_of
from leaderboard.pages import episode_replays
from leaderboard.pages.agent.profile import AgentProfile, agent_profiles
from leaderboard.pages.agent.provenance import earlier_versions, provenance_table, results_by_agent
from leaderboard.pages.agent.reader_commands import badge_snippets, reader_commands
from leaderboard.pages.agent.table_rows import VERDICTS, Drawn, TableRows, draw_rows, row_facts, table_heads, verdict_codes
from leaderboard.pages.html_frame import PageValues
from leaderboard.pages.page_context import PageContext
from leaderboard.pages.page_renderer import TemplateRenderer, Templates, template_environment
from leaderboard.text import escape_html, serialise, urls

# Any page at their depth: what leads away from one of them leads away from all.
_LIKE = "agents/_/_.md"


def render_agent_pages(
    standings: Standings, context: PageContext, share: Partition = WHOLE
) -> Iterator[tuple[str, PageValues]]:
    """The page of every agent of a share: its file below the site's root, and what it puts into the frame."""
    shown = agent_profiles(standings, share)
    show = _Agents(standings, context, shown)
    for batch in batches(shown):
        returns = draw_rows([result for profile in batch for _, result in _measured(profile)])
        for profile in batch:
            yield show.present(profile, returns)
    for gone in share.of(context.departed):
        yield show.departed(gone)


class _Agents:
    """What all agents' pages need, made once."""

    def __init__(self, standings: Standings, context: PageContext, shown: Iterable[AgentProfile]) -> None:
        self._standings, self._context = standings, context
        self._repository = context.repository or standings.challenge.repository
        self._press = TemplateRenderer(standings, context, _html())
        self._cards = card_files(standings)
        at, season = version_folders_of(standings), standings.challenge.season
        self._past = results_by_agent(context.results, season, map(_name, shown), at, official=standings.official)
        tasks = [board.task for board in standings.tasks] + [board.task for board in standings.games]
        above, below = self._press.page(_LIKE, "agent_ends.html.jinja").split("<!-- the page -->")
        scales = _scales(standings)
        task_links = {task.id: Markup(urls.href(_LIKE, urls.task_page(task.id))) for task in tasks}
        self._rows = TableRows(scales, task_links, context.reproduced)
        self._shared: Mapping[str, Any] = {
            "above": Markup(above),
            "below": Markup(below),
            "root": Markup(urls.up(_LIKE)),
            "scales": scales,
            "task_links": task_links,
            "anchors": {task.id: _anchor(task.id) for task in tasks},
        }
        self._page = self._press.macro("agent.html.jinja", "page", **self._shared)

    def present(self, profile: AgentProfile, drawn: Drawn) -> tuple[str, PageValues]:
        """The page of an agent that stands on main."""
        entry = profile.entry
        page = urls.agent_page(entry.login, entry.agent)
        shown = [(showing.task, showing.result) for showing in profile.showings if showing.result]
        results = [result for _, result in shown]
        measured = _measured(profile)
        found, labels = provenance_table(profile, self._repository), badge_snippets(self._context, profile)
        content = self._page(
            here=page, profile=profile, entry=entry, results=results,
            returns=self._rows.returns(measured, drawn),
            told={result.key for task, result in shown if self._is_told(task, result)},
            document=serialise.agent_file(entry.login, entry.agent), source=self._source(profile, results),
            past=None if entry.anonymous else earlier_versions(profile, self._past.get(_name(profile), ())),
            shared=row_facts(found.shared), named=table_heads(found.named),
            scores=self._rows.scores(profile.showings),
            sources=self._rows.sources(found.rows),
            labels=labels, others=verdict_codes(labels.others) if labels else None,
            typed=reader_commands(self._standings, self._context, profile),
            has_replays=any(result.key in self._context.episodes for result in results),
        )  # fmt: skip
        return self._stamped(page, entry.submission.name, _said(profile), content)

    def departed(self, gone: FormerEntry) -> tuple[str, PageValues]:
        """The page of an agent that no longer ranks."""
        page = urls.agent_page(gone.login, gone.agent)
        name = f"{gone.login}/{gone.agent}"
        content = self._press.page(page, "departed.html.jinja", **self._shared, gone=gone)
        return self._stamped(page, name, f"{name} no longer ranks. What was measured of it stays recorded.", content)

    def _is_told(self, task: Task, result: Result) -> bool:
        """Whether there is more to say of it than numbers of tables."""
        is_plain = result.verdict is Verdict.OK and not (
            result.sealed or result.script or result.first_attempt or task.metrics
        )
        return not is_plain or result.key in self._context.episodes

    def _stamped(self, page: str, title: str, said: str, content: str) -> tuple[str, PageValues]:
        stamped = PageValues(
            title=escape_html.escape_line(title), description=escape_html.escape_line(said), address=urls.address(page),
            card=self._cards.get(page, HOME_CARD), content=str(content),
        )  # fmt: skip
        return f"{page.removesuffix('.md')}/index.html", stamped

    def _source(self, profile: AgentProfile, results: Sequence[Result]) -> str | None:
        """The folder as it was when it was evaluated last."""
        if profile.entry.anonymous:
            return None
        newest = max(results, key=lambda result: result.provenance.evaluated_at, default=None)
        return urls.source_url(self._repository, profile.entry, newest.provenance.commit if newest else None)


@functools.cache
def _html() -> Templates:
    """The templates of pages that are HTML from the start; compiled once, whatever the number of boards."""
    made = template_environment(escape_html.escape_line)
    made.filters.update(
        command=escape_html.command_line,
        link=lambda url, said=None: escape_html.linked_line(url, url or "" if said is None else said),
    )
    made.globals.update(
        bar=_bar, point=_point, verdict_tag=VERDICTS.__getitem__, figure=episode_replays.replay_figure,
    )  # fmt: skip
    return made


def _bar(estimate: Estimate, scale: ChartScale) -> Markup:
    return Markup(interval_element(estimate, scale))


def _point(score: float, scale: ChartScale) -> Markup:
    return _bar(Estimate(score=score, low=score, high=score), scale)


def _scales(standings: Standings) -> dict[str, ChartScale]:
    """By task: looked through once, not for each agent."""
    scales = {board.task.id: task_scale(board.task, (row.estimate for row in board.rows)) for board in standings.tasks}
    return scales | {board.task.id: rating_scale(board) for board in standings.games}


def _anchor(task_id: str) -> str:
    """No heading of the page's own begins like it."""
    return f"task-{safe_path_segment(task_id)}"


def _measured(profile: AgentProfile) -> list[tuple[Task, Result]]:
    """What shows returns."""
    found = [(showing.task, showing.result) for showing in profile.showings if showing.row]
    return [(task, result) for task, result in found if result is not None and result.returns]


def _name(profile: AgentProfile) -> Name:
    return profile.entry.login.casefold(), profile.entry.agent


def _said(profile: AgentProfile) -> str:
    entry = profile.entry
    whose = "somebody who is not shown yet" if entry.anonymous else entry.login
    place = f" Place {profile.overall.place} overall." if profile.overall and not entry.is_aside else ""
    return f"{entry.submission.name}: {entry.submission.algorithm}, by {whose}.{place}"
