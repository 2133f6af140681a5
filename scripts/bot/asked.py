"""What a round asked of its shards: all in which a handed-in file may differ, and the record of a try that came to nothing.

Duels and evaluations of single agents are judged alike: everything but the numbers is known before the file is opened.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from evaluator.host.rematch import parse_duel
from evaluator.host.replay import parse_result
from evaluator.host.seeds import episode_seeds, opening_seeds
from evaluator.model import result as results
from evaluator.model.duel import Duel, sealed_duel
from evaluator.model.result import Class, Provenance, Result, sealed
from evaluator.model.verdict import Verdict
from leaderboard.entry import Entry
from leaderboard.plan import DuelItem, Item
from scripts.board import LOCAL
from scripts.bot.wanted import Official, Wish, Work
from scripts.seasons.secrets import season_secret

# A run may wait for machines for as long as GitHub lets it live.
OLDEST, NEWEST = timedelta(days=36), timedelta(minutes=10)

Record = Result | Duel
"""What a file on the results branch holds."""


def parse(item: Wish, content: bytes) -> Record:
    """What was handed in for one wish.

    Raises:
        ValueError: it is not, byte for byte, a file of that kind.
    """
    return parse_duel(content) if isinstance(item, DuelItem) else parse_result(content)


def faults(official: Official, work: Work, item: Wish, found: Record, now: datetime) -> Iterator[str]:
    """Everything in which a file differs from what was asked; its numbers are the replay's to judge."""
    for name, value in _asked(official, work, item).items():
        if getattr(found, name) != value:
            yield f"{name} is not the one that was asked"
    if isinstance(item, DuelItem) and isinstance(found, Duel):
        yield from _player_faults(item, found)
    if (found.provenance.commit, found.provenance.run_url) != (work.sha, official.run_url):
        yield "the provenance is not this run's"
    at = datetime.strptime(found.provenance.evaluated_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    if not now - OLDEST <= at <= now + NEWEST:
        yield f"evaluated_at ({found.provenance.evaluated_at}) is not of this run"
    if len(found.versions) > 50 or (isinstance(found, Result) and len(found.metrics) > 50):
        yield "it names more versions or metrics than an evaluation has"


def _asked(official: Official, work: Work, item: Wish) -> dict[str, Any]:
    both = {
        "key": item.wanted.key(), "klass": Class.OFFICIAL, "task": item.task_id, "task_digest": item.wanted.task_digest,
        "season": item.wanted.season, "beacon": item.wanted.beacon, "beacon_verified": False, "sandbox": official.sandbox,
        "runtime_digest": item.wanted.runtime_digest, "limits": work.challenge.limits,
    }  # fmt: skip
    if isinstance(item, DuelItem):
        return both
    own: dict[str, Any] = {"login": item.entry.login, "login_id": None, "agent": item.entry.agent}
    own["limits"] = item.entry.submission.allowed(work.challenge.limits)
    return {**both, **own, "submission_digest": item.wanted.submission_digest}


def _player_faults(item: DuelItem, duel: Duel) -> Iterator[str]:
    for side, (entry, player) in enumerate(zip(item.entries, duel.players, strict=True)):
        asked = (entry.login, None, entry.agent, entry.digest)
        if (player.login, player.login_id, player.agent, player.submission_digest) != asked:
            yield f"player {side + 1} is not the one that was asked"


def told(official: Official, work: Work, item: Wish, found: Record) -> Record:
    """A file that passed, with what only GitHub can tell: shards have no token and no say in it."""
    if isinstance(found, Result):
        assert isinstance(item, Item)
        return sealed({**found.document(), **_by_github(official, work, item.entry)})
    assert isinstance(item, DuelItem)
    players = [
        {**player, "login_id": _login_id(official, work, entry)}
        for player, entry in zip(found.document()["players"], item.entries, strict=True)
    ]
    signed = {"players": players, "beacon_verified": _both_signed(official, work, item)}
    return sealed_duel({**found.document(), **signed})


def _by_github(official: Official, work: Work, entry: Entry) -> dict[str, object]:
    """Asked once for each commit."""
    return {
        "login_id": _login_id(official, work, entry),
        "beacon_verified": official.verified(work.beacon(entry).sha),
    }


def _login_id(official: Official, work: Work, entry: Entry) -> int | None:
    """The examples are nobody's account."""
    return None if entry.login == LOCAL else official.login_id(work.beacon(entry).sha)


def _both_signed(official: Official, work: Work, item: DuelItem) -> bool:
    """Examples are the host's: their commit matters only where the seeds come from it."""
    entered = {work.beacon(entry).sha for entry in item.entries if entry.login != LOCAL}
    return all(official.verified(sha) for sha in sorted(entered | {item.wanted.beacon}))


def failure(official: Official, work: Work, item: Wish, message: str, now: datetime) -> Record:
    """The record of a try that came to nothing through no fault of an agent."""
    asked = {name: value for name, value in _asked(official, work, item).items() if name != "klass"}
    failed: dict[str, Any] = {
        **asked,
        "schema": 1,
        "class": Class.OFFICIAL,
        "verdict": Verdict.INTERNAL_ERROR,
        "message": message[: results.MESSAGE],
        "provenance": Provenance(commit=work.sha, run_url=official.run_url, evaluated_at=now.strftime("%Y-%m-%dT%H:%M:%SZ")),
    }
    task, wanted = work.task(item), item.wanted
    if isinstance(item, DuelItem):
        players = [
            {"login": e.login, "login_id": _login_id(official, work, e), "agent": e.agent, "submission_digest": e.digest}
            for e in item.entries
        ]
        digests = item.wanted.submission_digests
        seeds = opening_seeds(wanted.season, wanted.beacon, digests, task.id, task.matches)
        signed = _both_signed(official, work, item)
        return sealed_duel({**failed, "players": players, "beacon_verified": signed, "seeds": seeds})
    secret = season_secret(official.secret, work.challenge)
    if secret:
        seeds = secret.episode_seeds(wanted.season, task.id, task.counted)
    else:
        seeds = episode_seeds(wanted.season, wanted.beacon, item.wanted.submission_digest, task.id, task.counted)
    return sealed({**failed, **_by_github(official, work, item.entry), "seeds": seeds, "cost": {}})
