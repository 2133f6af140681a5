"""A temporary repository for a rehearsal's commits, and the files it commits; the user's clone is not touched."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from evaluator.host.loading.submission_folder import SubmissionFolder, assemble
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.host.process_owner import scratch_folder
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.people import CustomField, People
from evaluator.model.config.submission import MANIFEST_NAME, SubmissionKind
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.identifiers import AGENT, safe_path_segment
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_record
from evaluator.model.records.result import Result
from leaderboard.core.store import RECORD_ENDING
from scripts.console import OUR_FAULT, SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.git.data_branches import BranchCommit, make_commit
from scripts.git.git_repository import OBJECT_NAME, Credentials, GitError, GitRepository, full_sha
from scripts.git.pull_request_guard import by_casefold
from scripts.git.tree_diff import tree_changes
from scripts.github.api.responses import GitHubAccount
from scripts.new_agents.new_agent import NewAgent, template_for, yaml_quoted
from scripts.repository.layout import MAIN_BRANCH, RESULTS_BRANCH

AGENT_NAME = "Rehearsal"
_DESCRIPTION = "A rehearsal of the host's, to see that the board works. It is withdrawn again at once."


def choose_task(challenge: Challenge, task_id: str | None) -> Task:
    """The task that the rehearsal enters: the wanted one, or the first that is played alone, or the first.

    Raises:
        CommandError: there is no such task.
    """
    if task_id is None:
        alone = [task for task in challenge.tasks if task.game is None and task.script is None]
        return (alone or list(challenge.tasks))[0]
    if task := challenge.task(task_id):
        return task
    names = ", ".join(task.id for task in challenge.tasks)
    raise CommandError(USAGE, f"challenge.yml on main has no task {task_id!r}; its tasks are {names}")


def rehearsal_files(challenge: Challenge, task: Task, folder: str, token: str) -> dict[str, bytes]:
    """The files that `pullrank new` writes for a task, plus one comment; by path from the repository's root.

    `folder`: `submissions/<login>/<agent>`. `token`: a text that makes this version unique.
    """
    template = template_for(SubmissionKind.POLICY if task.script is None else SubmissionKind.SCRIPT, None)
    assert template is not None, "every kind has a template"
    with scratch_folder("rehearsal") as temporary:
        root = Path(temporary)
        new_agent = NewAgent(
            template=template, folder=root / folder, name=AGENT_NAME, tasks=(task,), all_tasks=False, root=root,
            people=challenge.people,
        )  # fmt: skip
        new_agent.write()
        texts = {path.name: path.read_text(encoding="utf-8") for path in (root / folder).iterdir()}
    source = next(name for name in sorted(texts) if name.endswith(".py"))
    texts[source] += f"\n# Rehearsal {token}: but for this comment it is the example that 'pullrank new' writes.\n"
    texts[MANIFEST_NAME] += f"description: {yaml_quoted(_DESCRIPTION)}\n{_answers(challenge.people)}"
    return {f"{folder}/{name}": text.encode() for name, text in texts.items()}


def _answers(people: People) -> str:
    """Manifest lines that answer what the challenge asks of authors."""
    lines = ["terms: true"] if people.terms is not None else []
    required = [field for field in people.fields if field.required]
    lines += ["meta:"] if required else []
    lines += [f"  {yaml_quoted(field.name)}: {_answer(field)}" for field in required]
    return "".join(f"{line}\n" for line in lines)


def _answer(field: CustomField) -> str:
    match field.kind:
        case "boolean":
            return "true"
        case "choice":
            return yaml_quoted(field.options[0])
        case "text":
            return yaml_quoted(AGENT_NAME)


BRANCH_PREFIX = "pullrank-rehearsal-"
REHEARSAL_BRANCH = re.compile(rf"{BRANCH_PREFIX}({AGENT.pattern})-([0-9a-f]{{8}})(-withdraw)?")


@dataclass(frozen=True, kw_only=True)
class WorkingCopy:
    """A bare repository whose origin is the leaderboard's repository."""

    repository: GitRepository
    url: str

    def tip(self, branch: str, url: str | None = None) -> str | None:
        """The newest commit of a remote branch; None if there is none. `url` defaults to the leaderboard's repository."""
        return self._refs(f"refs/heads/{branch}", url).get(branch)

    def rehearsals(self, url: str) -> dict[str, str]:
        """The remote branches of rehearsals, each with its newest commit."""
        return {
            name: sha
            for name, sha in self._refs(f"refs/heads/{BRANCH_PREFIX}*", url).items()
            if REHEARSAL_BRANCH.fullmatch(name)
        }

    def _refs(self, pattern: str, url: str | None) -> dict[str, str]:
        lines = self.repository.run("ls-remote", "--refs", "--", url or self.url, pattern).decode("utf-8", "replace")
        pairs = [line.split("\t", 1) for line in lines.splitlines()]
        return {name.removeprefix("refs/heads/"): sha for sha, name in pairs if OBJECT_NAME.fullmatch(sha)}

    def fetched_main(self) -> str:
        """Fetch main with its history; returns its newest commit.

        Raises:
            CommandError: there is no branch main.
        """
        sha = self.tip(MAIN_BRANCH)
        if sha is None:
            raise CommandError(OUR_FAULT, f"the repository has no branch {MAIN_BRANCH}; push your board first")
        self.repository.fetch(sha)
        return sha

    def owner_folder(self, commit: str, login: str) -> str:
        """The spelling of a login's folder in a commit; the login if it has none."""
        return by_casefold(self.repository.logins(commit)).get(login.casefold(), login)

    def has_folder(self, commit: str, folder: str) -> bool:
        """Whether a commit has a folder."""
        return bool(self.repository.leaves(commit, folder))

    def agent(self, commit: str, folder: str, limits: SubmissionLimits) -> SubmissionFolder:
        """An agent's folder in a commit, checked as the evaluator does.

        Raises:
            CommandError: it is not there, or not a valid submission.
        """
        try:
            return assemble(self.repository.blobs(commit, folder), limits)
        except LoadError as error:
            raise CommandError(
                SUBMISSION_AT_FAULT, f"{folder} of {commit[:12]} is not a valid submission: {error.lines[0]}"
            ) from error

    def changed_outside(self, main: str, head: str, folder: str) -> str | None:
        """A path outside of an agent's folder that a commit changes since it left main; None if there is none."""
        changed = (change.path for change in tree_changes(self.repository, main, head, folder.split("/")[1]))
        other = next((path for path in changed if not path.startswith(f"{folder}/".encode())), None)
        return None if other is None else other.decode("utf-8", "backslashreplace")

    def contains(self, commit: str, ancestor: str) -> bool:
        """Whether `ancestor` is in the history of `commit`."""
        return ancestor in self.repository.merge_bases(ancestor, commit)

    def commit(self, base: str, changes: Mapping[str, bytes | None], message: str, who: GitHubAccount, now: datetime) -> str:
        """Create a commit on `base`, with files' new contents by path; None removes a file. Returns its hash."""
        files = tuple((path, content) for path, content in changes.items() if content is not None)
        removed = tuple(path for path, content in changes.items() if content is None)
        commit = BranchCommit(message=message, files=files, removed=removed)
        identity = f"{who.login} <{who.id}+{who.login}@users.noreply.github.com>"
        return make_commit(self.repository, base, commit, now, identity)

    def push(self, commit: str, branch: str, url: str | None, name: str) -> None:
        """Push a commit to a rehearsal's branch of the repository `name`.

        Raises:
            CommandError: the remote refuses.
        """
        try:
            self._push(f"+{full_sha(commit)}:refs/heads/{branch}", branch, url)
        except GitError as error:
            line = f"the branch {branch} cannot be pushed to {name}: {error}; use a token that may write there"
            raise CommandError(SUBMISSION_AT_FAULT, line) from error

    def delete(self, branch: str, url: str | None = None) -> bool:
        """Delete a rehearsal's branch; returns whether there was one.

        Raises:
            GitError: the remote refuses.
        """
        if self.tip(branch, url) is None:
            return False
        self._push(f":refs/heads/{branch}", branch, url)
        return True

    def _push(self, refspec: str, branch: str, url: str | None) -> None:
        assert REHEARSAL_BRANCH.fullmatch(branch), "a rehearsal may write to its own branches only"
        self.repository.run("push", "--quiet", "--no-verify", "--", url or self.url, refspec)

    def records(self, task: str, login: str, agent: str) -> tuple[str, list[Result | Duel]]:
        """The newest commit of the results branch (empty without one), and its records of an agent on a task."""
        tip = self.tip(RESULTS_BRANCH)
        if tip is None:
            return "", []
        self.repository.fetch(tip, options=("--depth=1",))
        leaves = self.repository.leaves(tip, safe_path_segment(task))
        oids = [leaf.oid for leaf in leaves if leaf.mode == "100644" and _may_be_of(leaf.text, agent)]
        records = []
        for content in self.repository.read(oids):
            try:
                record = parse_record(content)
            except ValueError:
                continue  # The job that publishes reports damaged files.
            if any((side.login.casefold(), side.agent) == (login.casefold(), agent) for side in record.sides):
                records.append(record)
        return tip, records


def _may_be_of(path: str, agent: str) -> bool:
    """Whether a path may be of an agent's record: a quick filter, the record itself is checked later."""
    return path.endswith(RECORD_ENDING) and (f"/{agent}/" in path or f"+{agent}" in path)


@contextmanager
def open_working_copy(url: str, token: str) -> Iterator[WorkingCopy]:
    """A temporary repository, removed at the end. The token is sent to the server of `url` only.

    Raises:
        CommandError: `url` has a scheme that is not allowed.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http", "file"):
        raise CommandError(OUR_FAULT, f"GitHub names {parts.scheme or 'no'} address to clone from; https is needed")
    credentials = Credentials(server_url=f"{parts.scheme}://{parts.netloc}", token=token) if parts.netloc else None
    with scratch_folder("rehearsal") as temporary:
        repository = GitRepository(Path(temporary), credentials)
        repository.run("init", "--quiet", "--bare", ".")
        repository.run("config", "remote.origin.url", url)
        yield WorkingCopy(repository=repository, url=url)
