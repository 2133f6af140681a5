"""What a preview has so far, and the two files that say so: written anew after every evaluation, so a kill loses little."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel, sealed_duel
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.result import Result, sealed
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.log_excerpt import LogTail, written
from leaderboard.core.store import write_atomically
from scripts.github.preview.artifact import LOG_FILE, PREVIEW_BYTES, PREVIEW_FILE
from scripts.github.workflow.event import PullEvent
from scripts.repository.checkout import Checkout, SubmissionEntry
from scripts.runs.workflow_duels import between, duel_line

MAX_NOTES, NOTE_CHARACTERS = 100, 1000
MAX_FAULTS = 50


@dataclass(kw_only=True)
class ChangedAgent:
    """One changed folder and what came of it so far."""

    login: str
    agent: str
    found: SubmissionEntry | None = None
    """None if the folder cannot be used."""
    tasks: tuple[Task, ...] = ()
    """Those that it enters."""
    faults: tuple[str, ...] = ()
    """Why it is not played."""
    results: list[Result] = field(default_factory=list)
    duels: list[Duel] = field(default_factory=list)
    """Its validations and its duels with others so far."""

    def document(self) -> PreviewedAgent:
        """What preview.json says of it."""
        if self.found is None:
            return PreviewedAgent(
                login=self.login, agent=self.agent, faults=tuple(line[:NOTE_CHARACTERS] for line in self.faults[:MAX_FAULTS])
            )
        folder = self.found.folder
        results = tuple(_without_log(result) for result in self.results)
        return PreviewedAgent(
            login=self.login, agent=self.agent, submission_digest=folder.digest, name=folder.submission.name,
            results=results, duels=tuple(_without_log_and_times(duel) for duel in self.duels),
        )  # fmt: skip

    def side(self, duel: Duel) -> int:
        """Which side of a duel of its own it has."""
        return [player.name for player in duel.players].index((self.login.casefold(), self.agent))

    def drop(self) -> str | None:
        """Leave out what was played last, and say so; None where there is nothing."""
        if self.duels:
            duel = self.duels.pop()
            return f"{duel_line(duel)}; there is no room for its matches in a preview"
        if self.results:
            dropped = self.results.pop()
            name = evaluation_name(dropped.login, dropped.agent, dropped.task)
            return f"{name}: played, but its episodes do not fit a preview"
        return None


@dataclass(kw_only=True)
class PreviewSession:
    """One preview under way; everything is written down after every evaluation."""

    board: Checkout
    pull: PullEvent
    evaluator_sha: str
    """Main's commit."""
    out: Path
    """Folder of preview.json and preview.log."""
    run_url: str
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    folders: list[ChangedAgent] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """A line for everything that is not played, with the reason."""

    def skip(self, line: str) -> None:
        """Note what is not played, and why."""
        if len(self.skipped) < MAX_NOTES:
            self.skipped.append(line[:NOTE_CHARACTERS])

    def preview(self) -> Preview:
        """What there is so far."""
        return Preview(
            schema=1, head_sha=self.pull.head_sha, evaluator_sha=self.evaluator_sha, skipped=tuple(self.skipped),
            agents=tuple(folder.document() for folder in self.folders),
        )  # fmt: skip

    def log(self) -> bytes:
        """The ends of the agents' logs; of a duel only what the changed agent printed."""
        return written(tail for folder in self.folders for tail in _log_tails(folder))

    def write(self) -> Preview:
        """Put both files where the workflow uploads them from."""
        preview = self._fitting()
        write_atomically(self.out / LOG_FILE, self.log())
        write_atomically(self.out / PREVIEW_FILE, serialised_preview(preview))
        return preview

    def _fitting(self) -> Preview:
        """What there is so far, without the results that there is no room for."""
        while len(serialised_preview(preview := self.preview())) > PREVIEW_BYTES:
            fullest = max(self.folders, key=lambda folder: (len(folder.duels), len(folder.results)))
            line = fullest.drop()
            assert line is not None
            self.skip(line)
        return preview


def _log_tails(folder: ChangedAgent) -> Iterator[LogTail]:
    for result in folder.results:
        yield LogTail(
            who=evaluation_name(result.login, result.agent, result.task), verdict=result.verdict, text=result.log_tail
        )
    for duel in folder.duels:
        own = duel.players[folder.side(duel)]
        if duel.is_validation or own.verdict is not Verdict.OK:
            yield LogTail(who=f"{between(duel)} on {duel.task}", verdict=own.verdict, text=own.log_tail)


def serialised_preview(preview: Preview) -> bytes:
    """The bytes of preview.json."""
    return json.dumps(preview.document(), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def evaluation_name(login: str, agent: str, task: str) -> str:
    """One evaluation in words: the same in the log, where the comment looks for it."""
    return f"{login}/{agent} on {task}"


def _without_log(result: Result) -> Result:
    """The result as preview.json holds it: the log has a file of its own."""
    return sealed({**result.document(), "log_tail": ""}) if result.log_tail else result


def _without_log_and_times(duel: Duel) -> Duel:
    """The duel as preview.json holds it: the log has a file of its own, and times are not needed to rate it."""
    document = duel.document()
    players = [{**player, "log_tail": ""} for player in document["players"]]
    plies = sum(match.plies for match in duel.matches)
    times = TraceLeaf.of(np.zeros(plies, np.int64)) if duel.milliseconds else None
    return sealed_duel({**document, "players": players, "milliseconds": times})
