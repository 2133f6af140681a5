"""Why wanted work is not admitted now, as values to decide on, and `reason_in_words`, which turns them into text."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import assert_never

from evaluator.model.config.people import CustomField
from evaluator.model.config.phase import Phase
from leaderboard.core.owners import (
    AuthorWithoutLogin,
    Banned,
    InAnotherTeam,
    InvalidAnswer,
    ParticipantFault,
    TeamTooLarge,
    TermsNotAccepted,
)
from leaderboard.planning.evaluation_quota import QuotaExhausted, quota_name
from leaderboard.text.format import format_utc


class PhaseRefusalKind(Enum):
    """Which rule of a phase keeps a version out."""

    CLOSED = auto()
    TOO_EARLY = auto()
    TOO_LATE = auto()
    NOT_ALLOWED = auto()


@dataclass(frozen=True, kw_only=True)
class PhaseRefusal:
    """A phase in which a version does not count."""

    kind: PhaseRefusalKind
    phase: Phase
    login: str


@dataclass(frozen=True)
class ParticipantRefusal:
    """An entry whose owner or authors break the rules for participants."""

    faults: tuple[ParticipantFault, ...]


@dataclass(frozen=True)
class SubmissionsEnded:
    """A version that came to main after the season's submissions had ended."""

    season: str


Reason = PhaseRefusal | ParticipantRefusal | QuotaExhausted | SubmissionsEnded


def reason_in_words(reason: Reason | ParticipantFault) -> str:
    """Why something is not admitted, and what to do about it."""
    match reason:
        case PhaseRefusal():
            return _phase_words(reason)
        case ParticipantRefusal(faults):
            return "left out: " + "; ".join(map(reason_in_words, faults))
        case QuotaExhausted(phase=phase, window=window):
            return f"{quota_name(phase)}: {window.used} of {window.limit} {window.period}; {window.renewal}"
        case SubmissionsEnded(season):
            return f"too late: the submissions of season {season} have ended, so this version takes no part in it"
        case _:
            return _participant_words(reason)


def _phase_words(refusal: PhaseRefusal) -> str:
    phase = refusal.phase
    name = f"phase '{phase.id}'"
    match refusal.kind:
        case PhaseRefusalKind.CLOSED:
            return f"closed: the hosts closed {name}; it counts nothing until they open it"
        case PhaseRefusalKind.TOO_EARLY:
            return f"too early: {name} begins {format_utc(phase.start or '')}; a version counts if it is merged from then on"
        case PhaseRefusalKind.TOO_LATE:
            end = format_utc(phase.end or "")
            stays = "the version that came in time stays where its folder holds it"
            return f"too late: {name} ended {end}; {stays}, the other tasks are open"
        case PhaseRefusalKind.NOT_ALLOWED:
            groups = [f"the members of {', '.join(phase.teams)}"] if phase.teams else []
            groups += ["those on its list"] if phase.allow else []
            return f"not allowed: {name} is for {' and '.join(groups)}, and {refusal.login} is none of them; ask the hosts"
        case _:
            assert_never(refusal.kind)


def _participant_words(fault: ParticipantFault) -> str:
    match fault:
        case Banned(login=login, why=why, is_owner=True):
            return f"{login} may not take part: {why}; ask the hosts"
        case Banned(login=login, why=why):
            return f"{login} may not take part: {why}; an entry without {login} may"
        case AuthorWithoutLogin(author=author):
            return f"{author!r} is no login; each may be in one team only, so write '@login'"
        case TeamTooLarge():
            return f"{fault.size} people, with {fault.login}; a team has {fault.limit} at most"
        case TermsNotAccepted(terms=terms):
            return f"the terms are not accepted: read {terms} and write 'terms: true'"
        case InvalidAnswer(field=field, is_missing=is_missing):
            return _answer_words(field, is_missing=is_missing)
        case InAnotherTeam(login=login):
            return f"@{login} is in another team already, and each may be in one only; take the name out"
        case _:
            assert_never(fault)


def _answer_words(field: CustomField, *, is_missing: bool) -> str:
    about = f" ({field.description})" if field.description else ""
    if is_missing:
        return f"'meta' lacks an answer to '{field.name}'{about}; add it"
    match field.kind:
        case "boolean":
            return f"'{field.name}'{about} is answered with true or false, without quotes"
        case "text":
            return f"'{field.name}'{about} is answered in words; put them in quotes"
        case "choice":
            return f"'{field.name}'{about} is one of {', '.join(field.options)}"
        case _:
            assert_never(field.kind)
