"""Phases of a season as readers see them, and why nothing can be entered now."""

from dataclasses import dataclass
from datetime import datetime

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.phase import Phase, PhaseState
from leaderboard.text.format import format_utc


@dataclass(frozen=True, kw_only=True)
class ShownPhase:
    """A phase on the home page."""

    phase: Phase
    state: PhaseState | None
    """None without a moment, if the hosts did not close it."""
    dates: str
    who: str
    """Who may enter."""
    hidden_until: str | None
    """None if its leaderboards are shown."""


def shown_phases(challenge: Challenge, now: datetime | None) -> tuple[ShownPhase, ...]:
    """All phases in order; all have ended where submissions have."""
    return tuple(_shown(phase, now, is_final=challenge.is_final) for phase in challenge.phases)


def not_open(challenge: Challenge, now: datetime | None, task_id: str = "") -> str:
    """Why no version that comes now counts on a task, or on any task if none is named; empty where one does."""
    if challenge.is_final:
        return f"The submissions of season {challenge.season} have ended."
    if not task_id:
        is_open = any(not not_open(challenge, now, task.id) for task in challenge.tasks)
        return "" if is_open or not challenge.tasks else "No phase is open now."
    phase = challenge.phase_of(task_id)
    if phase is None:
        return ""
    match _state(phase, now, is_final=False):
        case PhaseState.CLOSED:
            return f"The hosts closed the phase {phase.name}."
        case PhaseState.BEGINS_LATER:
            return f"The phase {phase.name} begins {format_utc(phase.start or '')}; what comes before does not count in it."
        case PhaseState.ENDED:
            return f"The phase {phase.name} ended {format_utc(phase.end or '')}."
        case _:
            return ""


def _shown(phase: Phase, now: datetime | None, *, is_final: bool) -> ShownPhase:
    parts = [f"from {format_utc(phase.start)}"] if phase.start else []
    parts += [f"until {format_utc(phase.end)}"] if phase.end else []
    whom = [*(["an allow list"] if phase.allow else []), *phase.teams]
    is_hidden = now is not None and phase.public_from is not None and not phase.is_shown(now)
    return ShownPhase(
        phase=phase, state=_state(phase, now, is_final=is_final), dates=" ".join(parts) or "all season",
        who=f"members of {', '.join(whom)}".replace("members of an allow list", "an allow list") if whom else "everybody",
        hidden_until=format_utc(phase.public_from) if is_hidden and phase.public_from else None,
    )  # fmt: skip


def _state(phase: Phase, now: datetime | None, *, is_final: bool) -> PhaseState | None:
    if not phase.active:
        return PhaseState.CLOSED
    if is_final:
        return PhaseState.ENDED
    return phase.state(now) if now else None
