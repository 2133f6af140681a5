"""The matches of a duel for its page: a summary of each, and one JSON document for the replay script."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd, MatchRecord, Side, first_side
from evaluator.model.records.verdict import Verdict
from leaderboard.games.game_drawings import action_word, drawing_of, milliseconds_of, moves_of
from leaderboard.games.match_svg import BoardMark, GameDrawing, final_position_svg, packed_marks, shared_ground
from leaderboard.site_context import AllFrames, ReplayFrames
from leaderboard.text.format import plain

# Matches that a page shows at once. The script draws those behind the fold when it is opened: written down for each match,
# the last positions were up to two thirds of a page of a hundred matches.
FIRST_MATCHES = 12
_PNG_PREFIX = "data:image/png;base64,"


@dataclass(frozen=True, kw_only=True)
class MatchSummary:
    """One match in a page's list."""

    number: int
    """From 1."""
    winner: int | None
    """The side, 0 or 1; None for a draw or if both lose."""
    outcome: str
    why: str
    broken: bool
    """Whether a player broke a rule or could not continue."""
    plies: int
    picture: Markup
    """The last position of one of the first matches; empty if nothing can draw it."""
    text: str
    """The last position as text, if there is no picture."""
    folded: bool
    """Whether the match comes after the first ones and so has no picture."""


@dataclass(frozen=True, kw_only=True)
class MatchReplay:
    """The matches of a duel."""

    summaries: tuple[MatchSummary, ...]
    ground: Markup
    document: Markup
    """JSON for the replay script, safe inside a script element."""


def side_names(duel: Duel, shown: Sequence[str | None] = (None, None)) -> tuple[str, str]:
    """The names of the two sides, numbered where a player plays itself; `shown` are the names that their authors gave them.

    Two players of one name are told apart by their folders.
    """
    folders = [f"{player.login}/{player.agent}" for player in duel.players]
    first, second = (title or folder for title, folder in zip(shown, folders, strict=True))
    if first == second:
        first, second = folders
    return (f"{first} (1)", f"{second} (2)") if duel.is_validation else (first, second)


def match_replay(duel: Duel, task: Task, frames: AllFrames, names: tuple[str, str] | None = None) -> MatchReplay:
    """All matches of a duel; `names` are those of its sides, if not their folders."""
    kind, names, with_returns = drawing_of(task), names or side_names(duel), _has_other_returns(duel)
    summaries, matches = [], []
    records = zip(duel.matches, moves_of(duel), milliseconds_of(duel), strict=True)
    for index, (match, moves, times) in enumerate(records):
        rendered, folded = frames.get((duel.key, index), ReplayFrames()), index >= FIRST_MATCHES
        first = first_side(index)
        marks = kind.render(moves, first, match.refused) if kind else []
        summary = MatchSummary(
            number=index + 1,
            winner=match.winner,
            outcome=match_outcome(match, names, with_returns=with_returns),
            why=end_reason(match, duel, task, names),
            broken=bool(match.offenders),
            plies=match.plies,
            picture=Markup() if folded else _final_picture(kind, marks, rendered, index + 1),
            text=rendered.texts[-1] if rendered.texts and not folded else "",
            folded=folded,
        )
        summaries.append(summary)
        fields: dict[str, Any] = {"first": first, "moves": moves, "ms": times, "opening": min(len(moves), task.opening)}
        fields |= {"outcome": summary.outcome, "why": summary.why, "winner": summary.winner}
        matches.append(fields | _picture_fields(kind, marks, rendered, len(moves), first))
    shared = {"players": names, "words": kind.words if kind else (), "matches": matches, **_drawing_fields(kind)}
    ground = shared_ground(kind) if kind else Markup()
    return MatchReplay(summaries=tuple(summaries), ground=ground, document=_script_json(shared))


def _final_picture(kind: GameDrawing | None, marks: list[BoardMark], frames: ReplayFrames, number: int) -> Markup:
    if kind:
        return final_position_svg(kind, marks, f"last position of match {number}")
    image = frames.images[-1] if frames.images and not frames.texts else ""
    if not image.startswith(_PNG_PREFIX):
        return Markup()
    return Markup('<img class="pr-final" alt="last position" loading="lazy" src="{}">').format(image)


def match_outcome(match: MatchRecord, names: tuple[str, str], *, with_returns: bool = False) -> str:
    """Who won a match."""
    nobody = "both lose" if match.offenders else "draw"
    words = nobody if match.winner is None else f"{names[match.winner]} wins"
    return f"{words}, returns {plain(match.scores[0])} and {plain(match.scores[1])}" if with_returns else words


def end_reason(match: MatchRecord, duel: Duel, task: Task, names: tuple[str, str] | None = None) -> str:
    """How a match ended: one line, not capitalised."""
    names = names or side_names(duel)
    offender = " and ".join(names[side] for side in match.offenders)
    message = f": {match.message}" if match.message else ""
    match match.end:
        case MatchEnd.PLAYED:
            return "played out"
        case MatchEnd.TOO_LONG:
            return f"stopped after {match.plies} moves, which is as long as a match may be"
        case MatchEnd.ILLEGAL:
            move = "" if match.refused is None else f" {match.refused} ({action_word(task, match.refused)})"
            return f"{offender} tried move{move}, which is not legal here"
        case MatchEnd.MALFORMED:
            return f"{offender} answered with something that is no move{message}"
        case MatchEnd.LATE:
            return f"{offender} ran out of time"
        case MatchEnd.FORFEIT:
            return f"{offender} could not go on{message or _fault(match, duel)}"


def _has_other_returns(duel: Duel) -> bool:
    """Whether the returns hold more than who won."""
    return any(sorted(match.scores) not in ([-1, 1], [0, 0], [0, 1]) for match in duel.matches if not match.offenders)


def _fault(match: MatchRecord, duel: Duel) -> str:
    verdict = duel.players[match.offenders[0]].verdict
    words = "" if verdict is Verdict.OK else verdict.plain_words
    return f": {words[0].lower()}{words[1:].rstrip('.')}" if words else ""


def _picture_fields(
    kind: GameDrawing | None, marks: list[BoardMark], frames: ReplayFrames, plies: int, first: Side
) -> dict[str, Any]:
    """The picture of a match for the replay script: marks, or rendered frames."""
    if kind:
        return {"marks": packed_marks(marks), "movers": "".join(map(str, kind.movers(plies + 1, first)))}
    movers = {"movers": "".join(map(str, frames.movers))}
    if frames.texts:
        return {"texts": frames.texts, **movers}
    return {"images": frames.images, **movers} if frames.images else movers


def _drawing_fields(kind: GameDrawing | None) -> dict[str, Any]:
    if kind is None:
        return {}
    wide, high = kind.board
    views = {"view": f"0 0 {wide:g} {kind.height or high:g}", "small": f"0 0 {wide:g} {high:g}"}
    return {**views, "ground": kind.ground, "symbols": kind.symbols}


def _script_json(document: dict[str, Any]) -> Markup:
    """JSON for a script element: it has no character that could end the element or begin a comment."""
    text = json.dumps(document, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
