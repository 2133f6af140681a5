"""How publish looks into what the shards of a sealed season hand in, and closes it again."""

from collections.abc import Iterable
from pathlib import Path

from evaluator.host.seeds.encryption import open_result, open_trace
from evaluator.host.seeds.season_secret import Secret
from evaluator.host.solo.verify_result import parse_result
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.store import RESULT, TRACE, write_atomically
from scripts.bot.claims import UNREADABLE, Handed
from scripts.repository.season_file import sealed_with


def sealed_record(
    challenge: Challenge, secret: Secret, found: Result | Duel, trace: bytes | None
) -> tuple[Result | Duel, bytes | None]:
    """What passed, sealed anew: publish adds what only GitHub can tell, and its nonces are its own."""
    return (found, trace) if isinstance(found, Duel) else sealed_with(challenge, secret, found, trace)


def opened_copies(handed: Iterable[Handed], place: Path, secret: Secret) -> list[Handed]:
    """What shards handed in, opened into a private folder; what does not open is copied as it is, to be refused there."""
    found = []
    for item in handed:
        copy = Handed(shard=place / item.shard.name, item=item.item, path=item.path, fault=item.fault)
        found.append(item if item.fault or not _copied(item, copy, secret) else copy)
    return found


def _copied(item: Handed, copy: Handed, secret: Secret) -> bool:
    """Whether the files could be read: else what was handed in is refused where it lies."""
    try:
        content = item.result.read_bytes()
        trace = item.trace.read_bytes() if item.trace.exists() else None
    except OSError:
        return False
    try:
        closed = parse_result(content)
        plain = open_result(closed, secret).serialised()
        if trace is not None and closed.sealed is not None:
            trace = open_trace(trace, closed, secret)
        content = plain
    except UNREADABLE:  # a sealed file in the place of an open one is refused by what reads it
        pass
    write_atomically(copy.shard / "results" / (copy.path + RESULT), content)
    if trace is not None:
        write_atomically(copy.shard / "traces" / (copy.path + TRACE), trace)
    return True
