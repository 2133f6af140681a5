"""The steps of a rehearsal: each waits until an observation is as expected, and prints one line."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from leaderboard.text.escape_markdown import cell
from scripts.console import SUBMISSION_AT_FAULT, CommandError
from scripts.rehearsal.observations import Observation, ObservedState

POLL_SECONDS = 10.0
START_MINUTES, PREVIEW_MINUTES, FOLLOW_UP_MINUTES, OFFICIAL_MINUTES = 10.0, 75.0, 15.0, 180.0
"""How long to wait: for a run to start, a preview, what follows a run at once (a comment, a deployment), an official run."""


@dataclass(frozen=True, kw_only=True)
class StepClock:
    """The current time, and waiting; replaced in tests."""

    now: Callable[[], float] = time.monotonic
    """Seconds since an arbitrary start."""
    pause: Callable[[float], None] = time.sleep
    """Waits, in seconds."""
    day: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class StepLine:
    """A finished step."""

    at: str
    name: str
    expected: str
    seen: str
    seconds: float
    """Time waited."""

    @property
    def text(self) -> str:
        """The line that the command prints."""
        return f"{self.at}  {self.name} ({self.seconds:.0f} s): expected {self.expected}; seen: {self.seen}"


@dataclass(kw_only=True)
class StepRunner:
    """The steps of one call of the command."""

    clock: StepClock
    say: Callable[[str], None]
    minutes: float | None = None
    """Time limit of each step, instead of the defaults."""
    lines: list[StepLine] = field(default_factory=list)

    def wait(self, name: str, expected: str, observe: Callable[[], Observation], minutes: float, advice: str) -> str:
        """Observe every 10 seconds until the state is SEEN; returns the observation's text.

        Raises:
            CommandError: the state is WRONG, or not SEEN within `minutes`; the message is one line and ends with `advice`.
        """
        limit = self.minutes if self.minutes is not None else minutes
        started = self.clock.now()
        while True:
            observation = observe()
            waited = self.clock.now() - started
            if observation.state is ObservedState.SEEN:
                self.note(name, expected, observation.text, waited)
                return observation.text
            if observation.state is ObservedState.WRONG:
                raise CommandError(SUBMISSION_AT_FAULT, f"{name}: expected {expected}; seen: {observation.text}. {advice}")
            if waited >= limit * 60:
                line = f"{name}: expected {expected}, within {limit:g} minutes; last seen: {observation.text}. {advice}"
                raise CommandError(SUBMISSION_AT_FAULT, line)
            self.clock.pause(POLL_SECONDS)

    def note(self, name: str, expected: str, seen: str, seconds: float = 0.0) -> None:
        """Print and remember a finished step."""
        at = self.clock.day().strftime("%H:%M:%S")
        self.lines.append(StepLine(at=at, name=name, expected=expected, seen=seen, seconds=seconds))
        self.say(self.lines[-1].text)

    def table(self) -> str:
        """The steps as a Markdown table."""
        rows = [
            f"| {line.at} | {line.name} | {cell(line.expected)} | {cell(line.seen)} | {line.seconds:.0f} s |"
            for line in self.lines
        ]
        return "\n".join(["| UTC | Step | Expected | Seen | Waited |", "|---|---|---|---|---|", *rows])
