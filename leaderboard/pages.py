"""The board as Markdown pages: a function of the standings, for MkDocs to publish."""

import functools
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.verdict import in_plain_words
from evaluator.model.sealed_fields import secret_hash
from leaderboard import figures, game_figures, game_pages, home, ledger, script_figures, shell, submitting, task_pages
from leaderboard.comments import samples
from leaderboard.context import PageContext as PageContext
from leaderboard.core.standings import OverallRow, Standings
from leaderboard.history import History
from leaderboard.scoring import metrics
from leaderboard.scoring.metrics import is_any_sealed
from leaderboard.text import escape_markdown, format, serialise, urls

Templates = Environment
"""Jinja has one owner: this module."""
TEMPLATES = Path(__file__).with_name("templates")


def render(standings: Standings, context: PageContext, past: History | None = None) -> dict[str, str]:
    """All pages that MkDocs makes or copies: path below the pages' folder to Markdown; the pages of duels are HTML.

    The pages of agents are too many for it: `leaderboard.agent_pages` makes them. The history is taken from `past`, where
    somebody has it already.
    """
    show = Press(standings, context, past=past)
    pages = {shell.PAGE: shell.SOURCE}
    pages[urls.HOME] = show.page(urls.HOME, "home.md.jinja")
    pages[urls.TASKS] = show.page(urls.TASKS, "tasks.md.jinja")
    pages[urls.OVERALL] = show.page(urls.OVERALL, "overall.md.jinja")
    pages[urls.LEDGER] = show.page(urls.LEDGER, "ledger.md.jinja", ledger=ledger.ledger(standings, context))
    pages[urls.COMPARE] = show.page(urls.COMPARE, "compare.md.jinja")
    pages[urls.STATUS] = show.page(urls.STATUS, "status.md.jinja")
    pages[samples.PAGE] = show.page(samples.PAGE, "states.md.jinja", shown=samples.shown())
    pages[submitting.PAGE] = submitting.form(standings, context)
    for board in standings.tasks:
        path = urls.task_page(board.task.id)
        scale = figures.task_scale(board.task, (row.estimate for row in board.rows))
        pages[path] = show.page(path, "task.md.jinja", board=board, task=board.task, scale=scale)
    for game in standings.games:
        pages |= game_pages.render(game, show.page, context.frames)
    for task in context.hidden:
        path = urls.task_page(task.id)
        phase = standings.challenge.phase_of(task.id)
        pages[path] = show.page(path, "hidden.md.jinja", task=task, phase=phase)
    return pages


class Press:
    """Templates with everything at hand that pages of one board share."""

    def __init__(
        self, standings: Standings, context: PageContext, made: Environment | None = None, past: History | None = None
    ) -> None:
        self._environment = made or _markdown()
        self._shared = {
            "standings": standings,
            "challenge": standings.challenge,
            "context": context,
            "repository": context.repository or standings.challenge.repository,
            "history": past or History(standings, context.results),
            "gone_pages": {urls.agent_page(gone.login, gone.agent) for gone in context.departed},
            "sealed": any(is_any_sealed(row.result for row in board.rows) for board in standings.tasks),
            "unshown": {asked.name for asked in standings.challenge.people.fields if not asked.shown},
            "phases": format.shown(standings.challenge, context.now),
            "weighted": _weighted(standings.challenge.solo_tasks),
            "overall_scale": figures.scale_of((row.estimate for row in standings.overall), [0.0, 1.0]),
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
    return environment()


def environment(finalize: Callable[[object], Markup] = escape_markdown.escape) -> Environment:
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
        in_plain_words=in_plain_words, summary=summary, settings=settings, moment=format.stamp,
        measures=metrics.measures, segment=safe_path_segment,
    )  # fmt: skip
    made.globals.update(
        secret_hash=secret_hash,
        span=format.span, ranks=format.ranks, counted=format.counted, href=urls.href, task_page=urls.task_page,
        agent_page=urls.agent_page, owner_url=urls.owner_url, folder_url=urls.folder_url,
        result_url=urls.result_url, commit_url=urls.commit_url, interval=figures.interval,
        duel_page=urls.duel_page, up=urls.up, rating_scale=game_figures.rating_scale,
        rating_estimate=game_figures.rating_estimate, rating_history=game_figures.history,
        crosstable=game_pages.crosstable, CROSSTABLE=game_pages.CROSSTABLE, last_position=game_pages.last_position,
        ranking=metrics.ranking, others=metrics.others, digits=metrics.digits, arrow=metrics.arrow, better=metrics.better,
        learning_curve=script_figures.learning_curve, curve_ends=script_figures.ends,
        is_other_claim=script_figures.is_other_claim,
        task_file=serialise.task_file, address=serialise.address,
        documents=task_pages.documents, scale_marks=task_pages.marks, told_apart=task_pages.told_apart,
        task_past=task_pages.past, forge=task_pages.forge, FIRST=task_pages.FIRST,
        histogram=figures.histogram, strip=_strip, task_scale=figures.task_scale,
    )  # fmt: skip
    made.globals.update(home.GLOBALS)
    return made


def _weighted(tasks: Sequence[Task]) -> list[Task]:
    """The tasks of the overall board, if their weights differ."""
    counted = [task for task in tasks if task.random and task.reference]
    return counted if len({task.weight for task in counted}) > 1 else []


def _strip(row: OverallRow, tasks: Sequence[Task]) -> Markup:
    return figures.strip([(task.title or task.id, row.normalised.get(task.id)) for task in tasks])


def summary(returns: Sequence[float]) -> list[tuple[str, float]]:
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


def settings(task: Task) -> list[tuple[str, str]]:
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
