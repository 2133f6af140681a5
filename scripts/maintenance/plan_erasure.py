"""What erasing a person changes: name, logs and weights go, and records keep scores under a name that stands for nobody."""

import itertools
import secrets
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain

from evaluator.host.seeds.encryption import decrypt_result, decrypt_trace
from evaluator.model.config.moderation import Erasure, Moderation
from evaluator.model.config.submission import SubmissionKind
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.standings import Standings
from leaderboard.core.store import RECORD_ENDING, RETRIED_INFIX, TRACE_ENDING
from leaderboard.visibility import StandingsInput
from scripts.console import USAGE, CommandError
from scripts.git.season_commits import final_entries
from scripts.repository.checkout import Checkout
from scripts.repository.moderation_file import MODERATION_FILE, with_entry, with_exclusions_of, with_quarantines_of
from scripts.repository.season_file import SeasonFile
from scripts.standings.recorded_standings import erased_entries, rank_recorded, recorded_input

ERASED_MESSAGE = "erased"


@dataclass(frozen=True, kw_only=True)
class Renaming:
    """The names that stand for a person and the folders."""

    login: str
    """Whose name goes, in lower case."""
    mark: str
    agents: dict[str, str]

    def result(self, result: Result) -> Result:
        """A result without the person's name and words; one of somebody else is unchanged."""
        if result.login.casefold() != self.login:
            return result
        document = {**result.document(), "login": self.mark, "login_id": None, "agent": self.agents[result.agent],
                    "log_tail": "", "message": ERASED_MESSAGE if result.message else "",
                    "erased_sha256": result.erased_sha256 or result.self_sha256}  # fmt: skip
        return Result.with_self_hash(_without_words(document))

    def duel(self, duel: Duel) -> Duel:
        """A duel without the person's name and words; one of others is unchanged."""
        if self.login not in _logins(duel):
            return duel
        document = duel.document()
        document["players"] = [self._player(player) for player in duel.players]
        document["erased_sha256"] = duel.erased_sha256 or duel.self_sha256
        document["message"] = ERASED_MESSAGE if duel.message else ""
        return Duel.with_self_hash(_without_words(document))

    def _player(self, player: PlayerRecord) -> dict[str, object]:
        document = player.model_dump(mode="json")
        if player.login.casefold() != self.login:
            return document
        replaced = {"login": self.mark, "login_id": None, "agent": self.agents[player.agent], "log_tail": ""}
        return {**document, **replaced, "message": ERASED_MESSAGE if player.message else ""}


def _logins(duel: Duel) -> set[str]:
    return {player.login.casefold() for player in duel.players}


def _without_words(document: dict[str, object]) -> dict[str, object]:
    """Without the link to the run, whose log names people, and what the first attempt and a script said."""
    document = {**document, "provenance": {**document["provenance"], "run_url": None}}  # type: ignore[dict-item]
    if first := document.get("first_attempt"):
        document["first_attempt"] = {**first, "message": ""}  # type: ignore[dict-item]
    if script := document.get("script"):
        document["script"] = {**script, "notices": []}  # type: ignore[dict-item]
    return document


@dataclass(frozen=True, kw_only=True)
class ErasurePlan:
    """What erasing somebody changes."""

    renaming: Renaming
    results: tuple[tuple[Result, Result], ...]
    """Before and after."""
    duels: tuple[tuple[Duel, Duel], ...]
    moderation: bytes
    """moderation.yml with the versions that keep their places, and what is hidden or excluded by the new name."""
    weights: frozenset[str]
    """The hashes of the weights that only this person's manifests name."""
    seasons: SeasonFile
    """For the secrets that are published."""

    def moved(self) -> Iterator[tuple[str, str, bytes]]:
        """Old and new path below results/, and the new content."""
        attempts: Counter[str] = Counter()
        for before, after in chain[tuple[Result | Duel, Result | Duel]](self.results, self.duels):
            ending = RECORD_ENDING
            # An attempt that failed on our side has the path of the one that counts, and a number in its name.
            if before.verdict is Verdict.INTERNAL_ERROR:
                attempts[before.path()] += 1
                ending = f"{RETRIED_INFIX}{attempts[before.path()]}{RECORD_ENDING}"
            yield before.path() + ending, after.path() + ending, after.serialised()

    def moved_traces(self) -> Iterator[tuple[str, str, Callable[[bytes], bytes]]]:
        """Old and new path below traces/, and what becomes of the content: sealed ones of a revealed season are opened."""
        for before, after in self.results:
            if before.trace_sha256:
                yield before.path() + TRACE_ENDING, after.path() + TRACE_ENDING, partial(self._opened_trace, before)

    def _opened_trace(self, before: Result, content: bytes) -> bytes:
        secret = self.seasons.secret_of(before.season, before.beacon) if before.sealed else None
        return decrypt_trace(content, before, secret) if secret else content


def plan_erasure(
    checkout: Checkout, login: str, now: datetime, *, account: int | None = None, must_name_account: bool = False
) -> ErasurePlan:
    """What erasing a person would change; nothing is written.

    Args:
        checkout: the maintainer's clone, with its records.
        login: whose name goes.
        now: the time of the erasure.
        account: the account number of who asks: a login that was given up can be taken by somebody else.
        must_name_account: whether `account` is needed where records have such numbers.

    Raises:
        CommandError: there is nothing of that login, its records are of another account, it stands at the end of a season,
            somebody else's rank would move, or moderation.yml takes no entry.
    """
    folded = login.casefold()
    results, duels = checkout.store.read()[0], checkout.store.read_duels()[0]
    opened = [(one, _opened(one, checkout.seasons)) for one in results if one.login.casefold() == folded]
    # With boards and names that are hidden now: who has a login, and which ranks there are, does not depend on that.
    shown = recorded_input(checkout, official=True, now=now, with_hidden=True)
    sides: list[Result | PlayerRecord] = [*results, *(player for duel in duels for player in duel.players)]
    named: list[Entry | Result | PlayerRecord] = [*shown.entries, *sides]
    agents = sorted({one.agent for one in named if one.login.casefold() == folded})
    if not agents:
        raise CommandError(USAGE, f"nothing here is of {login}; run 'pullrank recorded' first, or correct the login")
    _refuse_other_accounts(login, sides, account, must_name_account)
    _refuse_at_the_end(checkout, login, shown.entries)
    renaming = Renaming(
        login=folded,
        mark=_mark({one.login.casefold() for one in named}),
        agents={agent: f"agent-{number:02}" for number, agent in enumerate(agents, 1)},
    )
    erasures = _erasures(shown, renaming, now)
    after = _without_person(shown, renaming, erasures)
    before, then = (rank_recorded(ranked, official=True) for ranked in (shown, after))
    _refuse_moved_ranks(ranks_of_others(before, folded), ranks_of_others(then, renaming.mark))
    return ErasurePlan(
        renaming=renaming,
        moderation=_moderated(checkout, renaming, erasures),
        weights=_own_weights(checkout, folded),
        results=tuple((result, renaming.result(measured)) for result, measured in opened),
        duels=tuple((duel, renaming.duel(duel)) for duel in duels if folded in _logins(duel)),
        seasons=checkout.seasons,
    )


def _erasures(shown: StandingsInput, renaming: Renaming, now: datetime) -> tuple[Erasure, ...]:
    """What keeps the places of the person's versions that rank; one that was never evaluated has none to keep."""
    records = (*shown.results, *shown.duels, *shown.tried_records)
    evaluated = {side.submission_digest for one in records for side in one.sides if side.login.casefold() == renaming.login}
    return tuple(
        Erasure(
            login=renaming.mark, agent=renaming.agents[entry.agent], digest=entry.digest, since=now.strftime("%Y-%m-%d"),
            script=entry.submission.kind is SubmissionKind.SCRIPT,
        )
        for entry in shown.entries
        if entry.login.casefold() == renaming.login
        and shown.moderation.exclusion_of(*entry.version) is None
        and not entry.baseline
        and entry.digest in evaluated
    )  # fmt: skip


def _refuse_other_accounts(login: str, sides: Sequence[Result | PlayerRecord], account: int | None, must_name: bool) -> None:
    """Refuse where the records under a login are not all of the account of who asks."""
    numbers = {side.login_id for side in sides if side.login.casefold() == login.casefold()} - {None}
    of_accounts = f"records of {login} are of account {' and '.join(map(str, sorted(numbers, key=str)))}"
    if len(numbers) > 1:
        raise CommandError(
            USAGE,
            f"{of_accounts}: the login changed hands, so nothing was changed; exclude or anonymise what the person asks for",
        )
    if numbers and account is None and must_name:
        raise CommandError(
            USAGE,
            f"{of_accounts}, and a login can change hands; if that is the account of who asks, add --account with its "
            f"number (the id in https://api.github.com/users/{login})",
        )
    if numbers and account is not None and account not in numbers:
        raise CommandError(
            USAGE, f"{of_accounts}, not {account}: the login was somebody else's then, so nothing was changed"
        )


def _refuse_at_the_end(checkout: Checkout, login: str, entries: Sequence[Entry]) -> None:
    """Refuse who stands at the end of the season: read from the commit that ended it, they would be drawn again or wait."""
    if checkout.has_ended and any(entry.login.casefold() == login.casefold() for entry in entries):
        raise CommandError(
            USAGE,
            f"agents of {login} stand at the end of season {checkout.challenge.season}, so nothing was changed; "
            "erase them once challenge.yml names the next season",
        )


def _without_person(shown: StandingsInput, renaming: Renaming, erasures: Sequence[Erasure]) -> StandingsInput:
    """What standings are made from after the erasure."""
    moderation = shown.moderation.model_copy(update={"erasures": (*erasures, *shown.moderation.erasures)})
    # Who was erased before is among them; and somebody else may have the same files, such as a starter's.
    others = [entry for entry in shown.entries if entry.login.casefold() != renaming.login]
    stand_ins = erased_entries(Moderation(erasures=tuple(erasures)))
    return replace(
        shown, entries=(*others, *stand_ins), moderation=moderation,
        results=tuple(map(renaming.result, shown.results)), duels=tuple(map(renaming.duel, shown.duels)),
        tried_records=tuple(
            renaming.duel(record) if isinstance(record, Duel) else renaming.result(record) for record in shown.tried_records
        ),
    )  # fmt: skip


def _moderated(checkout: Checkout, renaming: Renaming, erasures: Sequence[Erasure]) -> bytes:
    path = checkout.root / MODERATION_FILE
    content = path.read_bytes() if path.exists() else b""
    content = with_quarantines_of(content, renaming.login, renaming.mark)
    content = with_exclusions_of(content, renaming.login, renaming.mark, renaming.agents)
    for erasure in erasures:
        content = with_entry(content, "erasures", erasure)
    return content


def _own_weights(checkout: Checkout, folded: str) -> frozenset[str]:
    """Those of the login that nobody else's manifest names, also where submissions ended."""
    entries = [agent.entry() for agent in checkout.read_all()[0]]
    entries += final_entries(checkout).entries if checkout.has_ended else ()
    by_owner: dict[bool, set[str]] = {True: set(), False: set()}
    for entry in entries:
        by_owner[entry.login.casefold() == folded] |= {file.sha256 for file in entry.submission.weights}
    return frozenset(by_owner[True] - by_owner[False])


def _opened(result: Result, seasons: SeasonFile) -> Result:
    """A result as it was measured: what is sealed is bound to its owner's name, and cannot be opened under another.

    Raises:
        CommandError: it is sealed, and its season is not revealed.
    """
    if result.sealed is None:
        return result
    secret = seasons.secret_of(result.season, result.beacon)
    if secret is None:
        raise CommandError(
            USAGE,
            f"results of {result.login} are sealed until season {result.season} is revealed, so nothing was changed; "
            "erase them after 'pullrank season reveal', and until then anonymise the name",
        )
    return decrypt_result(result, secret)


def _mark(taken: Container[str]) -> str:
    """A name that GitHub gives nobody."""
    marks = (f"erased_{secrets.token_hex(4)}" for _ in itertools.count())
    return next(mark for mark in marks if mark not in taken)


def ranks_of_others(standings: Standings, login: str) -> dict[tuple[str, ...], tuple[object, ...]]:
    """Places, intervals and scores of everybody else.

    Sums in another order of names have other last bits, so numbers are rounded, to more digits than pages show.
    """
    ranks: dict[tuple[str, ...], tuple[object, ...]] = {}
    for board in standings.boards:
        for row in board.rows:
            value = row.rating.estimate if isinstance(board, GameStandings) else row.estimate  # type: ignore[union-attr]
            numbers = (f"{round(number, 9) + 0.0:.9g}" for number in (value.score, value.low, value.high))
            ranks[board.task.id, *row.entry.name] = row.place, row.rank_low, row.rank_high, *numbers
    ranks |= {("overall", *row.entry.name): (row.place,) for row in standings.overall}
    return {name: value for name, value in ranks.items() if name[1] != login}


def _refuse_moved_ranks(before: Mapping[tuple[str, ...], object], after: Mapping[tuple[str, ...], object]) -> None:
    for task, login, agent in sorted(before.keys() | after.keys()):
        if before.get((task, login, agent)) != after.get((task, login, agent)):
            raise CommandError(
                USAGE,
                f"the rank of {login}/{agent} on {task} would move, so nothing was changed; teams must be dissolved first, "
                "by their manifests",
            )
