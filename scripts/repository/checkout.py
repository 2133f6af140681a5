"""One board on disk: its challenge, its entries, its store."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from evaluator.host.digests.image_files import default_base
from evaluator.host.loading.submission_folder import SubmissionFolder, read_folder
from evaluator.host.loading.yaml_loader import LoadError, parse_moderation, read_challenge
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.moderation import Moderation
from evaluator.model.identifiers import AGENT, LOGIN
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import PREVIEW_BEACON as PREVIEW_BEACON
from evaluator.model.records.result import Result
from leaderboard.core.eligibility import LOCAL as LOCAL
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.store import CompactResults, DamagedFile, ResultStore
from leaderboard.core.versions import twin_fault, without_twins
from scripts.console import USAGE, CommandError
from scripts.repository.season_file import Seasons, opened, read_seasons


@dataclass(frozen=True, kw_only=True)
class SubmissionEntry:
    """An agent's folder, read."""

    login: str
    """Its owner, or `local`."""
    agent: str
    """Its folder's name."""
    path: Path
    """Where it lies."""
    folder: SubmissionFolder
    """What is in it."""
    baseline: bool = False
    """Whether the challenge names it for comparison."""

    @property
    def name(self) -> AgentName:
        """By which it is found: login without capitals, and folder."""
        return AgentName.folded(self.login, self.agent)

    @property
    def shown(self) -> str:
        """The folder as messages name it: from where one is."""
        return os.path.relpath(self.path, Path.cwd())

    def entry(self) -> Entry:
        """What ranks."""
        return Entry(
            login=self.login, agent=self.agent, submission=self.folder.submission, digest=self.folder.digest,
            baseline=self.baseline,
        )  # fmt: skip


@dataclass(frozen=True)
class Checkout:
    """A clone of a board's repository."""

    root: Path
    other_challenge: Path | None = None
    is_lean: bool = False
    """Whether results are kept without their seeds, for who reads all of them to show them."""

    @cached_property
    def challenge(self) -> Challenge:
        """challenge.yml, or the other one asked for; a fault in it is the host's, told line by line."""
        try:
            return read_challenge(self.other_challenge or self.root / "challenge.yml")
        except LoadError as error:
            raise CommandError(USAGE, *error.lines) from error

    @cached_property
    def moderation(self) -> Moderation:
        """moderation.yml, if there is one."""
        path = self.root / "moderation.yml"
        try:
            return parse_moderation(path.read_bytes()) if path.exists() else Moderation()
        except LoadError as error:
            raise CommandError(USAGE, *error.lines) from error
        except OSError as error:
            raise CommandError(USAGE, f"{path.name}: cannot be read ({error.strerror}); make it a file") from error

    @cached_property
    def store(self) -> ResultStore:
        """Results and traces."""
        return self.store_at(self.root / "results")

    @cached_property
    def recorded(self) -> tuple[list[Result], list[DamagedFile]]:
        """What the store held when this was first asked."""
        if not self.is_lean:
            found, damaged = self.store.read()
            return opened(found, self.seasons), damaged
        lean = CompactResults()
        with self.store.reading(lean) as read:
            self.read_all()
            found, damaged = read()
        return [lean(result) for result in opened(found, self.seasons)], damaged

    @cached_property
    def seasons(self) -> Seasons:
        """Which seasons were revealed or closed."""
        return read_seasons(self.store.results)

    @cached_property
    def recorded_duels(self) -> tuple[list[Duel], list[DamagedFile]]:
        """The duels that the store held when this was first asked."""
        return self.store.read_duels()

    def store_at(self, results: Path) -> ResultStore:
        """Results in another place, their traces beside them."""
        return ResultStore(results=results, traces=results.parent / "traces")

    def find(self, path: Path) -> SubmissionEntry:
        """The agent in a folder.

        Raises:
            LoadError: it is not a submission; every line begins with the folder.
        """
        path = path if path.is_absolute() else Path.cwd() / path
        login = path.parent.name if path.parent.parent.name == "submissions" else LOCAL
        try:
            if not AGENT.fullmatch(path.name):
                raise LoadError("an agent's folder is named with 1 to 40 lower-case letters, digits, '.', '_' or '-'")
            if not LOGIN.fullmatch(login):
                raise LoadError(f"{login!r} is not a GitHub login; the folder is submissions/<your login>/<agent>")
            folder = read_folder(path, self.challenge.submissions)
        except LoadError as error:
            shown = os.path.relpath(path, Path.cwd())
            raise LoadError(*(_under(shown, line.replace(str(path), shown)) for line in error.lines)) from error
        baseline = self.challenge.is_baseline(login, path.name, example=login == LOCAL)
        return SubmissionEntry(login=login, agent=path.name, path=path, folder=folder, baseline=baseline)

    @cached_property
    def folders(self) -> list[Path]:
        """Every folder that should hold an agent: submissions first, then the examples."""
        submitted = sorted(p for p in self.root.glob("submissions/*/*") if p.is_dir() and not p.name.startswith("."))
        examples = sorted(p for p in self.root.glob("example_agents/*") if (p / "submission.yml").exists())
        return [*submitted, *examples]

    def read_all(self) -> tuple[list[SubmissionEntry], list[str]]:
        """Every agent, and a line for every fault that kept one out; read once."""
        return self._all[:2]

    @cached_property
    def _all(self) -> tuple[list[SubmissionEntry], list[str], frozenset[AgentName]]:
        found: list[SubmissionEntry] = []
        faults: list[str] = []
        for path in self.folders:
            try:
                found.append(self._kept(self.find(path)))
            except LoadError as error:
                faults.extend(error.lines)
        twins = without_twins([one.entry() for one in found])[1]
        shown = {one.name: one.shown for one in found}
        faults += [f"{shown[one.name]}: is left out: it {twin_fault(shown[other.name])}" for one, other in twins]
        names = frozenset(one.name for one, _ in twins)
        return [one for one in found if one.name not in names], faults, names

    def _kept(self, found: SubmissionEntry) -> SubmissionEntry:
        """Of an agent that is only shown, its files are not: ten thousand with weights would fill the memory."""
        return replace(found, folder=replace(found.folder, blobs=())) if self.is_lean else found

    @cached_property
    def results(self) -> list[Result]:
        """What is recorded, without the agents whose folder is here but cannot be read: they were not withdrawn."""
        read = {agent.name for agent in self._all[0]}
        broken = {(path.parent.name.casefold(), path.name) for path in self.folders} - read - self._all[2]
        whole = self.recorded[0]
        return [one for one in whole if (one.login.casefold(), one.agent) not in broken] if broken else whole

    def tasks(self, ids: list[str] | None) -> list[Task]:
        """The tasks of those ids, or all of them."""
        if not ids:
            return list(self.challenge.tasks)
        known = {task.id: task for task in self.challenge.tasks}
        if unknown := next((i for i in ids if i not in known), None):
            raise CommandError(USAGE, f"there is no task {unknown!r}; the tasks are {', '.join(known)}")
        return [known[i] for i in ids]

    def games(self, ids: list[str] | None) -> list[Task]:
        """The games of those ids, or all of them."""
        known = {task.id: task for task in self.challenge.games}
        if not known:
            raise CommandError(USAGE, "this board has no game; challenge.yml names one with 'game' instead of 'env'")
        if wrong := next((i for i in ids or [] if i not in known), None):
            solo = self.challenge.task(wrong) is not None
            fault = f"{wrong} is played alone, with 'pullrank evaluate'" if solo else f"there is no game {wrong!r}"
            raise CommandError(USAGE, f"{fault}; the games are {', '.join(known)}")
        return [known[i] for i in ids] if ids else list(known.values())


def _under(folder: str, line: str) -> str:
    return line if line.startswith(folder) else f"{folder}/{line}"


def open_checkout(start: Path, challenge: Path | None = None, *, is_lean: bool = False) -> Checkout:
    """The board whose clone holds the folder.

    Raises:
        CommandError: there is none.
    """
    for place in (start, *start.parents):
        if (place / "challenge.yml").is_file():
            # A host's own modules, environments and metrics, may lie beside challenge.yml; ours are found before them.
            if str(place) not in sys.path:
                sys.path.append(str(place))
            return Checkout(place, challenge, is_lean)
    raise CommandError(USAGE, "there is no challenge.yml here or above; run this inside a board's clone")


def base_image(environment: Mapping[str, str]) -> str:
    """The evaluator's base image: BASE_IMAGE, or the one that the Dockerfile names."""
    return environment.get("BASE_IMAGE") or default_base()
