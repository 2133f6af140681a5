"""Where a rehearsal's commits are made: a repository of its own that is gone afterwards; the host's clone is not touched."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from evaluator.host.loading.submission_folder import SubmissionFolder, assemble
from evaluator.host.loading.yaml_loader import LoadError, parse_moderation
from evaluator.model.config.challenge import Challenge, SubmissionLimits, Task
from evaluator.model.config.moderation import RehearsalEntry
from evaluator.model.config.participants import CustomField, People
from evaluator.model.config.submission import MANIFEST_NAME, SubmissionKind
from evaluator.model.identifiers import AGENT, safe_path_segment
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from leaderboard.core.store import RESULT
from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.git.data_branches import RESULTS, parse_record
from scripts.git.git_repository import SHA, Credentials, GitError, GitRepository, checked
from scripts.git.path_guard import owners_on
from scripts.git.tree_diff import ROOT
from scripts.runs.new_agent import NewAgent, quoted, template_for

MODERATION = "moderation.yml"
NAME = "Rehearsal"
_DESCRIPTION = "A rehearsal of the host's, to see that the board works. It is withdrawn again at once."
_LIST = re.compile(r"^rehearsals:[ \t]*(\[[ \t]*\])?[ \t]*(#.*)?$", re.MULTILINE)


def chosen_task(challenge: Challenge, wanted: str | None) -> Task:
    """The task that the rehearsal enters: the wanted one, else the first one played alone, else the first.

    Raises:
        CommandError: there is no such task.
    """
    if wanted is None:
        alone = [task for task in challenge.tasks if task.game is None and task.script is None]
        return (alone or list(challenge.tasks))[0]
    for task in challenge.tasks:
        if task.id == wanted:
            return task
    names = ", ".join(task.id for task in challenge.tasks)
    raise CommandError(USAGE, f"challenge.yml on main has no task {wanted!r}; its tasks are {names}")


def agent_files(challenge: Challenge, task: Task, folder: str, token: str) -> dict[str, bytes]:
    """The example that `pullrank new` writes for a task, changed by one comment; by path from the repository's root.

    Args:
        challenge: what the board asks of a submission.
        task: the one to enter.
        folder: `submissions/<login>/<agent>`.
        token: what makes this version another one than those before.
    """
    template = template_for(SubmissionKind.POLICY if task.script is None else SubmissionKind.SCRIPT, None)
    assert template is not None, "every kind has a template"
    with TemporaryDirectory(prefix="pullrank-rehearsal-") as place:
        root = Path(place)
        start = NewAgent(
            template=template, folder=root / folder, name=NAME, tasks=(task,), all_tasks=False, root=root,
            people=challenge.people,
        )  # fmt: skip
        start.write()
        texts = {path.name: path.read_text(encoding="utf-8") for path in (root / folder).iterdir()}
    source = next(name for name in sorted(texts) if name.endswith(".py"))
    texts[source] += f"\n# Rehearsal {token}: but for this comment it is the example that 'pullrank new' writes.\n"
    texts[MANIFEST_NAME] += f"description: {quoted(_DESCRIPTION)}\n{_answers(challenge.people)}"
    return {f"{folder}/{name}": text.encode() for name, text in texts.items()}


def _answers(people: People) -> str:
    """What the board asks of everybody, answered for a rehearsal."""
    lines = ["terms: true"] if people.terms is not None else []
    required = [field for field in people.fields if field.required]
    lines += ["meta:"] if required else []
    lines += [f"  {quoted(field.name)}: {_answer(field)}" for field in required]
    return "".join(f"{line}\n" for line in lines)


def _answer(field: CustomField) -> str:
    match field.kind:
        case "boolean":
            return "true"
        case "choice":
            return quoted(field.options[0])
        case "text":
            return quoted(NAME)


def marked(content: bytes, login: str, agent: str, digest: str, day: date) -> bytes:
    """moderation.yml with one more version that was a rehearsal; everything else in it stays as it is written.

    Raises:
        CommandError: the file is faulty, or written in a way that a line cannot be added to.
    """
    mark = RehearsalEntry(login=login, agent=agent, digest=digest, since=day.isoformat())
    try:
        if content.strip() and digest in parse_moderation(content).rehearsed(login, agent):
            return content
        made = _with_item(content.decode("utf-8"), mark).encode()
        if digest in parse_moderation(made).rehearsed(login, agent):
            return made
    except LoadError as error:
        raise CommandError(USAGE, f"{MODERATION} on main cannot be used: {error.lines[0]}; mend it first") from error
    raise CommandError(USAGE, f"{MODERATION} on main: its list 'rehearsals' is written in a way that cannot be added to")


def _with_item(text: str, mark: RehearsalEntry) -> str:
    place = _LIST.search(text)
    indent = "  "
    if place is not None:
        following = re.match(r"(?:\s*#[^\n]*\n|\s*\n)*([ \t]*)- ", text[place.end() :])
        indent = following[1] if following else indent
    fields = (
        f"login: {quoted(mark.login)}",
        f"agent: {quoted(mark.agent)}",
        f'digest: "{mark.digest}"',
        f'since: "{mark.since}"',
    )
    item = f"{indent}- " + f"\n{indent}  ".join(fields)
    if place is None:
        return f"{text.rstrip()}\nrehearsals:\n{item}\n".lstrip("\n")
    return f"{text[: place.start()]}rehearsals:\n{item}{text[place.end() :]}"


MAIN = "main"
PREFIX = "pullrank-rehearsal-"
BRANCH = re.compile(rf"{PREFIX}({AGENT.pattern})-([0-9a-f]{{8}})(-withdraw)?")


@dataclass(frozen=True, kw_only=True)
class Signature:
    """Who commits."""

    login: str
    id: int
    """GitHub's number, which its address without an inbox begins with."""

    @property
    def line(self) -> str:
        """As git writes it."""
        return f"{self.login} <{self.id}+{self.login}@users.noreply.github.com>"


@dataclass(frozen=True, kw_only=True)
class WorkingCopy:
    """A bare repository, with the board's as its origin."""

    repository: GitRepository
    url: str

    def tip(self, branch: str, url: str | None = None) -> str | None:
        """The newest commit of a branch there, of the board's repository where no other is named."""
        return self._refs(f"refs/heads/{branch}", url).get(branch)

    def rehearsals(self, url: str) -> dict[str, str]:
        """The branches there that rehearsals made, each with its newest commit."""
        return {name: sha for name, sha in self._refs(f"refs/heads/{PREFIX}*", url).items() if BRANCH.fullmatch(name)}

    def _refs(self, pattern: str, url: str | None) -> dict[str, str]:
        lines = self.repository.run("ls-remote", "--refs", "--", url or self.url, pattern).decode("utf-8", "replace")
        pairs = [line.split("\t", 1) for line in lines.splitlines()]
        return {name.removeprefix("refs/heads/"): sha for sha, name in pairs if SHA.fullmatch(sha)}

    def fetched_main(self) -> str:
        """The newest commit of main, fetched with its history.

        Raises:
            CommandError: there is no branch of that name.
        """
        sha = self.tip(MAIN)
        if sha is None:
            raise CommandError(OUR_FAULT, f"the repository has no branch {MAIN}; push your board first")
        self.repository.fetch(sha)
        return sha

    def text(self, commit: str, path: str) -> bytes | None:
        """A file of a commit, if it is there."""
        line = self.repository.run("ls-tree", "-z", "--full-tree", checked(commit), "--", path)
        words = line.partition(b"\t")[0].decode().split()
        return self.repository.read([words[2]])[0] if len(words) == 3 and words[1] == "blob" else None

    def owner_folder(self, commit: str, login: str) -> str:
        """How a login's folder is spelled on a commit, or would be."""
        return owners_on(self.repository.leaves(commit, ROOT)).get(login.casefold(), login)

    def stands(self, commit: str, folder: str) -> bool:
        """Whether a folder is there."""
        return bool(self.repository.leaves(commit, folder))

    def agent(self, commit: str, folder: str, limits: SubmissionLimits) -> SubmissionFolder:
        """An agent's folder, read as the referee reads it.

        Raises:
            CommandError: it is not there, or no agent.
        """
        try:
            return assemble(self.repository.blobs(commit, folder), limits)
        except LoadError as error:
            raise CommandError(
                SUBMISSION_AT_FAULT, f"{folder} of {commit[:12]} is no agent any more: {error.lines[0]}"
            ) from error

    def contains(self, commit: str, ancestor: str) -> bool:
        """Whether a commit's history holds another one."""
        return ancestor in self.repository.merge_bases(ancestor, commit)

    def commit(self, base: str, changes: Mapping[str, bytes | None], message: str, who: Signature, now: datetime) -> str:
        """A commit on top of another: files with their bytes, None to remove one."""
        text = message.encode()
        parts = [
            b"reset refs/pullrank/rehearsal\n\ncommit refs/pullrank/rehearsal\nmark :1\n",
            f"committer {who.line} {int(now.timestamp())} +0000\ndata {len(text)}\n".encode() + text + b"\n",
            f"from {checked(base)}\n".encode(),
        ]
        for path, content in changes.items():
            if content is None:
                parts.append(f"D {path}\n".encode())
            else:
                parts.append(f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n")
        parts.append(b"get-mark :1\ndone\n")
        return self.repository.run("fast-import", "--quiet", "--force", "--done", given=parts).decode().strip()

    def push(self, commit: str, branch: str, url: str | None = None) -> None:
        """Put a commit on a branch of a rehearsal.

        Raises:
            GitError: the remote refuses.
        """
        self._push(f"+{checked(commit)}:refs/heads/{branch}", branch, url)

    def delete(self, branch: str, url: str | None = None) -> bool:
        """Delete a rehearsal's branch; whether it was there.

        Raises:
            GitError: the remote refuses.
        """
        if self.tip(branch, url) is None:
            return False
        self._push(f":refs/heads/{branch}", branch, url)
        return True

    def _push(self, refspec: str, branch: str, url: str | None) -> None:
        assert BRANCH.fullmatch(branch), "a rehearsal writes to branches of its own only"
        self.repository.run("push", "--quiet", "--no-verify", "--", url or self.url, refspec)

    def records(self, task: str, login: str, agent: str) -> tuple[str, list[Result | Duel]]:
        """The newest commit of the results branch, empty without one, and what it holds of an agent on a task."""
        tip = self.tip(RESULTS)
        if tip is None:
            return "", []
        self.repository.fetch(tip, options=("--depth=1",))
        leaves = self.repository.leaves(tip, safe_path_segment(task))
        wanted = [one.oid for one in leaves if one.mode == "100644" and _is_of(one.path.decode("utf-8", "replace"), agent)]
        records = []
        for content in self.repository.read(wanted):
            try:
                record = parse_record(content)
            except ValueError:
                continue  # Damaged files are named by whoever publishes.
            sides = record.players if isinstance(record, Duel) else (record,)
            if any((one.login.casefold(), one.agent) == (login.casefold(), agent) for one in sides):
                records.append(record)
        return tip, records


def _is_of(path: str, agent: str) -> bool:
    """Whether a record's path can be of an agent: cheap, since the record itself says whose it is."""
    return path.endswith(RESULT) and (f"/{agent}/" in path or f"+{agent}" in path)


@contextmanager
def open_working_copy(url: str, token: str) -> Iterator[WorkingCopy]:
    """A repository for a rehearsal, gone afterwards whatever happens. The token goes to the server of `url` only.

    Raises:
        CommandError: the address is none that git may be given.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http", "file"):
        raise CommandError(OUR_FAULT, f"GitHub names {parts.scheme or 'no'} address to clone from; https is needed")
    credentials = Credentials(server_url=f"{parts.scheme}://{parts.netloc}", token=token) if parts.netloc else None
    with TemporaryDirectory(prefix="pullrank-rehearsal-") as place:
        repository = GitRepository(Path(place), credentials)
        repository.run("init", "--quiet", "--bare", ".")
        repository.run("config", "remote.origin.url", url)
        yield WorkingCopy(repository=repository, url=url)


def pushed(workplace: WorkingCopy, commit: str, branch: str, url: str | None, where: str) -> None:
    """Push, and say in one line what a refusal means.

    Raises:
        CommandError: the remote refuses.
    """
    try:
        workplace.push(commit, branch, url)
    except GitError as error:
        line = f"the branch {branch} cannot be pushed to {where}: {error}; use a token that may write there"
        raise CommandError(SUBMISSION_AT_FAULT, line) from error
