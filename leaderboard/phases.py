"""What pages say of a season's phases."""

from dataclasses import dataclass
from datetime import datetime

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import Phase, moment


@dataclass(frozen=True, kw_only=True)
class ShownPhase:
    """A phase on the home page."""

    phase: Phase
    """Its rules."""
    state: str
    """`open`, `begins`, `ended`, `closed by the hosts`; empty where no moment is given."""
    dates: str
    """From when until when."""
    who: str
    """Who may enter."""
    hidden_until: str | None
    """Until when its boards are hidden; None where they are shown."""


def stamp(instant: str) -> str:
    """A moment as people are told it."""
    return f"{moment(instant):%Y-%m-%d %H:%M} UTC"


def shown(challenge: Challenge, now: datetime | None) -> tuple[ShownPhase, ...]:
    """All phases in order."""
    return tuple(_shown(phase, now) for phase in challenge.phases)


def _shown(phase: Phase, now: datetime | None) -> ShownPhase:
    parts = [f"from {stamp(phase.start)}"] if phase.start else []
    parts += [f"until {stamp(phase.end)}"] if phase.end else []
    whom = [*(["an allow list"] if phase.allow else []), *phase.teams]
    is_hidden = now is not None and phase.public_from is not None and not phase.is_shown(now)
    return ShownPhase(
        phase=phase, state=_state(phase, now), dates=" ".join(parts) or "always",
        who=f"members of {', '.join(whom)}".replace("members of an allow list", "an allow list") if whom else "everybody",
        hidden_until=stamp(phase.public_from) if is_hidden and phase.public_from else None,
    )  # fmt: skip


def _state(phase: Phase, now: datetime | None) -> str:
    if not phase.active:
        return "closed by the hosts"
    if now is None:
        return ""
    return "begins later" if phase.is_before(now) else "ended" if phase.is_over(now) else "open"
