"""The end of submissions: the line in challenge.yml, and the final draws that closing a season needs."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from evaluator.host.digests.runtime_digest import lock_digests
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.eligibility import is_official
from leaderboard.core.store import write_atomically
from leaderboard.core.versions import version_folders
from leaderboard.planning.admission import admit
from leaderboard.planning.missing import INTERNAL_ERROR_TRIES, DuelWorkItem, MeasurementContext, WorkItem, work_in_words
from scripts.console import USAGE, CommandError
from scripts.git.recorded_standings import FinalEntries, final_entries
from scripts.repository.checkout import Checkout
from scripts.runs.eligible_tasks import admission_context

_SEASON_LINE = re.compile(r"^season:.*$", re.MULTILINE)


def write_final(path: Path, challenge: Challenge) -> None:
    """Write into challenge.yml that the season's submissions end with the commit that brings this to main.

    Raises:
        CommandError: it says so already, the season is sealed, or the line has to be written by hand.
    """
    season = challenge.season
    if challenge.is_final:
        raise CommandError(USAGE, f"challenge.yml says already that the submissions of season {season} have ended; merge it")
    if challenge.sealed:
        raise CommandError(USAGE, f"season {season} is sealed, and has no final draws; run 'pullrank season reveal' instead")
    text = re.sub(r"^final:.*\n?", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    line = f'final: "{season}"'
    changed = _SEASON_LINE.sub(lambda found: f"{found[0]}\n{line}", text, count=1)
    try:
        is_final = parse_challenge(changed.encode()).is_final
    except LoadError:
        is_final = False
    if not is_final:
        raise CommandError(USAGE, f"challenge.yml is written in a form of its own; write {line} below its season by hand")
    write_atomically(path, changed.encode())


def refuse_missing_draws(checkout: Checkout, now: datetime) -> None:
    """Make sure that every standing version has its final draw, which alone ranks in the end.

    Raises:
        CommandError: submissions have not ended, or draws are missing.
    """
    season = checkout.challenge.season
    if not checkout.challenge.is_final:
        steps = "run 'pullrank season final', merge challenge.yml, and close it when the official run has made them"
        raise CommandError(USAGE, f"season {season} has no final draws yet; {steps}")
    missing = [work_in_words(item) for item in missing_draws(checkout, final_entries(checkout), now)]
    if missing:
        steps = "wait for the official run, then run 'pullrank recorded' and close it"
        shown = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        raise CommandError(USAGE, f"season {season} lacks {len(missing)} final draws ({shown}); {steps}")


def missing_draws(checkout: Checkout, final: FinalEntries, now: datetime) -> Iterator[WorkItem | DuelWorkItem]:
    """The final draws that the official run still has to make, whatever evaluator made the others."""
    challenge, moderation = checkout.challenge, checkout.moderation
    entries = [entry for entry in final.entries if moderation.of(entry.login, entry.agent) is None]
    results, duels = checkout.results, checkout.duels
    where = MeasurementContext(runtime_digest="0" * 64, beacon=final.beacon, locks=lock_digests())
    admitted = admit(challenge, entries, results, duels, where, admission_context(checkout, entries, now))
    folders = version_folders(entries)
    digests = {task.id: task.digest() for task in challenge.tasks}
    records: list[Result | Duel] = [*results, *duels]
    official = [record for record in records if is_official(record)]
    drawn = Counter(
        (record.task, *map(folders.of, _sides(record)))
        for record in official
        if (record.beacon, record.season, digests.get(record.task)) == (final.beacon, challenge.season, record.task_digest)
        for _ in range(1 if record.verdict is Verdict.INTERNAL_ERROR else INTERNAL_ERROR_TRIES)
    )
    seen = {(record.task, side.login.casefold()) for record in official for side in _sides(record)}
    for item in admitted.items:
        names = tuple(entry.name for entry in item.players)
        phase = challenge.phase_of(item.task_id)
        # Nobody here can see who is a member of a team; who is has been evaluated before, or is by the official run.
        is_unknown = bool(phase and phase.teams) and (item.task_id, names[0].login) not in seen
        if drawn[item.task_id, *names] < INTERNAL_ERROR_TRIES and not is_unknown:
            yield item


def _sides(record: Result | Duel) -> Sequence[Result | PlayerRecord]:
    return record.players if isinstance(record, Duel) else (record,)
