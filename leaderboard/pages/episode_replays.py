"""Episodes that pages show as moving pictures: which are chosen, what is known of each, and how a page holds it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from leaderboard.core.standings import Row, Standings, TaskStandings
from leaderboard.scoring.metrics import oriented_return
from leaderboard.text import format

# So many entries of each task are shown.
BEST = 10
FOLDER = "episodes"
# Which a result's are, in the order in which a page shows them.
WHICH = ("best", "median", "worst")


@dataclass(frozen=True, kw_only=True)
class EpisodeReplay:
    """One recorded episode, rendered from its trace."""

    which: str
    """Which of its result's: `best`, `median` or `worst`."""
    number: int
    """Its index among the result's episodes, from 0."""
    total: float
    """Its return."""
    length: int
    """Its steps."""
    file: str
    """The picture that holds all frames, row by row, as a path below the site's root."""
    columns: int
    """Frames in each row of the picture; the last row is filled with the last frame."""
    width: int
    """Of one frame, in pixels."""
    height: int
    """Of one frame, in pixels."""
    steps: tuple[int, ...]
    """After how many steps each frame was taken, from 0."""

    @property
    def rows(self) -> int:
        """Rows of the picture."""
        return -(-len(self.steps) // self.columns)


Episodes = Mapping[str, tuple[EpisodeReplay, ...]]
"""By the result's key: best, median and worst, those that there are. Empty where there can be none: the environment
renders nothing, or not what was recorded. A key that is not here is of a result that is not among the best."""


def shown_replays(standings: Standings) -> Iterator[tuple[TaskStandings, Row]]:
    """The entries whose episodes are shown: the best of each task that is played alone."""
    for board in standings.tasks:
        rows = [row for row in board.rows if not row.estimate.is_missing and row.result.returns]
        shown, best = rows[:BEST], board.best
        if best is not None and best.result.returns and all(row is not best for row in shown):
            shown.append(best)
        yield from ((board, row) for row in shown)


def chosen_results(result: Result, task: Task) -> tuple[tuple[str, int], ...]:
    """Best, median and worst of a result's episodes by their return, the earlier of equal ones; each at most once."""
    returns = result.returns
    order = sorted(_finished(result), key=lambda index: (-oriented_return(task, returns[index]), index))
    if not order:
        return ()
    found = {"best": order[0]}
    for which, index in (("worst", _last(order, returns)), ("median", _middle(order, returns))):
        if index not in found.values():
            found[which] = index
    return tuple((which, found[which]) for which in WHICH if which in found)


def _finished(result: Result) -> Sequence[int]:
    """The episodes that were played to their end: of a script's some may be missing."""
    everything = range(len(result.returns))
    if result.script is None:
        return everything
    first, left = result.script.first(len(result.returns)), set(result.script.unfinished)
    return [i for i in everything if first + i < len(result.script.lengths) and first + i not in left]


def _middle(order: Sequence[int], returns: Sequence[float]) -> int:
    """The episode in the middle; where many are equal, one that is neither the best nor the worst."""
    same = [index for index in order if returns[index] == returns[order[len(order) // 2]]]
    return next((index for index in same if index not in (order[0], _last(order, returns))), same[0])


def _last(order: Sequence[int], returns: Sequence[float]) -> int:
    """The worst episode; where many are equal, the last of them, so that it is another than the others."""
    return max(index for index in order if returns[index] == returns[order[-1]])


def replay_figure(episode: EpisodeReplay, root: str, decimals: int | None = None) -> Markup:
    """An episode as a figure that `episode.js` makes a player of; without a script it is the first picture.

    `root` leads from the page to the site's root.
    """
    total = format.plain(episode.total) if decimals is None else format.number(episode.total, decimals)
    said = f"return {total}, {format.counted(episode.length, 'step')}"
    return Markup(
        '<figure class="pr-episode" data-columns="{columns}" data-frames="{frames}" data-width="{width}"'
        ' data-height="{height}" data-steps="{steps}">{screen}'
        "<figcaption><b>{which} episode</b> <span>{said}</span></figcaption></figure>"
    ).format(
        columns=episode.columns, frames=len(episode.steps), width=episode.width, height=episode.height,
        steps=",".join(map(str, episode.steps)),
        screen=_screen(episode, root, "pr-screen", f"{_called(episode)}: its first picture"),
        which=episode.which.capitalize(), said=said,
    )  # fmt: skip


def replay_thumbnail(episode: EpisodeReplay, root: str) -> Markup:
    """An episode as a small picture that moves without a script, and stands still where a reader wants that."""
    return _screen(episode, root, "pr-screen pr-moving", _called(episode))


def _called(episode: EpisodeReplay) -> str:
    return f"the {episode.which} episode" if episode.which != "median" else "a median episode"


def _screen(episode: EpisodeReplay, root: str, classes: str, alt: str) -> Markup:
    """A window of one frame's size on the picture of all frames; the inner element moves by rows, the picture by columns."""
    return Markup(
        '<span class="{classes}" style="--pr-columns:{columns};--pr-rows:{rows};aspect-ratio:{width}/{height}">'
        '<span><img src="{src}" alt="{alt}" width="{whole_width}" height="{whole_height}" loading="lazy"></span></span>'
    ).format(
        classes=classes, columns=episode.columns, rows=episode.rows, width=episode.width, height=episode.height,
        src=f"{root}{episode.file}", alt=alt,
        whole_width=episode.columns * episode.width, whole_height=episode.rows * episode.height,
    )  # fmt: skip
