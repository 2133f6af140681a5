"""A checkout of a leaderboard's repository: its challenge, submissions and recorded results."""

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from evaluator.host.digests.image_files import INSTALLED, default_base
from evaluator.host.loading.manifest import MANIFESTS
from evaluator.host.loading.submission_folder import SubmissionFolder, read_folder
from evaluator.host.loading.yaml_loader import LoadError, read_challenge, read_moderation
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.task import Task
from evaluator.model.identifiers import AGENT, AGENT_RULE, LOGIN
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.validation_messages import did_you_mean, nearest
from leaderboard.core.eligibility import with_quarantines, without_quarantined
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry
from leaderboard.core.store import CompactResults, DamagedFile, ResultStore
from leaderboard.core.version_folders import duplicate_fault, without_duplicates
from scripts.console import USAGE, CommandError, say
from scripts.repository.layout import EXAMPLE_AGENTS, SUBMISSIONS, record_store
from scripts.repository.season_file import RevealedSecret, SeasonFile, decrypt_revealed, read_seasons

_FILE_FIRST = re.compile(r"[^\s:']+:")


@dataclass(frozen=True, kw_only=True)
class AgentFolder:
    """An agent's folder after reading."""

    login: str
    """The owner's GitHub login, or `local`."""
    agent: str
    path: Path
    folder: SubmissionFolder
    baseline: bool = False
    """Whether the challenge names it for comparison."""

    @property
    def name(self) -> AgentName:
        """The key of an agent: login in lower case, and folder."""
        return AgentName.folded(self.login, self.agent)

    @property
    def shown(self) -> str:
        """The folder's path relative to the current directory, for messages."""
        return os.path.relpath(self.path, Path.cwd())

    def entry(self) -> Entry:
        """The agent as the leaderboard ranks it."""
        return Entry(
            login=self.login, agent=self.agent, submission=self.folder.submission, digest=self.folder.digest,
            baseline=self.baseline,
        )  # fmt: skip


NO_BOARD = "there is no challenge.yml here or above; run this inside a leaderboard's clone"


@dataclass(frozen=True)
class Checkout:
    """A clone of a leaderboard's repository."""

    root: Path
    other_challenge: Path | None = None
    is_lean: bool = False
    """Whether to keep results without seeds and folders without files, which saves memory when all are read to be shown."""

    @cached_property
    def challenge(self) -> Challenge:
        """challenge.yml, or `other_challenge`."""
        try:
            return read_challenge(self.other_challenge or self.root / "challenge.yml")
        except LoadError as error:
            raise CommandError(USAGE, *error.lines) from error

    @cached_property
    def moderation(self) -> Moderation:
        """moderation.yml; empty without one."""
        try:
            return read_moderation(self.root / "moderation.yml")
        except LoadError as error:
            raise CommandError(USAGE, *error.lines) from error

    @cached_property
    def store(self) -> ResultStore:
        """The recorded results, duels and traces."""
        return record_store(self.root)

    @cached_property
    def recorded(self) -> tuple[list[Result], list[DamagedFile]]:
        """The recorded results, and the files that cannot be read; read once."""
        if not self.is_lean:
            results, damaged = self.store.read()
            return decrypt_revealed(results, self.seasons), damaged
        lean = CompactResults()
        with self.store.reading(lean) as read:
            self.read_all()
            results, damaged = read()
        return [lean(result) for result in decrypt_revealed(results, self.seasons)], damaged

    @cached_property
    def seasons(self) -> SeasonFile:
        """The seasons that were revealed or closed."""
        return read_seasons(self.store.results)

    @property
    def revealed(self) -> RevealedSecret | None:
        """The reveal of the challenge's season; None while it is sealed, and where it is open."""
        return self.seasons.of(self.challenge.season).revealed if self.challenge.sealed else None

    @property
    def has_ended(self) -> bool:
        """Whether the season's submissions have ended: by challenge.yml or, in a sealed season, by its reveal."""
        return self.challenge.is_final or self.revealed is not None

    @cached_property
    def recorded_duels(self) -> tuple[list[Duel], list[DamagedFile]]:
        """The recorded duels, and the files that cannot be read; read once."""
        return self.store.read_duels()

    def find(self, path: Path) -> AgentFolder:
        """The agent in a folder.

        Raises:
            LoadError: it is not a submission; each line begins with the folder.
        """
        path = path if path.is_absolute() else Path.cwd() / path
        login = path.parent.name if path.parent.parent.name == SUBMISSIONS else EXAMPLES_LOGIN
        try:
            if not os.path.lexists(path):
                raise LoadError(f"{path}: cannot be read (No such file or directory); {self._folder_hint(path)}")
            if not AGENT.fullmatch(path.name):
                raise LoadError(f"an agent's folder is named with {AGENT_RULE}")
            if not LOGIN.fullmatch(login):
                raise LoadError(f"{login!r} is not a GitHub login; the folder is submissions/<your login>/<agent>")
            folder = read_folder(path, self.challenge.submissions)
        except LoadError as error:
            shown = os.path.relpath(path, Path.cwd())
            raise LoadError(*(_with_folder(shown, line.replace(str(path), shown)) for line in error.lines)) from error
        baseline = self.challenge.is_baseline(login, path.name, example=login == EXAMPLES_LOGIN)
        return AgentFolder(login=login, agent=path.name, path=path, folder=folder, baseline=baseline)

    def _folder_hint(self, path: Path) -> str:
        """For a path that is not there: the agent's folder that was probably meant, by its path, login/agent or name."""
        shown: dict[str, str] = {}
        for folder in self.folders:
            relative = os.path.relpath(folder, Path.cwd())
            login = EXAMPLES_LOGIN if folder.parent.name == EXAMPLE_AGENTS else folder.parent.name
            for name in (relative, f"{login}/{folder.name}", folder.name):
                shown.setdefault(name.casefold(), relative)
        wanted = os.path.relpath(path, Path.cwd()).casefold()
        near = wanted if wanted in shown else nearest(wanted, shown)
        if near is not None:
            return f"did you mean '{shown[near]}'?"
        return "name the folder of an agent" + (f", such as {next(iter(shown.values()))}" if shown else "")

    @cached_property
    def folders(self) -> list[Path]:
        """The folders of all agents: submissions first, then example agents."""
        submitted = sorted(p for p in self.root.glob("submissions/*/*") if p.is_dir() and not p.name.startswith("."))
        examples = sorted(p for p in self.root.glob("example_agents/*") if any((p / name).exists() for name in MANIFESTS))
        return [*submitted, *examples]

    def read_all(self) -> tuple[list[AgentFolder], list[str]]:
        """All valid agents, and a line for each fault of the others; read once."""
        return self._all[:2]

    @cached_property
    def _all(self) -> tuple[list[AgentFolder], list[str], frozenset[AgentName]]:
        entries: list[AgentFolder] = []
        faults: list[str] = []
        for path in self.folders:
            try:
                entry = self.find(path)
                # Ten thousand agents with weights would fill the memory.
                entries.append(replace(entry, folder=replace(entry.folder, blobs=())) if self.is_lean else entry)
            except LoadError as error:
                faults.extend(error.lines)
        duplicates = without_duplicates([each.entry() for each in entries])[1]
        shown = {each.name: each.shown for each in entries}
        faults += [
            f"{shown[agent.name]}: is left out: it {duplicate_fault(shown[other.name])}" for agent, other in duplicates
        ]
        left_out = frozenset(agent.name for agent, _ in duplicates)
        return [each for each in entries if each.name not in left_out], faults, left_out

    @cached_property
    def results(self) -> list[Result]:
        """The results that count: without those in quarantine, and of agents whose folder is faulty, not withdrawn.

        Once submissions have ended, what a folder holds now changes nothing: its owner knows all scores.
        """
        recorded = without_quarantined(self.recorded[0], self.moderation)
        if self.has_ended:
            return recorded
        read = {agent.name for agent in self._all[0]}
        broken = {(path.parent.name.casefold(), path.name) for path in self.folders} - read - self._all[2]
        return [each for each in recorded if (each.login.casefold(), each.agent) not in broken] if broken else recorded

    @cached_property
    def duels(self) -> list[Duel]:
        """The duels that count: without those in quarantine."""
        return without_quarantined(self.recorded_duels[0], self.moderation)

    def with_quarantines(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """Entries that know which of their records are in quarantine."""
        if not self.moderation.quarantines:
            return tuple(entries)
        return with_quarantines(entries, self.every_record, self.moderation)

    @property
    def every_record(self) -> list[Result | Duel]:
        """All results and duels, also those in quarantine."""
        return [*self.recorded[0], *self.recorded_duels[0]]

    def tasks(self, ids: list[str] | None) -> list[Task]:
        """The tasks with these ids or titles, or all tasks."""
        if not ids:
            return list(self.challenge.tasks)
        by_id = {task.id: task for task in self.challenge.tasks}
        ids = [_task_id(by_id, word) for word in ids]
        if unknown := next((i for i in ids if i not in by_id), None):
            raise CommandError(USAGE, f"there is no task {unknown!r}; {did_you_mean(unknown, by_id, 'the tasks are')}")
        return [by_id[i] for i in ids]

    def games(self, ids: list[str] | None) -> list[Task]:
        """The games with these ids or titles, or all games."""
        by_id = {task.id: task for task in self.challenge.games}
        if not by_id:
            raise CommandError(USAGE, "this challenge has no game; challenge.yml names one with 'game' instead of 'env'")
        ids = [_task_id({task.id: task for task in self.challenge.tasks}, word) for word in ids or []]
        if wrong := next((i for i in ids if i not in by_id), None):
            solo = self.challenge.task(wrong) is not None
            if solo:
                fault = f"{wrong} is played alone, with 'pullrank evaluate'; the games are {', '.join(by_id)}"
            else:
                fault = f"there is no game {wrong!r}; {did_you_mean(wrong, by_id, 'the games are')}"
            raise CommandError(USAGE, fault)
        return [by_id[i] for i in ids] if ids else list(by_id.values())


def _task_id(by_id: Mapping[str, Task], word: str) -> str:
    """The id of the only task of that id or title, whatever its capitals; the word itself without one, or with several."""
    named = [task.id for task in by_id.values() if word.casefold() in (task.id.casefold(), (task.title or "").casefold())]
    return word if word in by_id or len(named) != 1 else named[0]


def say_damaged(kind: str, damaged: Iterable[DamagedFile]) -> None:
    """Report the files that are left out. `kind`: result or duel."""
    for file in damaged:
        say(f"{file.path}: is not a {kind} ({file.reason}); it is left out")


def _with_folder(folder: str, line: str) -> str:
    if line.startswith(folder):
        return line
    # A line about a file begins with its path, one about the folder with words.
    return f"{folder}/{line}" if _FILE_FIRST.match(line) else f"{folder}: {line}"


def open_checkout(start: Path, challenge: Path | None = None, *, is_lean: bool = False) -> Checkout:
    """The checkout that holds the folder `start`.

    Raises:
        CommandError: no challenge.yml in `start` or above.
    """
    # What was installed from a board's repository scores by its rules in every other folder, and records in this one.
    for root in (start, *start.parents):
        if (root / "challenge.yml").is_file() and not _is_of_an_agent(root):
            _find_modules_in(root)
            return Checkout(root, challenge, is_lean)
    if (INSTALLED / "challenge.yml").is_file():
        _find_modules_in(INSTALLED)
        return Checkout(start, challenge or INSTALLED / "challenge.yml", is_lean)
    raise CommandError(USAGE, NO_BOARD)


def open_board(start: Path) -> Checkout:
    """The checkout of a board's own clone, for what reads or writes the files of the board itself.

    Raises:
        CommandError: `start` is in none; an installed command takes its rules from elsewhere there.
    """
    checkout = open_checkout(start)
    if checkout.other_challenge is not None:
        raise CommandError(USAGE, NO_BOARD)
    return checkout


def _is_of_an_agent(root: Path) -> bool:
    """Whether a challenge.yml lies in an agent's folder: it would choose what is imported outside of the sandbox."""
    if any((root / name).exists() for name in ("agent.py", *MANIFESTS)):
        return True
    boards = [above for above in root.parents if (above / "challenge.yml").is_file()]
    return any(root.relative_to(board).parts[0] in (SUBMISSIONS, EXAMPLE_AGENTS) for board in boards)


def _find_modules_in(root: Path) -> None:
    """Let the host's own modules beside challenge.yml be found; last on the path, they cannot shadow ours."""
    if str(root) not in sys.path:
        sys.path.append(str(root))


def base_image(environment: Mapping[str, str]) -> str:
    """The evaluator's base image: the variable BASE_IMAGE, or the one in the Dockerfile."""
    return environment.get("BASE_IMAGE") or default_base()
