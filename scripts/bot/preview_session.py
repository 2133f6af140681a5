"""What a preview has so far, and the two files that say so: written anew after every evaluation, so a kill loses little."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from evaluator.model.challenge import Task
from evaluator.model.preview import Agent, Preview
from evaluator.model.result import Result, sealed
from leaderboard.preview_log import Tail, written
from leaderboard.store import write_atomically
from scripts.board import Board, Found
from scripts.bot.artifact import LOG, PREVIEW, PREVIEW_BYTES
from scripts.bot.event import PullEvent

NOTES, NOTE = 100, 1000
FAULTS = 50


@dataclass(kw_only=True)
class Changed:
    """One changed folder and what came of it so far."""

    login: str
    """Its owner."""
    agent: str
    """Its name."""
    found: Found | None = None
    """What is in it; None where that cannot be used."""
    tasks: tuple[Task, ...] = ()
    """Those that it enters."""
    faults: tuple[str, ...] = ()
    """Why it is not played."""
    results: list[Result] = field(default_factory=list)
    """What was measured so far."""

    def document(self) -> Agent:
        """What preview.json says of it."""
        if self.found is None:
            return Agent(login=self.login, agent=self.agent, faults=tuple(line[:NOTE] for line in self.faults[:FAULTS]))
        folder = self.found.folder
        results = tuple(_without_log(result) for result in self.results)
        return Agent(
            login=self.login, agent=self.agent, submission_digest=folder.digest, name=folder.submission.name, results=results
        )


@dataclass(kw_only=True)
class Session:
    """One preview under way; everything is written down after every evaluation."""

    board: Board
    """Main's, as it was checked out."""
    pull: PullEvent
    """The pull request."""
    evaluator_sha: str
    """Main's commit."""
    out: Path
    """Where the two files go."""
    run_url: str
    """The workflow run."""
    folders: list[Changed] = field(default_factory=list)
    """The changed folders."""
    skipped: list[str] = field(default_factory=list)
    """What is not played, and why."""

    def skip(self, line: str) -> None:
        """Note what is not played, and why."""
        if len(self.skipped) < NOTES:
            self.skipped.append(line[:NOTE])

    def preview(self) -> Preview:
        """What there is so far."""
        return Preview(
            schema=1, head_sha=self.pull.head_sha, evaluator_sha=self.evaluator_sha, skipped=tuple(self.skipped),
            agents=tuple(folder.document() for folder in self.folders),
        )  # fmt: skip

    def log(self) -> bytes:
        """The ends of the agents' logs."""
        results = [result for folder in self.folders for result in folder.results]
        return written(Tail(who=who(r.login, r.agent, r.task), verdict=r.verdict, text=r.log_tail) for r in results)

    def write(self) -> Preview:
        """Put both files where the workflow uploads them from."""
        preview = self._fitting()
        write_atomically(self.out / LOG, self.log())
        write_atomically(self.out / PREVIEW, serialised(preview))
        return preview

    def _fitting(self) -> Preview:
        """What there is so far, without the results that there is no room for."""
        while len(serialised(preview := self.preview())) > PREVIEW_BYTES:
            fullest = max(self.folders, key=lambda folder: len(folder.results))
            dropped = fullest.results.pop()
            self.skip(f"{who(dropped.login, dropped.agent, dropped.task)}: played, but its episodes do not fit a preview")
        return preview


def serialised(preview: Preview) -> bytes:
    """The bytes of preview.json."""
    return json.dumps(preview.document(), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def who(login: str, agent: str, task: str) -> str:
    """One evaluation in words: the same in the log, where the comment looks for it."""
    return f"{login}/{agent} on {task}"


def _without_log(result: Result) -> Result:
    """The result as preview.json holds it: the log has a file of its own."""
    return sealed({**result.document(), "log_tail": ""}) if result.log_tail else result
