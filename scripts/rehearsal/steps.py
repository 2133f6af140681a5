"""One step after the other: each waits until it sees what it expects, for a bounded time, and says so in one line."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from leaderboard.text.escape_markdown import cell
from scripts.console import SUBMISSION_AT_FAULT, CommandError
from scripts.rehearsal.observations import Observation, ObservedState

PAUSE = 10.0
BEGIN, PREVIEW, SOON, OFFICIAL = 10.0, 75.0, 15.0, 180.0
"""Minutes: until GitHub begins a run, for a preview, for what follows from a run at once, for an official run."""


@dataclass(frozen=True, kw_only=True)
class StepClock:
    """What time it is, and how to let it pass."""

    now: Callable[[], float] = time.monotonic
    """Seconds from any beginning."""
    pause: Callable[[float], None] = time.sleep
    """Wait so many seconds."""
    day: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """A step that was done."""

    at: str
    name: str
    expected: str
    seen: str
    seconds: float
    """How long it was waited for."""

    @property
    def text(self) -> str:
        """As the command prints it."""
        return f"{self.at}  {self.name} ({self.seconds:.0f} s): expected {self.expected}; seen: {self.seen}"


@dataclass(kw_only=True)
class StepRunner:
    """The steps of one call of the command."""

    clock: StepClock
    say: Callable[[str], None]
    minutes: float | None = None
    """The longest wait of every step, instead of each step's own."""
    lines: list[StepLine] = field(default_factory=list)

    def wait(self, name: str, expected: str, look: Callable[[], Observation], minutes: float, advice: str) -> str:
        """Look until it is there; returns what was seen.

        Raises:
            CommandError: something else is there, or it did not come within `minutes`; one line with what to do.
        """
        limit = self.minutes if self.minutes is not None else minutes
        begun = self.clock.now()
        while True:
            seen = look()
            waited = self.clock.now() - begun
            if seen.state is ObservedState.SEEN:
                self.note(name, expected, seen.words, waited)
                return seen.words
            if seen.state is ObservedState.WRONG:
                raise CommandError(SUBMISSION_AT_FAULT, f"{name}: expected {expected}; seen: {seen.words}. {advice}")
            if waited >= limit * 60:
                line = f"{name}: expected {expected}, within {limit:g} minutes; last seen: {seen.words}. {advice}"
                raise CommandError(SUBMISSION_AT_FAULT, line)
            self.clock.pause(PAUSE)

    def note(self, name: str, expected: str, seen: str, seconds: float = 0.0) -> None:
        """A step that needs no waiting is done."""
        at = self.clock.day().strftime("%H:%M:%S")
        self.lines.append(StepLine(at=at, name=name, expected=expected, seen=seen, seconds=seconds))
        self.say(self.lines[-1].text)

    def table(self) -> str:
        """The lines as a table for a comment on GitHub."""
        rows = [
            f"| {one.at} | {one.name} | {cell(one.expected)} | {cell(one.seen)} | {one.seconds:.0f} s |"
            for one in self.lines
        ]
        return "\n".join(["| UTC | Step | Expected | Seen | Waited |", "|---|---|---|---|---|", *rows])
