"""The rehearsal: enter an agent, check the preview, merge, check results and site, withdraw. Its state is read from GitHub.

It may be stopped at any time: the same command continues from the state it finds.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import RehearsalEntry
from leaderboard.text.escape_markdown import cell
from scripts.console import OK, STOPPED, SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.github.api.client import GitHub, GitHubError
from scripts.github.api.downloads import fetch_page
from scripts.github.api.responses import GitHubAccount, PullRequest
from scripts.rehearsal import prerequisites
from scripts.rehearsal import rehearsal_observations as observations
from scripts.rehearsal.prerequisites import PushTarget, UnfinishedRehearsal
from scripts.rehearsal.rehearsal_observations import FetchPage, Observation, ObservedState, printable
from scripts.rehearsal.working_copy import (
    BRANCH_PREFIX,
    REHEARSAL_BRANCH,
    WorkingCopy,
    choose_task,
    open_working_copy,
    rehearsal_files,
)
from scripts.repository.layout import MAIN_BRANCH, SUBMISSIONS
from scripts.repository.moderation_file import MODERATION_FILE, with_rehearsal_entry

MERGEABLE_TRIES, MERGEABLE_PAUSE = 30, 2.0
# GitHub's status where a branch has a pull request already, among other reasons.
_UNPROCESSABLE = 422
RUN_AGAIN = "Then run the same command again to continue, or with --withdraw to give up."
STEP_POLL_SECONDS = 10.0
START_MINUTES, PREVIEW_MINUTES, FOLLOW_UP_MINUTES, OFFICIAL_MINUTES = 10.0, 75.0, 15.0, 180.0
"""How long to wait: for a run to start, a preview, what follows a run at once (a comment, a deployment), an official run."""


@dataclass(frozen=True, kw_only=True)
class StepClock:
    """The current time, and waiting; replaced in tests."""

    now: Callable[[], float] = time.monotonic
    """Seconds since an arbitrary start."""
    pause: Callable[[float], None] = time.sleep
    day: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(kw_only=True)
class StepRunner:
    """The steps of one call of the command."""

    clock: StepClock
    say: Callable[[str], None]
    minutes: float | None = None
    """Time limit of each step, instead of the defaults."""
    rows: list[str] = field(default_factory=list)
    """The finished steps, each a row of a table in Markdown."""

    def wait(self, name: str, expected: str, observe: Callable[[], Observation], minutes: float, advice: str) -> str:
        """Observe every 10 seconds until the state is SEEN; returns the observation's text.

        Raises:
            CommandError: the state is WRONG, or not SEEN within `minutes`; the message is one line and ends with `advice`.
        """
        limit = self.minutes if self.minutes is not None else minutes
        started = self.clock.now()
        while True:
            observation = observe()
            waited = self.clock.now() - started
            if observation.state is ObservedState.SEEN:
                self.note(name, expected, observation.text, waited)
                return observation.text
            if observation.state is ObservedState.WRONG:
                raise CommandError(SUBMISSION_AT_FAULT, f"{name}: expected {expected}; seen: {observation.text}. {advice}")
            if waited >= limit * 60:
                line = f"{name}: expected {expected}, within {limit:g} minutes; last seen: {observation.text}. {advice}"
                raise CommandError(SUBMISSION_AT_FAULT, line)
            self.clock.pause(STEP_POLL_SECONDS)

    def note(self, name: str, expected: str, seen: str, seconds: float = 0.0) -> None:
        """Print and remember a finished step."""
        at = self.clock.day().strftime("%H:%M:%S")
        self.rows.append(f"| {at} | {name} | {cell(expected)} | {cell(seen)} | {seconds:.0f} s |")
        self.say(f"{at}  {name} ({seconds:.0f} s): expected {expected}; seen: {seen}")

    def table(self) -> str:
        """The steps as a Markdown table."""
        return "\n".join(["| UTC | Step | Expected | Seen | Waited |", "|---|---|---|---|---|", *self.rows])


@dataclass(frozen=True, kw_only=True)
class RehearsalRequest:
    """The options of `pullrank rehearse`, and how GitHub, the site and the user are reached."""

    agent: str
    fork: str | None
    """LOGIN or LOGIN/NAME; None for a branch of the repository itself."""
    task: str | None
    name: str
    """`owner/name` of the repository."""
    token: str
    api: str
    confirm: Callable[[str], bool]
    fetch: FetchPage = fetch_page
    """Reads a page of the site; returns HTTP status and body."""
    pace: float = 1.0
    """Seconds between two writes, for GitHub's rate limits."""


@dataclass(frozen=True, kw_only=True)
class EnteredAgent:
    """The agent of this rehearsal."""

    pull: PullRequest
    login: str
    """Spelled as in the folder's path."""
    agent: str
    digest: str
    task: str

    @property
    def folder(self) -> str:
        """The path from the repository's root."""
        return f"{SUBMISSIONS}/{self.login}/{self.agent}"

    @property
    def name(self) -> tuple[str, str]:
        """The agent's name: login and folder."""
        return self.login, self.agent


@dataclass(kw_only=True)
class Rehearsal:
    """One call of `pullrank rehearse`."""

    github: GitHub
    connect: prerequisites.ConnectRepository
    about: dict[str, Any]
    """GitHub's description of the repository."""
    home: PushTarget
    account: GitHubAccount
    working_copy: WorkingCopy
    steps: StepRunner
    request: RehearsalRequest
    site: str = field(default="", init=False)

    def run(self) -> int:
        """Do all remaining steps; returns the exit code.

        Raises:
            CommandError: a step failed or GitHub refuses; the message is one line with what to do.
        """
        self.site = observations.site_address(self.github)
        unfinished = self._find_unfinished()
        entered = self._entered(unfinished)
        if not entered.pull.merged:
            self._wait_preview(entered)
            if not self._may_merge(entered.pull):
                return STOPPED
        sha = self._ensure_merged(entered.pull, "merge")
        withdrawal = unfinished.withdrawal if unfinished else None
        self._wait_official(entered, sha, is_leaving=bool(withdrawal and withdrawal.merged))
        self._wait_withdrawn(entered, self._open_withdrawal(entered, withdrawal))
        self._finish(entered)
        return OK

    def give_up(self) -> int:
        """Close the pull request or withdraw the agent, without waiting for workflows; returns the exit code."""
        unfinished = self._find_unfinished()
        if unfinished is None:
            self.steps.say("You have no unfinished rehearsal: there is nothing to withdraw.")
            return OK
        if not unfinished.pull.merged:
            self.github.close_pull(unfinished.pull.number)
            self.steps.note("give up", "the pull request is closed", f"{self._page(unfinished.pull)} is closed")
        else:
            entered = self._read_agent(unfinished.pull, unfinished.agent)
            self._ensure_merged(self._open_withdrawal(entered, unfinished.withdrawal), "merge the withdrawal")
        self._delete_branches(unfinished.pull)
        if unfinished.pull.merged:
            self._post_report(unfinished.pull, "Given up: not every step was checked.")
        return OK

    # State

    def _find_unfinished(self) -> UnfinishedRehearsal | None:
        return prerequisites.find_unfinished(self.github, self.account, self._pulls())

    def _pulls(self) -> list[PullRequest]:
        return self.github.newest_pulls(prerequisites.SEARCHED_PULLS)

    def _page(self, pull: PullRequest) -> str:
        return f"{self.about['html_url']}/pull/{pull.number}"

    def _challenge(self, main: str) -> Challenge:
        try:
            return parse_challenge(self.working_copy.repository.file(main, "challenge.yml") or b"")
        except LoadError as error:
            raise CommandError(USAGE, f"challenge.yml on main is faulty: {error.lines[0]}; correct it first") from error

    # Entering

    def _entered(self, unfinished: UnfinishedRehearsal | None) -> EnteredAgent:
        if unfinished is None:
            return self._open_entering()
        entered = self._read_agent(unfinished.pull, unfinished.agent)
        state = "merged" if unfinished.pull.merged else "open"
        self.steps.note("pull request", "the unfinished rehearsal continues", f"{self._page(unfinished.pull)}, {state}")
        return entered

    def _read_agent(self, pull: PullRequest, agent: str) -> EnteredAgent:
        """The agent of a pull request, which may change nothing else on main.

        Raises:
            CommandError: it does, or the agent is no valid submission.
        """
        main = self.working_copy.fetched_main()
        self.working_copy.repository.fetch(pull.head_sha)
        challenge = self._challenge(main)
        login = self.working_copy.owner_folder(pull.head_sha, self.account.login)
        path = f"{SUBMISSIONS}/{login}/{agent}"
        # Whoever else may write to the fork can have pushed more. The bot would let it pass in the host's own folders.
        if not pull.merged and (other := self.working_copy.changed_outside(main, pull.head_sha, path)):
            line = f"{self._page(pull)} changes {printable(other)}, which is no part of a rehearsal"
            steps = f"close it, and delete the branch {pull.head_branch} of {pull.head_repository}"
            raise CommandError(SUBMISSION_AT_FAULT, f"{line}; {steps}")
        folder = self.working_copy.agent(pull.head_sha, path, challenge.submissions)
        task = choose_task(challenge, next(iter(folder.submission.tasks), None))
        return EnteredAgent(pull=pull, login=login, agent=agent, digest=folder.digest, task=task.id)

    def _open_entering(self) -> EnteredAgent:
        main = self.working_copy.fetched_main()
        head = prerequisites.find_fork(self.connect, self.request.fork, self.home) if self.request.fork else self.home
        login = self.working_copy.owner_folder(main, self.account.login)
        folder = f"{SUBMISSIONS}/{login}/{self.request.agent}"
        if self.working_copy.has_folder(main, folder):
            line = f"{folder} is on main, and not from a rehearsal of yours; choose another name with --agent"
            raise CommandError(USAGE, line)
        branch = self._interrupted_branch(head, folder) or self._new_branch(main, head, folder)
        pull = self._open_pull(head, branch, "Rehearsal: enter an agent", _ENTERING)
        entered = self._read_agent(pull, self.request.agent)
        kind = f"from the fork {head.name}" if head != self.home else "from a branch: the fork's path stays unproven"
        self.steps.note("pull request", "it is open, with one agent and nothing else", f"{self._page(pull)} {kind}")
        return entered

    def _interrupted_branch(self, head: PushTarget, folder: str) -> str | None:
        """A branch that an earlier call pushed, but did not open a pull request for."""
        with_pull = {pull.head_branch for pull in self._pulls()}
        for name, sha in sorted(self.working_copy.rehearsals(head.url).items()):
            match = REHEARSAL_BRANCH.fullmatch(name)
            if match and match[1] == self.request.agent and not match[3] and name not in with_pull:
                self.working_copy.repository.fetch(sha, source=head.url)
                if self.working_copy.has_folder(sha, folder):
                    return name
        return None

    def _new_branch(self, main: str, head: PushTarget, folder: str) -> str:
        base = main if head == self.home else self._fork_base(main, head, folder)
        challenge = self._challenge(main)
        task = choose_task(challenge, self.request.task)
        token = secrets.token_hex(4)
        files = rehearsal_files(challenge, task, folder, token)
        commit = self.working_copy.commit(base, files, "Rehearse: enter an agent", self.account, self.steps.clock.day())
        branch = f"{BRANCH_PREFIX}{self.request.agent}-{token}"
        self.working_copy.push(commit, branch, head.url, head.name)
        return branch

    def _fork_base(self, main: str, head: PushTarget, folder: str) -> str:
        """The fork's newest commit, so that only the agent is pushed to the fork."""
        base = self.working_copy.tip(head.branch, head.url)
        if base is not None:
            self.working_copy.repository.fetch(base, source=head.url)
            if self.working_copy.contains(main, base) and not self.working_copy.has_folder(base, folder):
                return base
        line = f"the fork's branch {printable(head.branch)} is not an earlier state of main; press 'Sync fork' on its page"
        raise CommandError(SUBMISSION_AT_FAULT, f"{line} https://github.com/{head.name}. {RUN_AGAIN}")

    def _open_pull(self, head: PushTarget, branch: str, title: str, body: str) -> PullRequest:
        name = branch if head == self.home else f"{head.name.partition('/')[0]}:{branch}"
        try:
            return self.github.open_pull(name, MAIN_BRANCH, title, body)
        except GitHubError as error:
            if error.status == _UNPROCESSABLE:
                for pull in self._pulls():
                    # There is one already: GitHub's answer to an earlier try was lost.
                    if pull.author_id == self.account.id and pull.head_branch == branch:
                        return pull
            line = f"the pull request cannot be opened: {error}; the branch {branch} of {head.name} is ready"
            raise CommandError(SUBMISSION_AT_FAULT, f"{line}. {RUN_AGAIN}") from error

    # Before the merge

    def _wait_preview(self, entered: EnteredAgent) -> None:
        pull = entered.pull
        runs = f"{self.about['html_url']}/actions/workflows"
        checks = f"Look at {self._page(pull)} and {runs}/preview.yml. {RUN_AGAIN}"
        report = f"Look at {runs}/report.yml: it comments. {RUN_AGAIN}"
        for name, expected, observe, minutes, advice in (
            ("preview begins", "GitHub starts the workflow preview", observations.preview_began, START_MINUTES, checks),
            ("preview ends", "it succeeds", observations.preview_ended, PREVIEW_MINUTES, checks),
            ("comment", "one, with score and place", observations.preview_commented, FOLLOW_UP_MINUTES, report),
            ("status", "success on the commit", observations.status_set, FOLLOW_UP_MINUTES, report),
        ):
            self.steps.wait(name, expected, partial(observe, self.github, pull), minutes, advice)

    def _may_merge(self, pull: PullRequest) -> bool:
        question = (
            f"Merge {self._page(pull)}? Until it is withdrawn, which this command does next, the agent is on the board "
            "and may take a place from others"
        )
        if self.request.confirm(question):
            return True
        self.steps.say(f"Not merged. {RUN_AGAIN}")
        return False

    def _ensure_merged(self, pull: PullRequest, step: str) -> str:
        """The merge commit on main; merges the pull request if it is open."""
        current = self._until_mergeable(pull)
        sha = current.merge_commit_sha if current.merged else self._merge(pull, step)
        if sha is None:
            raise CommandError(
                SUBMISSION_AT_FAULT, f"{step}: GitHub does not say what merged {self._page(pull)}. {RUN_AGAIN}"
            )
        self.steps.note(step, "a commit on main", f"{self.about['html_url']}/commit/{sha}")
        return sha

    def _until_mergeable(self, pull: PullRequest) -> PullRequest:
        """The pull request, after GitHub has computed whether it can be merged, which takes some seconds after a push."""
        for _ in range(MERGEABLE_TRIES):
            current = self.github.pull(pull.number)
            if current.merged or current.state == "closed" or current.mergeable is not None:
                break
            self.steps.clock.pause(MERGEABLE_PAUSE)
        return current

    def _merge(self, pull: PullRequest, step: str) -> str | None:
        method = "merge" if self.about.get("allow_merge_commit", True) else "squash"
        try:
            return self.github.merge_pull(pull.number, pull.head_sha, method)
        except GitHubError as error:
            current = self.github.pull(pull.number)
            if current.merged:  # GitHub's answer to an earlier try was lost.
                return current.merge_commit_sha
            line = f"{step}: GitHub refuses to merge {self._page(pull)}: {printable(str(error))}"
            raise CommandError(
                SUBMISSION_AT_FAULT, f"{line}. Merge it there, or correct what it names. {RUN_AGAIN}"
            ) from error

    # After the merge

    def _wait_official_run(self, sha: str, title: str) -> None:
        advice = f"Look at {self.about['html_url']}/actions/workflows/official.yml. {RUN_AGAIN}"
        begins = partial(observations.official_began, self.github, sha)
        self.steps.wait(f"{title} begins", "GitHub starts the workflow official", begins, START_MINUTES, advice)
        ends = partial(observations.official_ended, self.github, sha)
        self.steps.wait(f"{title} ends", "it succeeds", ends, OFFICIAL_MINUTES, advice)

    def _wait_official(self, entered: EnteredAgent, sha: str, *, is_leaving: bool) -> None:
        self._wait_official_run(sha, "official run")
        self._wait_recorded(entered, "results branch")
        if not is_leaving:
            shown = partial(
                observations.shown_on_site, self.request.fetch, self.site, entered.name, entered.digest, entered.task
            )
            self._wait_site("site", "the agent, ranked", shown)
        self._wait_announced(entered.pull, "Official:", "final comment", "one, with the official score")

    def _wait_recorded(self, entered: EnteredAgent, step: str) -> None:
        runs = f"{self.about['html_url']}/actions/runs"
        observe = partial(observations.result_recorded, self.working_copy, entered.task, entered.name, entered.digest, runs)
        advice = f"Look at the official run's job publish, and whether a phase or a quota holds the agent back. {RUN_AGAIN}"
        self.steps.wait(step, "the record of exactly this version", observe, FOLLOW_UP_MINUTES, advice)

    def _wait_site(self, step: str, expected: str, observe: Callable[[str], Observation]) -> None:
        """Look at the site by ever new addresses, to bypass caches."""
        advice = f"Look at {self.about['html_url']}/deployments and open {self.site}. {RUN_AGAIN}"
        self.steps.wait(step, expected, lambda: observe(secrets.token_hex(4)), FOLLOW_UP_MINUTES, advice)

    def _wait_announced(self, pull: PullRequest, beginning: str, step: str, expected: str) -> None:
        observe = partial(observations.result_announced, self.github, pull.number, beginning)
        advice = f"Look at {self._page(pull)} and the job announce of the official run. {RUN_AGAIN}"
        self.steps.wait(step, expected, observe, FOLLOW_UP_MINUTES, advice)

    # Withdrawing

    def _open_withdrawal(self, entered: EnteredAgent, pull: PullRequest | None) -> PullRequest:
        """The pull request that removes the agent and marks its record; not from a fork: only hosts edit moderation.yml."""
        if pull is None:
            branch = f"{entered.pull.head_branch}-withdraw"
            main = self.working_copy.fetched_main()
            self.working_copy.push(self._removal_commit(main, entered), branch, None, self.home.name)
            body = _WITHDRAWING.format(number=entered.pull.number)
            pull = self._open_pull(self.home, branch, f"Rehearsal: withdraw the agent of #{entered.pull.number}", body)
        self.steps.note("withdrawal", "a pull request that removes the agent and marks its record", self._page(pull))
        return pull

    def _removal_commit(self, main: str, entered: EnteredAgent) -> str:
        leaves = self.working_copy.repository.leaves(main, entered.folder)
        changes: dict[str, bytes | None] = {leaf.path.decode(): None for leaf in leaves}
        before = self.working_copy.repository.file(main, MODERATION_FILE) or b""
        day = self.steps.clock.day()
        since = day.date().isoformat()
        mark = RehearsalEntry(login=entered.login, agent=entered.agent, digest=entered.digest, since=since)
        changes[MODERATION_FILE] = with_rehearsal_entry(before, mark)
        message = f"Rehearse: withdraw the agent of #{entered.pull.number}"
        return self.working_copy.commit(main, changes, message, self.account, day)

    def _wait_withdrawn(self, entered: EnteredAgent, pull: PullRequest) -> None:
        self._wait_official_run(self._ensure_merged(pull, "merge the withdrawal"), "last official run")
        main = self.working_copy.fetched_main()
        if self.working_copy.has_folder(main, entered.folder):
            raise CommandError(SUBMISSION_AT_FAULT, f"{entered.folder} is still on main; remove it. {RUN_AGAIN}")
        is_game = any(task.id == entered.task and task.game is not None for task in self._challenge(main).tasks)
        gone = partial(observations.gone_from_site, self.request.fetch, self.site, entered.name, is_game=is_game)
        self._wait_site("site again", "no entry, and the record marked as a rehearsal", gone)
        self._wait_recorded(entered, "results branch again")
        self._wait_announced(pull, "Withdrawn", "last comment", "one that says that it is withdrawn")

    # The end

    def _finish(self, entered: EnteredAgent) -> None:
        self._delete_branches(entered.pull)
        from_fork = entered.pull.head_repository_id != self.home.id
        unproven = "" if from_fork else " The fork's path stays unproven: it came from a branch; --fork LOGIN rehearses it."
        text = f"Every step was as expected. No entry is left; the record stays, marked as a rehearsal.{unproven}"
        self._post_report(entered.pull, text)
        self.steps.say(text)

    def _delete_branches(self, pull: PullRequest) -> None:
        """Delete both branches, if they still exist."""
        withdrawal = f"{pull.head_branch}-withdraw"
        deleted = [withdrawal] if self.working_copy.delete(withdrawal) else []
        if pull.head_repository:
            url = self.home.url
            if pull.head_repository_id != self.home.id:
                url = str((self.connect(pull.head_repository).setting("") or {}).get("clone_url", ""))
            if url and self.working_copy.delete(pull.head_branch, url):
                deleted.append(pull.head_branch)
        seen = f"deleted {', '.join(deleted)}" if deleted else "none is left"
        self.steps.note("branches", "the rehearsal's are deleted", seen)

    def _post_report(self, pull: PullRequest, text: str) -> None:
        """Comment the steps on the pull request; a later call sees by this comment that the rehearsal is finished."""
        self.github.create_comment(
            pull.number, f"{prerequisites.FINISHED}\n### Rehearsal\n\n{text}\n\n{self.steps.table()}\n"
        )


def rehearse(request: RehearsalRequest, steps: StepRunner, *, gives_up: bool = False) -> int:
    """Rehearse, or give a rehearsal up; returns the exit code.

    Raises:
        CommandError: a step failed or GitHub refuses; the message is one line with what to do.
    """

    def connect(repository: str) -> GitHub:
        return GitHub(request.token, request.api, repository, sleep=steps.clock.pause, pace=request.pace)

    github = connect(request.name)
    account = prerequisites.token_account(github)
    about = prerequisites.check_repository(github, request.name)
    home = prerequisites.parse_push_target(about)
    with open_working_copy(home.url, request.token) as working_copy:
        rehearsal = Rehearsal(
            github=github, connect=connect, about=about, home=home, account=account, working_copy=working_copy, steps=steps,
            request=request,
        )  # fmt: skip
        return rehearsal.give_up() if gives_up else rehearsal.run()


_ENTERING = (
    "Opened by `pullrank rehearse`, which waits for the preview, the comment and the status, merges this, checks the "
    "official run, the results and the site, and withdraws the agent again.\n"
)
_WITHDRAWING = (
    "Opened by `pullrank rehearse`: removes the agent of #{number}, and marks what was recorded of it as a rehearsal in "
    "`moderation.yml`. The record itself stays as it is.\n"
)
