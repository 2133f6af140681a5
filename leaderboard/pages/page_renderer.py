"""The summary page of a closed season: what came out, who signs for it, and how to check and cite it."""

import functools
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.config.submission import ADAPTERS, EXTRAS, OF_MODELS, SubmissionKind
from evaluator.model.identifiers import INVISIBLE, LOGIN, NEW_AGENT, safe_path_segment
from evaluator.model.records.verdict import in_plain_words
from evaluator.model.sealed_fields import secret_hash
from leaderboard.charts import history_charts, interval_chart, rating_charts
from leaderboard.charts.interval_chart import ChartScale
from leaderboard.comments import samples
from leaderboard.core.standings import OverallRow, Standings, TaskStandings
from leaderboard.history import BoardHistory, RankHistory, RecordScore
from leaderboard.pages import game_page, home_page, html_frame, moderation_log, page_renderer
from leaderboard.pages.page_context import PageContext
from leaderboard.scoring import metrics
from leaderboard.scoring.metrics import any_sealed, digits
from leaderboard.scoring.significance import smallest_difference
from leaderboard.text import escape_markdown, format, serialise, urls
from leaderboard.text.format import day, number

PAGE = "submit/form.json"


def form_rules(standings: Standings, context: PageContext) -> str:
    """A JSON document: where the board lies, its tasks, and what a submission must be like."""
    challenge = standings.challenge
    tasks = {task.id: task for task in (*challenge.tasks, *context.hidden)}
    people = challenge.people
    return json.dumps(
        {
            "title": challenge.title,
            "repository": (context.repository or challenge.repository or "").rstrip("/") or None,
            "tasks": [{"id": task.id, "title": task.title or task.id, "kind": task_kind(task)} for task in tasks.values()],
            "kinds": [kind.value for kind in SubmissionKind],
            "adapters": list(ADAPTERS),
            "adapters_of_models": list(OF_MODELS),
            "extras": list(EXTRAS),
            "files": challenge.submissions.files,
            "kib": challenge.submissions.kib,
            "patterns": {"login": LOGIN.pattern, "agent": NEW_AGENT.pattern, "invisible": INVISIBLE.pattern},
            "terms": people.terms,
            "fields": [field.model_dump(mode="json", exclude={"shown"}) for field in people.fields],
            "bans": [ban.login for ban in people.ban],
        },
        ensure_ascii=True,
    )


def task_kind(task: Task) -> str:
    """Who may enter: `game` and `task` are for agents, `script` is for scripts."""
    return "game" if task.game else "script" if task.script else "task"


# So many rows stand in the page itself; the rest is in the documents, which the page's script fetches when it is asked to.
FIRST = 100
# So many of the records are told one by one.
RECORDS = 20


@dataclass(frozen=True, kw_only=True)
class TaskHistory:
    """A board's history, in pictures."""

    best: Markup
    """The best score over time."""
    records: tuple[RecordScore, ...]
    """The newest of what it is made of, newest first."""
    places: Markup | None
    """The places of the first entries; None where nobody has one now."""
    tracks: tuple[RankHistory, ...]
    """Whose they are, in the order of their colours."""


def task_documents(task_id: str) -> str:
    """Where the documents of a task lie, as an address below the site's root."""
    return f"api/tasks/{quote(safe_path_segment(task_id))}/"


def forge(repository: str | None) -> str:
    """The forge that the board lives on, where its owners have their pages; empty where nobody knows it."""
    found = urlsplit(repository or "")
    return f"{found.scheme}://{found.netloc}" if found.netloc else ""


def entry_marks(scale: ChartScale) -> str:
    """The marks of a scale, for the script that draws the same bars."""
    return " ".join(map(repr, scale.marks))


def statistical_ties(board: TaskStandings) -> str | None:
    """The resolution of a board as its numbers are written; None where nothing can be said of it."""
    if any_sealed(row.result for row in board.rows):
        return None
    found = smallest_difference(row.estimate for row in board.rows)
    if found is None or found < 0.5 * 10 ** -digits(board.task):
        return None
    return number(found, digits(board.task))


def task_history(board: TaskStandings, history: BoardHistory) -> TaskHistory | None:
    """The history of a board; None before there are two days."""
    records, tracks = history.progress(board), history.standing(board)
    times = [one.at for one in records] + [at for track in tracks for at, _ in track.places]
    if not records or day(min(times)) == day(max(times)):
        return None
    ends = (min(times), max(times))
    return TaskHistory(
        best=history_charts.progress_picture(records, ends, digits(board.task)),
        records=records[: -RECORDS - 1 : -1],
        places=history_charts.standing_picture(tracks, ends) if tracks else None,
        tracks=tracks,
    )


Templates = Environment
"""Jinja has one owner: this module."""
TEMPLATES = Path(__file__).with_name("templates")


def render_pages(standings: Standings, context: PageContext, past: BoardHistory | None = None) -> dict[str, str]:
    """All pages that MkDocs makes or copies: path below the pages' folder to Markdown; the pages of duels are HTML.

    The pages of agents are too many for it: `leaderboard.agent_pages` makes them. The history is taken from `past`, where
    somebody has it already.
    """
    show = TemplateRenderer(standings, context, past=past)
    pages = {html_frame.PAGE: html_frame.SOURCE}
    pages[urls.HOME] = show.page(urls.HOME, "home.md.jinja")
    pages[urls.TASKS] = show.page(urls.TASKS, "tasks.md.jinja")
    pages[urls.OVERALL] = show.page(urls.OVERALL, "overall.md.jinja")
    pages[urls.LEDGER] = show.page(urls.LEDGER, "ledger.md.jinja", ledger=moderation_log.moderation_log(standings, context))
    pages[urls.COMPARE] = show.page(urls.COMPARE, "compare.md.jinja")
    pages[urls.STATUS] = show.page(urls.STATUS, "status.md.jinja")
    pages[samples.PAGE] = show.page(samples.PAGE, "states.md.jinja", shown=samples.rendered_samples())
    pages[page_renderer.PAGE] = page_renderer.form_rules(standings, context)
    for board in standings.tasks:
        path = urls.task_page(board.task.id)
        scale = interval_chart.task_scale(board.task, (row.estimate for row in board.rows))
        pages[path] = show.page(path, "task.md.jinja", board=board, task=board.task, scale=scale)
    for game in standings.games:
        pages |= game_page.render_game_pages(game, show.page, context.frames)
    for task in context.hidden:
        path = urls.task_page(task.id)
        phase = standings.challenge.phase_of(task.id)
        pages[path] = show.page(path, "hidden.md.jinja", task=task, phase=phase)
    return pages


class TemplateRenderer:
    """Templates with everything at hand that pages of one board share."""

    def __init__(
        self, standings: Standings, context: PageContext, made: Environment | None = None, past: BoardHistory | None = None
    ) -> None:
        self._environment = made or _markdown()
        self._shared = {
            "standings": standings,
            "challenge": standings.challenge,
            "context": context,
            "repository": context.repository or standings.challenge.repository,
            "history": past or BoardHistory(standings, context.results),
            "gone_pages": {urls.agent_page(gone.login, gone.agent) for gone in context.departed},
            "sealed": any(any_sealed(row.result for row in board.rows) for board in standings.tasks),
            "unshown": {asked.name for asked in standings.challenge.people.fields if not asked.shown},
            "phases": format.shown_phases(standings.challenge, context.now),
            "weighted": _weighted(standings.challenge.solo_tasks),
            "overall_scale": interval_chart.chart_scale((row.estimate for row in standings.overall), [0.0, 1.0]),
        }

    def page(self, path: str, template: str, **values: Any) -> str:
        """One page."""
        return self._environment.get_template(template).render(here=path, **self._shared, **values)

    def macro(self, template: str, name: str, **values: Any) -> Callable[..., str]:
        """A macro of a template, for thousands of pages: what they share is looked up now and not for each."""
        made: Callable[..., str] = getattr(
            self._environment.get_template(template).make_module({**self._shared, **values}), name
        )
        return made


@functools.cache
def _markdown() -> Environment:
    """That of Markdown pages, one for all boards: compiling its templates takes longer than a small board's pages."""
    return template_environment()


def template_environment(finalize: Callable[[object], Markup] = escape_markdown.escape) -> Environment:
    """Jinja such that whatever a template prints goes through `finalize`, unless our own code made it."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        number=format.number, plain=format.plain, size=format.size, seconds=format.seconds, day=format.day,
        short=format.short, paragraphs=escape_markdown.paragraphs, preformatted=escape_markdown.preformatted,
        link=escape_markdown.link,
        in_plain_words=in_plain_words, summary=score_summary, settings=task_settings, moment=format.format_utc,
        measures=metrics.measures, segment=safe_path_segment,
    )  # fmt: skip
    made.globals.update(
        secret_hash=secret_hash,
        span=format.span, ranks=format.ranks, counted=format.counted, href=urls.href, task_page=urls.task_page,
        agent_page=urls.agent_page, owner_url=urls.owner_url, folder_url=urls.folder_url,
        result_url=urls.result_url, commit_url=urls.commit_url, interval=interval_chart.interval_svg,
        duel_page=urls.duel_page, up=urls.up, rating_scale=rating_charts.rating_scale,
        rating_estimate=rating_charts.rating_estimate, rating_history=rating_charts.rating_history,
        crosstable=game_page.crosstable, CROSSTABLE=game_page.CROSSTABLE, last_position=game_page.last_position,
        ranking=metrics.ranking, others=metrics.other_metrics, digits=metrics.digits, arrow=metrics.arrow,
        better=metrics.better,
        learning_curve=interval_chart.learning_curve_svg, curve_ends=interval_chart.curve_ends,
        is_other_claim=interval_chart.is_other_claim,
        task_file=serialise.task_file, address=serialise.address,
        documents=page_renderer.task_documents, scale_marks=page_renderer.entry_marks,
        told_apart=page_renderer.statistical_ties,
        task_past=page_renderer.task_history, forge=page_renderer.forge, FIRST=page_renderer.FIRST,
        histogram=interval_chart.returns_histogram, strip=_strip, task_scale=interval_chart.task_scale,
    )  # fmt: skip
    made.globals.update(home_page.GLOBALS)
    return made


def _weighted(tasks: Sequence[Task]) -> list[Task]:
    """The tasks of the overall board, if their weights differ."""
    counted = [task for task in tasks if task.random and task.reference]
    return counted if len({task.weight for task in counted}) > 1 else []


def _strip(row: OverallRow, tasks: Sequence[Task]) -> Markup:
    return interval_chart.task_strip([(task.title or task.id, row.normalised.get(task.id)) for task in tasks])


def score_summary(returns: Sequence[float]) -> list[tuple[str, float]]:
    """The returns in a few numbers."""
    quarters = statistics.quantiles(returns, n=4, method="inclusive") if len(returns) > 1 else [returns[0]] * 3
    return [
        ("mean", statistics.fmean(returns)),
        ("standard deviation", statistics.pstdev(returns)),
        ("least", min(returns)),
        ("lower quartile", quarters[0]),
        ("median", quarters[1]),
        ("upper quartile", quarters[2]),
        ("greatest", max(returns)),
    ]


def task_settings(task: Task) -> list[tuple[str, str]]:
    """What is measured, setting by setting, in words."""
    measured = {**task.measured(), "lanes": f"{task.lanes.shared} shared, {task.lanes.separate} separate"}
    names = {"env": "environment", "kwargs": "arguments", "max_episode_steps": "time limit", "lanes": "episodes at once"}
    names["functions"] = "own metrics"
    return [(names.get(name, name.replace("_", " ")), _words(name, value)) for name, value in measured.items()]


def _words(name: str, value: Any) -> str:
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


# Rows of each table; the archived board has them all.
SHOWN = 10


@dataclass(frozen=True, kw_only=True)
class Freeze:
    """How a season ended."""

    at: str
    """When, in UTC."""
    by: str
    """Who signs for it."""
    results: int
    """Results and duels that were verified."""
    stale: int
    """Recorded under settings of a task that changed later; they rank nowhere."""
    steps: int
    """Environment steps that were replayed."""
    manifest_sha256: str
    """Hash of the archive's list of hashes."""
    archive: str
    """The archive's file name."""
    archive_sha256: str
    """The archive's hash."""
    bibtex: str
    """How it is cited."""
    revealed: str | None = None
    """The secret of a sealed season."""


def season_page(standings: Standings, freeze: Freeze) -> str:
    """The page as Markdown, to lie beside the archived board."""
    template = template_environment().get_template("season.md.jinja")
    return template.render(standings=standings, challenge=standings.challenge, freeze=freeze, few=SHOWN)
