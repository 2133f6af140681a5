"""Renders the Markdown pages of a leaderboard, the rules of the submit form, and the page of a closed season."""

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluator.model.config.submission import ADAPTERS, EXTRAS, MODEL_ADAPTERS, SubmissionKind
from evaluator.model.config.task import Task
from evaluator.model.identifiers import LOGIN, NEW_AGENT, safe_path_segment
from evaluator.model.sealed_fields import secret_hash
from evaluator.model.visible_text import HIDDEN_IN_NAMES, HIDDEN_IN_TEXTS
from leaderboard.charts import agent_charts, history_charts, interval_bars, interval_figure
from leaderboard.charts.interval_bars import ChartScale
from leaderboard.comments import samples
from leaderboard.core.standings import OverallRow, Standings, TaskStandings
from leaderboard.health import health
from leaderboard.history import BestScore, BoardHistory, RankHistory
from leaderboard.pages import all_agents, episode_replays, game_page, home_page, html_frame, moderation_log
from leaderboard.pages.citation import citation
from leaderboard.scoring import metrics
from leaderboard.scoring.metrics import any_sealed, digits
from leaderboard.scoring.score_all import LEAST_COUNTED, MOST_COUNTED
from leaderboard.scoring.significance import smallest_difference
from leaderboard.site_context import SiteContext
from leaderboard.text import escape_markdown, format, urls
from leaderboard.text.format import day, number

FORM_RULES = "submit/form.json"
# Rows of a table that stand in the page itself; the page's script fetches the other rows on demand.
TABLE_ROWS = 100
RANK_RANGE = "with the rank range: the places an agent could hold, given the uncertainty"
# Record scores that the page of a task lists.
SHOWN_RECORDS = 20
# Changes of leaders on the page of the season.
TIMELINE_ROWS = 500
# Rows of each table on the page of a closed season; the archived leaderboard has all of them.
SEASON_ROWS = 10
PAGE_TEMPLATES = Path(__file__).with_name("templates")
# For other modules: only this one imports Jinja.
Templates = Environment


def form_rules(standings: Standings, context: SiteContext) -> str:
    """The JSON document for the submit form: repository, tasks, and the rules of a submission."""
    challenge = standings.challenge
    tasks = {task.id: task for task in (*challenge.tasks, *context.hidden)}
    people = challenge.people
    return json.dumps(
        {
            "title": challenge.title,
            "repository": (context.repository or challenge.repository or "").rstrip("/") or None,
            "tasks": [
                {"id": task.id, "title": task.title or task.id, "kind": format.task_kind(task)} for task in tasks.values()
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


@dataclass(frozen=True, kw_only=True)
class TaskHistory:
    """The history of a task's leaderboard."""

    best: Markup
    records: tuple[BestScore, ...]
    """The newest scores that were the best when they were measured, newest first."""
    places: Markup | None
    """Chart of the places of the first entries; None if no entry has a place now."""
    tracks: tuple[RankHistory, ...]
    """The entries of that chart, in the order of their colours."""


def forge_url(repository: str | None) -> str:
    """The address of the host of the repository, such as `https://github.com`; empty without a repository."""
    parts = urlsplit(repository or "")
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def scale_marks(scale: ChartScale) -> str:
    """The marks of a scale, for the page's script, which draws the same bars."""
    return " ".join(map(repr, scale.marks))


def scale_ends(scale: ChartScale, decimals: int) -> tuple[str, str]:
    """Both ends of a scale, for the head of the column that shows it."""
    return number(scale.low, decimals), number(scale.high, decimals)


def significant_difference(board: TaskStandings) -> str | None:
    """The typical smallest significant difference of two scores, formatted; None if unknown, or if it would read as 0."""
    if any_sealed(row.result for row in board.rows):
        return None
    difference = smallest_difference(board.rows)
    if difference is None or difference < 0.5 * 10 ** -digits(board.task):
        return None
    return number(difference, digits(board.task))


def heat(value: float | None) -> int:
    """The tint of a normalised score in a heat map, from 0 to 5: from random or worse to the reference or better."""
    return 0 if value is None else round(5 * min(1.0, max(0.0, value)))


def task_history(board: TaskStandings, history: BoardHistory) -> TaskHistory | None:
    """The history of a leaderboard; None before it has results of two days."""
    records, tracks = history.progress(board), history.standing(board)
    times = [record.at for record in records] + [at for track in tracks for at, _ in track.places]
    if not records or day(min(times)) == day(max(times)):
        return None
    ends = (min(times), max(times))
    return TaskHistory(
        best=history_charts.best_score_chart(records, ends, digits(board.task)),
        records=records[: -SHOWN_RECORDS - 1 : -1],
        places=history_charts.places_chart(tracks, ends) if tracks else None,
        tracks=tracks,
    )


def render_pages(standings: Standings, context: SiteContext, past: BoardHistory | None = None) -> dict[str, str]:
    """All pages that MkDocs builds or copies: path below the folder of pages to Markdown; the pages of duels are HTML.

    The pages of agents are too many for MkDocs: `leaderboard.pages.agent` makes them. `past` saves computing the history
    again.
    """
    past = past or BoardHistory(standings, context.results)
    renderer = TemplateRenderer(standings, context)
    pages = {html_frame.FRAME_PAGE: html_frame.FRAME_SOURCE}
    pages[urls.HOME_PAGE] = renderer.page(
        urls.HOME_PAGE, "home.md.jinja", events=past.events(home_page.NEWS), leads=past.leads()[:home_page.NEWS],
        health=health(standings, context.results),
        season_end=home_page.season_end(standings.challenge, context.now),
    )  # fmt: skip
    pages[urls.TASKS_PAGE] = renderer.page(urls.TASKS_PAGE, "tasks.md.jinja")
    pages[urls.OVERALL_PAGE] = renderer.page(urls.OVERALL_PAGE, "overall.md.jinja")
    log = moderation_log.moderation_log(standings, context)
    pages[urls.MODERATION_LOG] = renderer.page(urls.MODERATION_LOG, "moderation_log.md.jinja", log=log)
    pages[urls.COMPARE] = renderer.page(urls.COMPARE, "compare.md.jinja")
    pages[urls.STATUS] = renderer.page(urls.STATUS, "status.md.jinja")
    leads = past.leads()
    pages[urls.TIMELINE] = renderer.page(urls.TIMELINE, "timeline.md.jinja", leads=leads, most=TIMELINE_ROWS)
    pages[urls.ALL_AGENTS] = renderer.page(urls.ALL_AGENTS, "all_agents.md.jinja", lines=all_agents.agent_lines(standings))
    pages[samples.STATES_PAGE] = renderer.page(samples.STATES_PAGE, "states.md.jinja", shown=samples.rendered_samples())
    pages[FORM_RULES] = form_rules(standings, context)
    for board in standings.tasks:
        path = urls.task_page(board.task.id)
        scale = interval_bars.table_scale(board)
        pages[path] = renderer.page(
            path, "task.md.jinja", board=board, task=board.task, scale=scale, history=task_history(board, past),
            difference=significant_difference(board), films=episode_replays.leader_first(board, context.episodes),
        )  # fmt: skip
    for game in standings.games:
        pages |= game_page.render_game_pages(game, renderer.page, context.frames, context.networks)
    for task in context.hidden:
        path = urls.task_page(task.id)
        phase = standings.challenge.phase_of(task.id)
        pages[path] = renderer.page(path, "hidden.md.jinja", task=task, phase=phase)
    return pages


class TemplateRenderer:
    """Fills templates with the values that all pages of one leaderboard share."""

    def __init__(
        self,
        standings: Standings,
        context: SiteContext,
        environment: Environment | None = None,
    ) -> None:
        self._environment = environment or _markdown()
        self._shared = {
            "standings": standings,
            "challenge": standings.challenge,
            "context": context,
            "repository": context.repository or standings.challenge.repository,
            "gone_pages": {urls.agent_page(gone.login, gone.agent) for gone in context.departed},
            "sealed": any(any_sealed(row.result for row in board.rows) for board in standings.tasks),
            "unshown": {field.name for field in standings.challenge.people.fields if not field.shown},
            "phases": format.shown_phases(standings.challenge, context.now),
            "weighted": _weighted(standings.challenge.solo_tasks),
            "filmed": filmed_tasks(standings, context),
            "overall_scale": interval_bars.chart_scale((row.estimate for row in standings.overall), [0.0, 1.0]),
        }

    def page(self, path: str, template: str, **values: Any) -> str:
        """One page from a template."""
        return self._environment.get_template(template).render(here=path, **self._shared, **values)

    def macro(self, template: str, name: str, **values: Any) -> Callable[..., str]:
        """A macro of a template, to call for each of thousands of pages: the shared values are bound once."""
        module = self._environment.get_template(template).make_module({**self._shared, **values})
        macro: Callable[..., str] = getattr(module, name)
        return macro


@functools.cache
def _markdown() -> Environment:
    """For Markdown pages, cached: compiling the templates takes longer than filling those of a small leaderboard."""
    return template_environment()


def template_environment(finalize: Callable[[object], Markup] = escape_markdown.escape) -> Environment:
    """A Jinja environment in which everything that a template prints is escaped by `finalize`, except `Markup`."""
    environment = Environment(
        loader=FileSystemLoader(PAGE_TEMPLATES),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        number=escape_markdown.unbroken(format.number), plain=format.plain, size=format.size, seconds=format.seconds,
        day=format.day, short=format.short, paragraphs=escape_markdown.paragraphs, preformatted=escape_markdown.preformatted,
        link=escape_markdown.link,
        settings=task_settings, moment=format.format_utc,
        measures=metrics.measures, segment=safe_path_segment,
    )  # fmt: skip
    environment.globals.update(
        secret_hash=secret_hash,
        tries_mark=format.tries_mark,
        held_reason=format.held_reason,
        span=escape_markdown.unbroken(format.span), ranks=format.ranks, counted=format.counted,
        href=urls.href, task_page=urls.task_page,
        agent_page=urls.agent_page, owner_url=urls.owner_url, folder_url=urls.folder_url,
        result_url=urls.result_url, commit_url=urls.commit_url, interval=interval_bars.interval_svg,
        duel_page=urls.duel_page, up=urls.up, rating_scale=interval_bars.rating_scale,
        last_position=game_page.last_position,
        ranking=metrics.ranking, others=metrics.other_metrics, digits=metrics.digits, arrow=metrics.arrow,
        better=metrics.better,
        learning_curve=agent_charts.learning_curve_svg, curve_ends=agent_charts.curve_ends,
        is_other_claim=interval_bars.is_other_claim,
        task_file=urls.task_file, address=quote, citation=citation, page_address=urls.address,
        documents=urls.task_documents,
        scale_marks=scale_marks, forge_url=forge_url, TABLE_ROWS=TABLE_ROWS, strip=_strip,
        LEAST_COUNTED=LEAST_COUNTED, MOST_COUNTED=MOST_COUNTED, RANK_RANGE=RANK_RANGE,
        task_scale=interval_bars.task_scale, score_plot=interval_figure.score_plot, rating_plot=interval_figure.rating_plot,
        heat=heat, span_ends=scale_ends, has_arrows=interval_bars.has_arrows, film_poster=episode_replays.film_poster,
        film_facts=episode_replays.film_facts,
    )  # fmt: skip
    environment.globals.update(home_page.HOME_GLOBALS)
    return environment


def filmed_tasks(standings: Standings, context: SiteContext) -> set[str]:
    """The tasks and games whose pages show a film, to which others link."""
    tasks = {board.task.id for board in standings.tasks if episode_replays.leader_first(board, context.episodes)}
    return tasks | {board.task.id for board in standings.games if home_page.won_matches(board)}


def _weighted(tasks: Sequence[Task]) -> list[Task]:
    """The tasks of the overall leaderboard, if their weights differ."""
    counted = [task for task in tasks if task.random and task.reference]
    return counted if len({task.weight for task in counted}) > 1 else []


def _strip(row: OverallRow, tasks: Sequence[Task]) -> Markup:
    return interval_bars.task_strip([(task.title or task.id, row.normalised.get(task.id)) for task in tasks])


def task_settings(task: Task) -> list[tuple[str, str]]:
    """Name and value of each setting that decides the score, in words."""
    measured = {**task.measured(), "lanes": f"{task.lanes.shared} shared, {task.lanes.separate} separate"}
    names = {"env": "environment", "kwargs": "arguments", "max_episode_steps": "time limit", "lanes": "episodes at once"}
    names["functions"] = "own metrics"
    return [(names.get(name, name.replace("_", " ")), _setting(name, value)) for name, value in measured.items()]


def _setting(name: str, value: Any) -> str:
    match value:
        case None:
            return "the environment’s own" if name == "max_episode_steps" else "none"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key} = {inner}" for key, inner in value.items()) or "none"
        case float():
            return format.plain(value)
        case list():
            return ", ".join(map(str, value))
        case _:
            return str(value)


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
    template = template_environment().get_template("season.md.jinja")
    return template.render(standings=standings, challenge=standings.challenge, freeze=freeze, few=SEASON_ROWS)
