"""Episodes that pages show as moving pictures: what is known of each, and how a page holds it."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Episode:
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
    """Frames in each row of the picture."""
    width: int
    """Of one frame, in pixels."""
    height: int
    """Of one frame, in pixels."""
    steps: tuple[int, ...]
    """After how many steps each frame was taken, from 0."""


Episodes = Mapping[str, tuple[Episode, ...]]
"""By the result's key: best, median and worst, those that there are."""
