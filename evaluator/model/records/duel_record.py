"""A duel: all matches of two players in a game, with moves and times, and nothing that can be derived from them."""

import enum
import json
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from evaluator.model import canonical_json
from evaluator.model.base import EpisodeReturn, Frozen, is_none
from evaluator.model.config.limits import Limits
from evaluator.model.identifiers import Digest, FolderName, Line, Login, Seed, TaskId, safe_path_segment
from evaluator.model.records.stored_record import (
    FILE_DIGITS,
    LOG_TAIL_CHARACTERS,
    MESSAGE_CHARACTERS,
    Beacon,
    Cost,
    FirstAttempt,
    Provenance,
    SandboxKind,
    StoredRecord,
    Tier,
    WantedRecord,
)
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict

DUEL_SCHEMA = 2
Side = Literal[0, 1]
SIDES: tuple[Side, Side] = (0, 1)


def first_side(index: int) -> Side:
    """Which side begins the match of that index: they take turns, so that each begins once on every opening."""
    return 1 if index % 2 else 0


@enum.unique
class MatchEnd(enum.StrEnum):
    """Why a match ended. All but the first two are the offender's loss."""

    plain_words: str
    """What is said behind a number of matches."""

    def __new__(cls, value: str, plain_words: str = "") -> Self:
        """A member, as the lines below define it."""
        end = str.__new__(cls, value)
        end._value_ = value
        end.plain_words = plain_words
        return end

    PLAYED = "played", "played to their end"
    TOO_LONG = "too_long", "stopped for their length"
    ILLEGAL = "illegal", "ended by an illegal move"
    MALFORMED = "malformed", "ended by an answer that is no move"
    LATE = "late", "ended by the clock"
    FORFEIT = "forfeit", "forfeited"


class MatchRecord(Frozen):
    """One game from start to end. The even ones are begun by side 0, the odd ones by side 1, two by two on one opening."""

    end: MatchEnd
    winner: Side | None
    """Which side won; null for a draw, and where both sides offended."""
    offenders: tuple[Side, ...] = ()
    """Which side broke a rule, or could not go on."""
    scores: tuple[EpisodeReturn, EpisodeReturn]
    """Return of each side; where a rule was broken what the game had given until then."""
    plies: int = Field(ge=0)
    """Moves, the opening's included. A move that was refused is not one of them."""
    refused: int | None = None
    """The move that was illegal."""
    message: str = Field(default="", max_length=300)
    checksum: str = Field(pattern=r"^[0-9a-f]{32}$")
    """BLAKE2b-128 over what the movers saw and what the game gave, in order."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if (self.end in (MatchEnd.PLAYED, MatchEnd.TOO_LONG)) != (self.offenders == ()):
            raise ValueError("a match that was played to its end has no offender, any other has one")
        if list(self.offenders) != sorted(set(self.offenders)):
            raise ValueError("offenders are named in order, each once")
        if len(self.offenders) == 1 and self.winner != 1 - self.offenders[0]:
            raise ValueError("the offender's opponent wins")
        if self.offenders == (0, 1) and self.winner is not None:
            raise ValueError("nobody wins where both offend")
        return self


class PlayerRecord(Frozen):
    """One side of a duel."""

    login: Login
    login_id: int | None = None
    """GitHub's number for the owner."""
    agent: FolderName
    submission_digest: Digest
    verdict: Verdict = Verdict.OK
    """ok, or what ended it before its last match: it forfeits the rest. In a duel that failed on our side internal_error if
    only this player's registry failed, while others could be reached."""
    message: str = Field(default="", max_length=MESSAGE_CHARACTERS)
    """What went wrong; the agent may have written it."""
    log_tail: str = Field(default="", max_length=LOG_TAIL_CHARACTERS)
    """The end of what the agent printed."""
    cost: Cost = Cost()
    """What it used; wall seconds are the ones it was thinking, steps its own moves."""

    @property
    def name(self) -> tuple[str, str]:
        """Its identity: login in lower case, and folder."""
        return self.login.casefold(), self.agent

    @property
    def version(self) -> tuple[str, str, str]:
        """Login, folder and digest of what played, as they were recorded."""
        return self.login, self.agent, self.submission_digest

    @property
    def name_as_written(self) -> str:
        """As in paths."""
        return f"{self.login}+{self.agent}"


class Duel(StoredRecord):
    """Two players in one game; a player against itself is its validation."""

    model_config = ConfigDict(title="Duel")

    schema_version: int = Field(default=DUEL_SCHEMA, alias="schema", ge=1, le=DUEL_SCHEMA)
    kind: Literal["duel"] = "duel"
    """Tells it from a result of one agent."""
    key: Digest
    tier: Tier = Field(alias="class")
    task: TaskId
    task_digest: Digest
    """The game's measured settings, the source of a host's own code among them."""
    players: tuple[PlayerRecord, PlayerRecord]
    """The sides, in the order of `side_order` of the names they had when they played."""
    season: Line
    beacon: Beacon
    """The later of the two players' beacons."""
    beacon_verified: bool | None = False
    """Whether GitHub signed both players' beacons; null while GitHub was not asked about all of them."""
    sandbox: SandboxKind
    runtime_digest: Digest
    """What measured: the protocol, the packages that measure, the base image, and the players' extras."""
    verdict: Verdict
    """ok, or internal_error: what a player does is told by its matches."""
    message: str = Field(default="", max_length=MESSAGE_CHARACTERS)
    """What failed on our side."""
    seeds: tuple[Seed, ...] = ()
    """One for each two matches: of the game and of its opening."""
    matches: tuple[MatchRecord, ...] = ()
    """In order; empty unless the verdict is ok."""
    moves: TraceLeaf | None = None
    """Every move of every match, one after the other."""
    milliseconds: TraceLeaf | None = None
    """What each of them was charged; the opening's cost nothing."""
    limits: Limits
    versions: dict[str, str] = Field(default_factory=dict)
    image_digest: str | None = None
    """The evaluator image's id."""
    platform: str = ""
    """Operating system and processor."""
    provenance: Provenance
    first_attempt: FirstAttempt | None = Field(default=None, exclude_if=is_none)
    """The attempt before this one, which failed on our side, where there was one; left out otherwise."""
    erased_sha256: Digest | None = Field(default=None, exclude_if=is_none)
    """The hash that it had before a player's name was erased first, where one was; left out otherwise."""
    self_sha256: Digest
    """Hash over the canonical JSON of all the rest."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.verdict not in (Verdict.OK, Verdict.INTERNAL_ERROR):
            raise ValueError("a duel is ok or our failure; a player's faults are told by its matches")
        if (self.verdict is Verdict.OK) != bool(self.matches):
            raise ValueError("a duel has matches if and only if it is ok")
        if self.first_attempt and self.first_attempt.verdict is not Verdict.INTERNAL_ERROR:
            raise ValueError("a duel's first attempt failed on our side; what a player does is told by its matches")
        if self.matches and (len(self.matches) != 2 * len(self.seeds) or self.moves is None or self.milliseconds is None):
            raise ValueError("an ok duel has moves, times, and one seed for each two matches")
        # The name that stands for an erased person may be anywhere in the alphabet.
        if self.erased_sha256 is None and side_order(*self.players[0].name) > side_order(*self.players[1].name):
            raise ValueError("the sides are not in order")
        return self

    @property
    def sides(self) -> tuple[PlayerRecord, PlayerRecord]:
        """Who played."""
        return self.players

    @property
    def is_sealed(self) -> bool:
        """Games are never sealed."""
        return False

    def side_of(self, name: tuple[str, str]) -> Side:
        """The first side that an agent plays; `name`: its login in lower case, and folder."""
        return 0 if self.players[0].name == name else 1

    @property
    def is_validation(self) -> bool:
        """Whether a player plays itself."""
        return self.players[0].name == self.players[1].name

    @property
    def is_try(self) -> bool:
        """Of a validation, as a result's: its only player's host failed where the first side says `internal_error`."""
        return self.verdict is not Verdict.INTERNAL_ERROR or self.players[0].verdict is Verdict.INTERNAL_ERROR

    def serialised(self) -> bytes:
        """The duel file's bytes: one fixed form, with a line for each match."""
        return _lines(self.document()).encode() + b"\n"

    def path(self) -> str:
        """Its path in the store, without the ending."""
        return duel_path(self.task, self.players[0].name_as_written, self.players[1].name_as_written, self.key)

    def match_moves(self) -> list[list[int]]:
        """The moves of each match; raises ValueError where their number is not that of the matches' plies."""
        return self._split_by_match(self.moves)

    def match_milliseconds(self) -> list[list[int]]:
        """The time of each move of each match; raises as `match_moves` does."""
        return self._split_by_match(self.milliseconds)

    def _split_by_match(self, leaf: TraceLeaf | None) -> list[list[int]]:
        values = leaf.array(sum(match.plies for match in self.matches)).tolist() if leaf else []
        parts, begin = [], 0
        for match in self.matches:
            parts.append(values[begin : begin + match.plies])
            begin += match.plies
        return parts


def _lines(document: dict[str, Any]) -> str:
    """JSON with one line for each match: readable, and small in a diff."""
    matches = document["matches"]
    text = json.dumps({**document, "matches": []}, indent=1, ensure_ascii=False)
    rows = ",\n".join("  " + json.dumps(match, ensure_ascii=False) for match in matches)
    return text.replace('\n "matches": []', f'\n "matches": [\n{rows}\n ]', 1) if matches else text


def side_order(login: str, agent: str) -> tuple[str, str]:
    """The sort key of sides."""
    return login.casefold(), agent


def duel_path(task_id: str, first: str, second: str, key: str) -> str:
    """A duel's path in the store, without the ending. The names are `login+agent`, of which neither part holds a `+`.

    Old logins may hold several hyphens in a row, which are encoded, so that no two pairs of players share a folder.
    """
    return f"{safe_path_segment(task_id)}/{pair_segment(first, second)}/{key[:FILE_DIGITS]}"


def pair_segment(first: str, second: str) -> str:
    """A pair of players `login+agent` as a path segment."""
    return f"{player_segment(first)}--{player_segment(second)}"


def split_pair(segment: str) -> tuple[str, str]:
    """The two sides' `player_segment` in a pair's; no login there holds two hyphens in a row, but an agent's name may."""
    left, plus, agent = segment.rpartition("+")
    first, _, login = left.rpartition("--")
    return first, f"{login}{plus}{agent}"


def player_segment(name: str) -> str:
    """A player `login+agent` as a part of a pair's path segment."""
    login, plus, agent = name.partition("+")
    return f"{login.replace('--', '-%2D')}{plus}{agent}"


class WantedDuel(WantedRecord):
    """All that a duel depends on: duels with the same key need only one run."""

    submission_digests: tuple[Digest, Digest]
    """Which versions of the players, in the order of the sides."""

    def key(self) -> str:
        """The key of the duel, 64 hex digits."""
        return canonical_json.digest({"kind": "duel", **self.model_dump(mode="json")})
