"""Recorded episodes that pages replay as pictures: which are chosen, and their HTML."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from leaderboard.core.standings import Standings, TaskRow, TaskStandings
from leaderboard.scoring.metrics import oriented_return
from leaderboard.site_context import REPLAYED_ENTRIES, EpisodeReplay, Episodes
from leaderboard.text import format

EPISODES_FOLDER = "episodes"
# The replays of a result, in the order in which a page shows them.
WHICH = ("best", "median", "worst")


def shown_replays(standings: Standings) -> Iterator[tuple[TaskStandings, TaskRow]]:
    """The entries whose episodes are shown: the best of each task that is not a game."""
    for board in standings.tasks:
        rows = [row for row in board.rows if not row.estimate.is_missing and row.result.returns]
        shown, best = rows[:REPLAYED_ENTRIES], board.best
        if best is not None and best.result.returns and all(row is not best for row in shown):
            shown.append(best)
        yield from ((board, row) for row in shown)


@dataclass(frozen=True, kw_only=True)
class TaskReplay:
    """An entry's episode that `leader-replay.js` plays on the page of a task."""

    row: TaskRow
    episode: EpisodeReplay


def typical_episode(episodes: Sequence[EpisodeReplay]) -> EpisodeReplay | None:
    """The median episode: the best one is often the luckiest start. Where there is no median, the first of the others."""
    return next((episode for episode in episodes if episode.which == "median"), next(iter(episodes), None))


def task_replays(board: TaskStandings, episodes: Episodes) -> tuple[TaskReplay, ...]:
    """The replays of a task's entries in the order of the table, those with a place of their own first."""
    replays = [
        TaskReplay(row=row, episode=episode)
        for row in board.rows
        if (episode := typical_episode(episodes.get(row.result.key, ()))) is not None
    ]
    return tuple(sorted(replays, key=lambda replay: replay.row.is_unranked))


def posters(standings: Standings, episodes: Episodes) -> Iterator[EpisodeReplay]:
    """The episodes that pages show by a poster: the first replay of each task."""
    for board in standings.tasks:
        yield from (replay.episode for replay in task_replays(board, episodes)[:1])


def chosen_episodes(result: Result, task: Task) -> tuple[tuple[str, int], ...]:
    """The best, median and worst episode by return, without duplicates; of equal returns the earlier one."""
    returns = result.returns
    order = sorted(_finished(result), key=lambda index: (-oriented_return(task, returns[index]), index))
    if not order:
        return ()
    chosen = {"best": order[0]}
    for which, index in (("worst", _last(order, returns)), ("median", _middle(order, returns))):
        if index not in chosen.values():
            chosen[which] = index
    return tuple((which, chosen[which]) for which in WHICH if which in chosen)


def _finished(result: Result) -> Sequence[int]:
    """The indices of finished episodes; a training script may leave some unfinished."""
    indices = range(len(result.returns))
    if result.script is None:
        return indices
    first, unfinished = result.script.first(len(result.returns)), set(result.script.unfinished)
    return [i for i in indices if first + i < len(result.script.lengths) and first + i not in unfinished]


def _middle(order: Sequence[int], returns: Sequence[float]) -> int:
    """The median episode; among equal returns, if possible one that is neither the best nor the worst."""
    same = [index for index in order if returns[index] == returns[order[len(order) // 2]]]
    return next((index for index in same if index not in (order[0], _last(order, returns))), same[0])


def _last(order: Sequence[int], returns: Sequence[float]) -> int:
    """The worst episode; of equal returns the last one, so that it differs from the others."""
    return max(index for index in order if returns[index] == returns[order[-1]])


def replay_figure(episode: EpisodeReplay, root: str, decimals: int | None = None) -> Markup:
    """An episode as a figure that `episode-player.js` turns into a player; without JavaScript it shows the first frame.

    `root` is the relative address of the site's root.
    """
    total = format.plain(episode.total) if decimals is None else format.number(episode.total, decimals)
    caption = f"return {total}, {format.quantity(episode.length, 'step')}"
    return Markup(
        '<figure class="pr-episode" {facts}>{screen}'
        "<figcaption><b>{which} episode</b> <span>{caption}</span></figcaption></figure>"
    ).format(
        facts=_facts(episode),
        screen=_frame_window(episode, root, "pr-screen", f"{_label(episode)}: its first picture"),
        which=episode.which.capitalize(), caption=caption,
    )  # fmt: skip


def replay_thumbnail(episode: EpisodeReplay, root: str) -> Markup:
    """An episode as a small animation without JavaScript; it stands still for readers who prefer reduced motion."""
    return _frame_window(episode, root, "pr-screen pr-moving", _label(episode))


def replay_poster(episode: EpisodeReplay, root: str) -> Markup:
    """The first frame of a replay, in the window in which `leader-replay.js` will play it."""
    return _window(f"{root}{episode.poster}", "pr-screen", f"{_label(episode)}: its first picture", episode, 1, 1)


def replay_attributes(episode: EpisodeReplay, root: str) -> Markup:
    """The attributes from which `leader-replay.js` loads a replay."""
    return Markup('data-replay="{}" {}').format(f"{root}{episode.file}", _facts(episode))


def _facts(episode: EpisodeReplay) -> Markup:
    return Markup('data-columns="{}" data-frames="{}" data-width="{}" data-height="{}" data-steps="{}"').format(
        episode.columns, len(episode.steps), episode.width, episode.height, ",".join(map(str, episode.steps))
    )


def _label(episode: EpisodeReplay) -> str:
    return f"the {episode.which} episode" if episode.which != "median" else "a median episode"


def _frame_window(episode: EpisodeReplay, root: str, classes: str, alt: str) -> Markup:
    return _window(f"{root}{episode.file}", classes, alt, episode, episode.columns, episode.rows)


def _window(src: str, classes: str, alt: str, episode: EpisodeReplay, columns: int, rows: int) -> Markup:
    """A window with the size of one frame; the inner element moves by rows, the picture in it by columns."""
    return Markup(
        '<span class="{classes}" style="--pr-columns:{columns};--pr-rows:{rows};aspect-ratio:{width}/{height}">'
        '<span><img src="{src}" alt="{alt}" width="{sheet_width}" height="{sheet_height}" loading="lazy"></span></span>'
    ).format(
        classes=classes, columns=columns, rows=rows, width=episode.width, height=episode.height, src=src, alt=alt,
        sheet_width=columns * episode.width, sheet_height=rows * episode.height,
    )  # fmt: skip
