"""The templates of pages: their environment, the values that all pages share, and the functions that templates call."""

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import secret_hash
from leaderboard.api.table_columns import TABLE_ROWS
from leaderboard.charts import agent_charts, interval_charts
from leaderboard.charts.interval_charts import ChartScale
from leaderboard.core.eligibility import is_official
from leaderboard.core.entry import INTERVAL_NAME, Entry
from leaderboard.core.game_standings import GameStandings, shown_duels
from leaderboard.core.standings import OverallRow, Standings, TaskStandings, results_of
from leaderboard.games import won_matches
from leaderboard.pages import duel_page, episode_replays, home_page
from leaderboard.scoring import metrics
from leaderboard.scoring.metrics import any_sealed
from leaderboard.scoring.score_all import LEAST_COUNTED, MOST_COUNTED
from leaderboard.site_context import SiteContext
from leaderboard.text import escape_markdown, format, phases, serialise, urls
from leaderboard.text.format import number

PAGE_TEMPLATES = Path(__file__).with_name("templates")
# For other modules: only this one imports Jinja.
Templates = Environment
_DATED = re.compile(r"\d{4}-\d\d-\d\d")


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
            "gone_pages": {urls.agent_page(gone.login, gone.agent) for gone in context.former_entries},
            "sealed": any(any_sealed(row.result for row in board.rows) for board in standings.tasks),
            "unshown": {field.name for field in standings.challenge.people.fields if not field.shown},
            "phases": phases.shown_phases(standings.challenge, context.now),
            "mixed": not standings.official and has_official(standings),
            "not_open": functools.partial(phases.not_open, standings.challenge, context.now),
            "weighted": _weighted(standings.challenge.solo_tasks),
            "replayed": tasks_with_replays(standings, context),
            "overall_scale": interval_charts.chart_scale((row.estimate for row in standings.overall), [0.0, 1.0]),
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
    # By the module that has them.
    environment.filters.update(
        number=escape_markdown.unbroken(format.number), paragraphs=escape_markdown.paragraphs,
        preformatted=escape_markdown.preformatted, link=escape_markdown.link,
        plain=format.plain, size=format.size, seconds=format.seconds, day=format.day, short=format.short,
        moment=format.format_utc,
        settings=task_settings, measures=metrics.measures, segment=safe_path_segment,
    )  # fmt: skip
    environment.globals.update(
        span=escape_markdown.unbroken(format.span), ranks=format.ranks, quantity=format.quantity,
        tries_mark=format.tries_mark, superseded_reason=format.superseded_reason, no_place_reason=format.no_place_reason,
        is_tied=format.is_tied, entry_tags=format.entry_tags, row_marks=format.row_marks,
        RANK_INTERVAL=format.RANK_INTERVAL,
        href=urls.href, up=urls.up, page_address=urls.address, address=quote, task_page=urls.task_page,
        task_file=urls.task_file, documents=urls.task_documents, agent_page=urls.agent_page, duel_page=urls.duel_page,
        owner_url=urls.owner_url, folder_url=urls.folder_url, result_url=urls.result_url, commit_url=urls.commit_url,
        ranking_metric=metrics.ranking_metric, others=metrics.other_metrics, digits=metrics.digits, arrow=metrics.arrow,
        better=metrics.better,
        interval_bar=interval_charts.interval_svg, score_plot=interval_charts.score_plot,
        rating_plot=interval_charts.rating_plot, rating_scale=interval_charts.rating_scale,
        task_scale=interval_charts.task_scale, has_arrows=interval_charts.has_arrows,
        claim_differs=metrics.claim_differs,
        learning_curve=agent_charts.learning_curve_svg, curve_ends=agent_charts.curve_ends,
        replay_poster=episode_replays.replay_poster, replay_attributes=episode_replays.replay_attributes,
        last_position=duel_page.last_position,
        secret_hash=secret_hash, is_official=is_official, TABLE_ROWS=TABLE_ROWS, INTERVAL_NAME=INTERVAL_NAME,
        LEAST_COUNTED=LEAST_COUNTED, MOST_COUNTED=MOST_COUNTED,
        awaited=_awaited, refused=_refused, strip=_strip, citation=citation, forge_url=forge_url, heat=heat,
        verdict_tag=verdict_tag, scale_marks=scale_marks, span_ends=scale_ends,
    )  # fmt: skip
    environment.globals.update(home_page.HOME_GLOBALS)
    return environment


def has_official(standings: Standings) -> bool:
    """Whether official records are among those that count."""
    duels = (duel for game in standings.games for duel in shown_duels(game))
    return any(map(is_official, results_of(standings))) or any(map(is_official, duels))


def _awaited(board: TaskStandings | GameStandings) -> list[Entry]:
    """The waiting entries of a leaderboard that get a result."""
    return [entry for entry in board.waiting if not entry.refused.get(board.task.id)]


def _refused(board: TaskStandings | GameStandings) -> list[Entry]:
    """The waiting entries of a leaderboard whose version gets none."""
    return [entry for entry in board.waiting if entry.refused.get(board.task.id)]


def tasks_with_replays(standings: Standings, context: SiteContext) -> set[str]:
    """The tasks and games whose pages show a replay, to which others link."""
    tasks = {board.task.id for board in standings.tasks if episode_replays.task_replays(board, context.episodes)}
    return tasks | {board.task.id for board in standings.games if won_matches.won_matches(board)}


def _weighted(tasks: Sequence[Task]) -> list[Task]:
    """The tasks of the overall leaderboard, if their weights differ."""
    counted = [task for task in tasks if task.random and task.reference]
    return counted if len({task.weight for task in counted}) > 1 else []


def _strip(row: OverallRow, tasks: Sequence[Task]) -> Markup:
    return interval_charts.task_strip([(task.title or task.id, row.normalised.get(task.id)) for task in tasks])


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


@functools.cache
def verdict_tag(verdict: str) -> Markup:
    """A verdict, or the word of what was refused or waits, in its colour."""
    style = "ok" if verdict == Verdict.OK else "ours" if verdict == Verdict.INTERNAL_ERROR else "bad"
    return Markup('<span class="pr-verdict pr-verdict-{}">{}</span>').format(style, verdict)


def heat(value: float | None) -> int:
    """The tint of a normalised score in a heat map, from 0 to 5: from random or worse to the reference or better."""
    return 0 if value is None else round(5 * min(1.0, max(0.0, value)))


def task_settings(task: Task) -> list[tuple[str, str]]:
    """Name and value of each setting that decides the score, in words."""
    measured = {**task.measured(), "lanes": f"{task.lanes.shared} shared, {task.lanes.separate} separate"}
    names = {"env": "environment", "kwargs": "arguments", "max_episode_steps": "time limit", "lanes": "episodes at once"}
    if task.script:
        measured["script"] = _script_rules(task.script)
    names["functions"] = "own metrics"
    return [(names.get(name, name.replace("_", " ")), _setting(name, value)) for name, value in measured.items()]


def _script_rules(rules: ScriptRules) -> str:
    numbers = (("steps", rules.steps), ("last", rules.last), ("worst", format.plain(rules.worst)), ("window", rules.window))
    listed = ["scores that the referee did not measure are listed"] if rules.self_reported else []
    return ", ".join([*(f"{name} {number}" for name, number in numbers), *listed])


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


def citation(challenge: Challenge, context: SiteContext, task: str, path: str) -> str:
    """BibTeX of a page at `path` below the site's root, of one task if `task` is not empty; empty without a build date."""
    if not _DATED.match(context.generated_at):
        return ""
    commit = f" from commit {context.commit}" if context.commit else ""
    return serialise.misc_entry(
        [challenge.title, challenge.season, task],
        title=f"{task}, {challenge.title}, season {challenge.season}"
        if task
        else f"{challenge.title}, season {challenge.season}",
        author=" and ".join(challenge.people.hosts) or f"The hosts of {challenge.title}",
        date=context.generated_at,
        address=f"{context.site_url}{path}" if context.site_url else context.repository or challenge.repository,
        note=f"Built {context.generated_at}{commit}",
    )
