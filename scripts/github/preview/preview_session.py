"""What a preview has so far, and its two files, rewritten after every evaluation so that little is lost if it is killed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel, duel_with_self_hash
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.result import Result, with_self_hash
from evaluator.model.records.trace import TraceLeaf
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.log_excerpt import LogTail, write_preview_log
from leaderboard.core.store import write_atomically
from scripts.github.preview.artifact import LOG_FILE, PREVIEW_BYTES, PREVIEW_FILE
from scripts.github.workflow.event import PullEvent
from scripts.repository.checkout import AgentFolder, Checkout
from scripts.runs.play_duels import duel_line, player_names

MAX_NOTES, NOTE_CHARACTERS = 100, 1000
MAX_FAULTS = 50


@dataclass(kw_only=True)
class ChangedAgent:
    """A changed folder and its results so far."""

    login: str
    agent: str
    entry: AgentFolder | None = None
    """None if the folder cannot be used."""
    tasks: tuple[Task, ...] = ()
    faults: tuple[str, ...] = ()
    results: list[Result] = field(default_factory=list)
    duels: list[Duel] = field(default_factory=list)
    """Its validations and its duels with others so far."""

    def document(self) -> PreviewedAgent:
        """Its part of preview.json."""
        if self.entry is None:
            return PreviewedAgent(
                login=self.login, agent=self.agent, faults=tuple(line[:NOTE_CHARACTERS] for line in self.faults[:MAX_FAULTS])
            )
        folder = self.entry.folder
        results = tuple(_without_log(result) for result in self.results)
        return PreviewedAgent(
            login=self.login, agent=self.agent, submission_digest=folder.digest, name=folder.submission.name,
            results=results, duels=tuple(_without_log_and_times(duel) for duel in self.duels),
        )  # fmt: skip

    def side(self, duel: Duel) -> int:
        """Its index among the players of a duel."""
        return [player.name for player in duel.players].index((self.login.casefold(), self.agent))

    def drop(self) -> str | None:
        """Remove what was played last; returns a line about it, or None if there is nothing."""
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
    """One preview under way."""

    checkout: Checkout
    pull: PullEvent
    evaluator_sha: str
    out: Path
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
        """The content of preview.json so far."""
        return Preview(
            schema=1, head_sha=self.pull.head_sha, evaluator_sha=self.evaluator_sha, skipped=tuple(self.skipped),
            agents=tuple(folder.document() for folder in self.folders),
        )  # fmt: skip

    def log(self) -> bytes:
        """The ends of the agents' logs; of a duel only the changed agent's."""
        return write_preview_log(tail for folder in self.folders for tail in _log_tails(folder))

    def write(self) -> Preview:
        """Write both files for the upload."""
        preview = self._fitting()
        write_atomically(self.out / LOG_FILE, self.log())
        write_atomically(self.out / PREVIEW_FILE, serialised_preview(preview))
        return preview

    def _fitting(self) -> Preview:
        """The preview without results that do not fit its size limit."""
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
        player = duel.players[folder.side(duel)]
        if duel.is_validation or player.verdict is not Verdict.OK:
            yield LogTail(who=f"{player_names(duel)} on {duel.task}", verdict=player.verdict, text=player.log_tail)


def serialised_preview(preview: Preview) -> bytes:
    """The bytes of preview.json."""
    return json.dumps(preview.document(), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def evaluation_name(login: str, agent: str, task: str) -> str:
    """The name of one evaluation: the same in the log, where the comment looks for it."""
    return f"{login}/{agent} on {task}"


def _without_log(result: Result) -> Result:
    """The result for preview.json: logs have a file of their own."""
    return with_self_hash({**result.document(), "log_tail": ""}) if result.log_tail else result


def _without_log_and_times(duel: Duel) -> Duel:
    """The duel for preview.json: logs have a file of their own, and times are not needed to rate it."""
    document = duel.document()
    players = [{**player, "log_tail": ""} for player in document["players"]]
    plies = sum(match.plies for match in duel.matches)
    times = TraceLeaf.of(np.zeros(plies, np.int64)) if duel.milliseconds else None
    return duel_with_self_hash({**document, "players": players, "milliseconds": times})
