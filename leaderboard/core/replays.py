"""Rendered matches and episodes: what the site replays as pictures."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ReplayFrames:
    """The frames of one match, rendered by its environment: one before each move and one at the end."""

    texts: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    """Addresses `data:image/png;base64,…`, used if there are no texts."""
    movers: tuple[int, ...] = ()
    """The side that made each move."""


AllFrames = Mapping[tuple[str, int], ReplayFrames]
"""By the duel's key and the match's index."""


@dataclass(frozen=True, kw_only=True)
class EpisodeReplay:
    """One recorded episode, rendered from its trace."""

    which: str
    """`best`, `median` or `worst`."""
    number: int
    """The index among the result's episodes, from 0."""
    total: float
    length: int
    file: str
    """The picture with all frames, row by row, as a path below the site's root."""
    columns: int
    """Frames in each row of the picture; the last row is filled with the last frame."""
    width: int
    """Of one frame, in pixels."""
    height: int
    """Of one frame, in pixels."""
    steps: tuple[int, ...]
    """The step of each frame, from 0."""

    @property
    def rows(self) -> int:
        """Number of rows in the picture."""
        return -(-len(self.steps) // self.columns)


Episodes = Mapping[str, tuple[EpisodeReplay, ...]]
"""By the result's key: the replays there are of best, median and worst. Empty if the environment cannot render or renders
something else than was recorded. A result without a key here is not among the best."""
