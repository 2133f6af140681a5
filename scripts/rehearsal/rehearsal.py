"""The rehearsal itself: enter, look at everything, merge, look again, withdraw. What was done is read from GitHub each time.

So it may be stopped anywhere: the same command goes on from what is there.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.challenge import Challenge
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError
from scripts.git.tree_diff import ROOT
from scripts.github.api.client import GitHub, GitHubError
from scripts.github.api.find_pull_request import PullRequest
from scripts.github.api.responses import GitHubAccount
from scripts.rehearsal import observations
from scripts.rehearsal.observations import Fetch, printable
from scripts.rehearsal.prerequisites import (
    FINISHED,
    LOOKED_AT,
    ReachFork,
    RehearsalPlace,
    UnfinishedRehearsal,
    fork,
    unfinished,
)
from scripts.rehearsal.steps import BEGIN, OFFICIAL, PREVIEW, SOON, StepRunner
from scripts.rehearsal.working_copy import (
    BRANCH,
    MAIN,
    MODERATION,
    PREFIX,
    Signature,
    WorkingCopy,
    agent_files,
    chosen_task,
    marked,
    pushed,
)

STOPPED = 130
MERGEABLE_TRIES, MERGEABLE_PAUSE = 30, 2.0
AGAIN = "Then run the same command again: it goes on from there; with --withdraw it gives up."


@dataclass(frozen=True, kw_only=True)
class RehearsalRequest:
    """What the host asked for."""

    agent: str
    fork: str | None
    """LOGIN or LOGIN/NAME of the fork that the pull request comes from."""
    task: str | None


@dataclass(frozen=True, kw_only=True)
class EnteredAgent:
    """The agent of this rehearsal."""

    pull: PullRequest
    login: str
    """Its owner, as the folder is spelled."""
    agent: str
    digest: str
    task: str

    @property
    def folder(self) -> str:
        """From the repository's root."""
        return f"{ROOT}/{self.login}/{self.agent}"

    @property
    def name(self) -> tuple[str, str]:
        """Login and folder."""
        return self.login, self.agent


@dataclass(kw_only=True)
class Rehearsal:
    """One call of the command."""

    github: GitHub
    reach: ReachFork
    """GitHub, for another repository."""
    about: dict[str, Any]
    """What GitHub says of the repository."""
    home: RehearsalPlace
    account: GitHubAccount
    workplace: WorkingCopy
    steps: StepRunner
    asked: RehearsalRequest
    confirm: Callable[[str], bool]
    fetch: Fetch
    site: str = field(default="", init=False)

    def run(self) -> int:
        """Everything that is left to do; returns the exit code.

        Raises:
            CommandError: a step was not as expected, or GitHub refuses; one line with what to do.
        """
        self.site = observations.site_address(self.github)
        begun = self._begun()
        entered = self._entered(begun)
        if not entered.pull.merged:
            self._before_merge(entered)
            if not self._may_merge(entered.pull):
                return STOPPED
        sha = self._merged(entered.pull, "merge")
        withdrawal = begun.withdrawal if begun else None
        self._after_merge(entered, sha, is_leaving=bool(withdrawal and withdrawal.merged))
        self._withdrawn(entered, self._withdrawal(entered, withdrawal))
        self._finish(entered)
        return OK

    def give_up(self) -> int:
        """Close what is open and withdraw what stands, without waiting for any workflow; returns the exit code."""
        begun = self._begun()
        if begun is None:
            self.steps.say("No rehearsal of yours is unfinished: there is nothing to withdraw.")
            return OK
        if not begun.pull.merged:
            self.github.close_pull(begun.pull.number)
            self.steps.note("give up", "the pull request is closed", f"{self._page(begun.pull)} is closed")
        else:
            entered = self._read(begun.pull, begun.agent)
            self._merged(self._withdrawal(entered, begun.withdrawal), "merge the withdrawal")
        self._clean(begun.pull)
        if begun.pull.merged:
            self._report(begun.pull, "Given up: not every step was looked at.")
        return OK

    # What was there before

    def _begun(self) -> UnfinishedRehearsal | None:
        return unfinished(self.github, self.account, self._pulls())

    def _pulls(self) -> list[PullRequest]:
        return self.github.newest_pulls(LOOKED_AT)

    def _page(self, pull: PullRequest) -> str:
        return f"{self.about['html_url']}/pull/{pull.number}"

    @cached_property
    def _signature(self) -> Signature:
        return Signature(login=self.account.login, id=self.account.id)

    def _challenge(self, main: str) -> Challenge:
        try:
            return parse_challenge(self.workplace.text(main, "challenge.yml") or b"")
        except LoadError as error:
            raise CommandError(USAGE, f"challenge.yml on main is faulty: {error.lines[0]}; mend it first") from error

    # Entering

    def _entered(self, begun: UnfinishedRehearsal | None) -> EnteredAgent:
        if begun is None:
            return self._enter()
        entered = self._read(begun.pull, begun.agent)
        state = "merged" if begun.pull.merged else "open"
        self.steps.note("pull request", "the unfinished rehearsal is gone on with", f"{self._page(begun.pull)}, {state}")
        return entered

    def _read(self, pull: PullRequest, agent: str) -> EnteredAgent:
        """What a pull request of an earlier call brings."""
        main = self.workplace.fetched_main()
        self.workplace.repository.fetch(pull.head_sha)
        challenge = self._challenge(main)
        login = self.workplace.owner_folder(pull.head_sha, self.account.login)
        folder = self.workplace.agent(pull.head_sha, f"{ROOT}/{login}/{agent}", challenge.submissions)
        task = chosen_task(challenge, next(iter(folder.submission.tasks), None))
        return EnteredAgent(pull=pull, login=login, agent=agent, digest=folder.digest, task=task.id)

    def _enter(self) -> EnteredAgent:
        main = self.workplace.fetched_main()
        head = fork(self.reach, self.asked.fork, self.home) if self.asked.fork else self.home
        login = self.workplace.owner_folder(main, self.account.login)
        folder = f"{ROOT}/{login}/{self.asked.agent}"
        if self.workplace.stands(main, folder):
            line = f"{folder} is on main, and no rehearsal of yours brought it; choose another name with --agent"
            raise CommandError(USAGE, line)
        branch = self._left_branch(head, folder) or self._new_branch(main, head, folder)
        pull = self._opened(head, branch, "Rehearsal: enter an agent", _ENTERING)
        kind = f"from the fork {head.name}" if head != self.home else "from a branch: the fork's path stays unproven"
        self.steps.note("pull request", "it is open, with one agent and nothing else", f"{self._page(pull)} {kind}")
        return self._read(pull, self.asked.agent)

    def _left_branch(self, head: RehearsalPlace, folder: str) -> str | None:
        """A branch that an earlier call pushed before it was stopped."""
        used = {pull.head_branch for pull in self._pulls()}
        for name, sha in sorted(self.workplace.rehearsals(head.url).items()):
            match = BRANCH.fullmatch(name)
            if match and match[1] == self.asked.agent and not match[3] and name not in used:
                self.workplace.repository.fetch(sha, source=head.url)
                if self.workplace.stands(sha, folder):
                    return name
        return None

    def _new_branch(self, main: str, head: RehearsalPlace, folder: str) -> str:
        base = main if head == self.home else self._fork_base(main, head, folder)
        challenge = self._challenge(main)
        task = chosen_task(challenge, self.asked.task)
        token = secrets.token_hex(4)
        files = agent_files(challenge, task, folder, token)
        commit = self.workplace.commit(base, files, "Rehearse: enter an agent", self._signature, self.steps.clock.day())
        branch = f"{PREFIX}{self.asked.agent}-{token}"
        pushed(self.workplace, commit, branch, head.url, head.name)
        return branch

    def _fork_base(self, main: str, head: RehearsalPlace, folder: str) -> str:
        """The fork's own newest commit: so nothing is pushed there but the agent."""
        base = self.workplace.tip(head.branch, head.url)
        if base is not None:
            self.workplace.repository.fetch(base, source=head.url)
            if self.workplace.contains(main, base) and not self.workplace.stands(base, folder):
                return base
        line = f"the fork's branch {printable(head.branch)} is not an earlier state of main; press 'Sync fork' on its page"
        raise CommandError(SUBMISSION_AT_FAULT, f"{line} https://github.com/{head.name}. {AGAIN}")

    def _opened(self, head: RehearsalPlace, branch: str, title: str, body: str) -> PullRequest:
        name = branch if head == self.home else f"{head.name.partition('/')[0]}:{branch}"
        try:
            return self.github.open_pull(name, MAIN, title, body)
        except GitHubError as error:
            own = (one for one in self._pulls() if one.author_id == self.account.id and one.head_branch == branch)
            if error.status == 422 and (there := next(own, None)) is not None:  # The answer to an earlier try was lost.
                return there
            line = f"the pull request cannot be opened: {error}; the branch {branch} of {head.name} is ready"
            raise CommandError(SUBMISSION_AT_FAULT, f"{line}. {AGAIN}") from error

    # Before the merge

    def _before_merge(self, entered: EnteredAgent) -> None:
        pull, github = entered.pull, self.github
        runs = f"{self.about['html_url']}/actions/workflows"
        checks = f"Look at {self._page(pull)} and {runs}/preview.yml. {AGAIN}"
        report = f"Look at {runs}/report.yml: it comments. {AGAIN}"
        wait = self.steps.wait
        wait(
            "preview begins",
            "GitHub starts the workflow preview",
            partial(observations.preview_began, github, pull),
            BEGIN,
            checks,
        )
        wait("preview ends", "it succeeds", partial(observations.preview_ended, github, pull), PREVIEW, checks)
        wait("comment", "one, with score and place", partial(observations.previewed, github, pull), SOON, report)
        wait("status", "success on the commit", partial(observations.status_set, github, pull), SOON, report)

    def _may_merge(self, pull: PullRequest) -> bool:
        question = (
            f"Merge {self._page(pull)}? Until it is withdrawn, which this command does next, the agent is on the board "
            "and may take a place from others"
        )
        if self.confirm(question):
            return True
        self.steps.say(f"Not merged. {AGAIN}")
        return False

    def _merged(self, pull: PullRequest, step: str) -> str:
        """Main's commit of a merge, merged now where it is not yet."""
        now = self._looked_through(pull)
        sha = now.merge_commit_sha if now.merged else self._merge(pull, step)
        if sha is None:
            raise CommandError(SUBMISSION_AT_FAULT, f"{step}: GitHub does not say what merged {self._page(pull)}. {AGAIN}")
        self.steps.note(step, "a commit on main", f"{self.about['html_url']}/commit/{sha}")
        return sha

    def _looked_through(self, pull: PullRequest) -> PullRequest:
        """The pull request once GitHub knows whether it can be merged, which takes it some seconds after a push."""
        for _ in range(MERGEABLE_TRIES):
            now = self.github.pull(pull.number)
            if now.merged or now.state == "closed" or now.mergeable is not None:
                break
            self.steps.clock.pause(MERGEABLE_PAUSE)
        return now

    def _merge(self, pull: PullRequest, step: str) -> str | None:
        method = "merge" if self.about.get("allow_merge_commit", True) else "squash"
        try:
            return self.github.merge_pull(pull.number, pull.head_sha, method)
        except GitHubError as error:
            now = self.github.pull(pull.number)
            if now.merged:  # The answer to an earlier try was lost.
                return now.merge_commit_sha
            line = f"{step}: GitHub refuses to merge {self._page(pull)}: {printable(str(error))}"
            raise CommandError(SUBMISSION_AT_FAULT, f"{line}. Merge it there, or mend what it names. {AGAIN}") from error

    # After the merge

    def _officials(self, sha: str, what: str) -> None:
        advice = f"Look at {self.about['html_url']}/actions/workflows/official.yml. {AGAIN}"
        begins = partial(observations.official_began, self.github, sha)
        self.steps.wait(f"{what} begins", "GitHub starts the workflow official", begins, BEGIN, advice)
        ends = partial(observations.official_ended, self.github, sha)
        self.steps.wait(f"{what} ends", "it succeeds", ends, OFFICIAL, advice)

    def _after_merge(self, entered: EnteredAgent, sha: str, *, is_leaving: bool) -> None:
        self._officials(sha, "official run")
        self._recorded(entered, "results branch")
        if not is_leaving:
            self._shown(entered)
        advice = f"Look at {self._page(entered.pull)} and the job announce of the official run. {AGAIN}"
        last = partial(observations.announced, self.github, entered.pull.number, "Official:")
        self.steps.wait("final comment", "one, with the official score", last, SOON, advice)

    def _recorded(self, entered: EnteredAgent, step: str) -> None:
        runs = f"{self.about['html_url']}/actions/runs"
        look = partial(observations.recorded, self.workplace, entered.task, entered.name, entered.digest, runs)
        advice = f"Look at the official run's job publish, and whether a phase or a quota holds the agent back. {AGAIN}"
        self.steps.wait(step, "the record of exactly this version", look, SOON, advice)

    def _shown(self, entered: EnteredAgent) -> None:
        def look() -> observations.Observation:
            token = secrets.token_hex(4)
            return observations.shown(self.fetch, self.site, entered.name, entered.digest, entered.task, token)

        advice = f"Look at {self.about['html_url']}/deployments and open {self.site}. {AGAIN}"
        self.steps.wait("site", "the agent, ranked", look, SOON, advice)

    # Withdrawing

    def _withdrawal(self, entered: EnteredAgent, there: PullRequest | None) -> PullRequest:
        """The pull request that removes the folder and marks what was recorded; from a branch, for only a host may mark."""
        if there is None:
            branch = f"{entered.pull.head_branch}-withdraw"
            main = self.workplace.fetched_main()
            pushed(self.workplace, self._removal(main, entered), branch, None, self.home.name)
            body = _WITHDRAWING.format(number=entered.pull.number)
            there = self._opened(self.home, branch, f"Rehearsal: withdraw the agent of #{entered.pull.number}", body)
        self.steps.note("withdrawal", "a pull request that removes the agent and marks its record", self._page(there))
        return there

    def _removal(self, main: str, entered: EnteredAgent) -> str:
        leaves = self.workplace.repository.leaves(main, entered.folder)
        changes: dict[str, bytes | None] = {leaf.path.decode(): None for leaf in leaves}
        before = self.workplace.text(main, MODERATION) or b""
        day = self.steps.clock.day()
        changes[MODERATION] = marked(before, entered.login, entered.agent, entered.digest, day.date())
        message = f"Rehearse: withdraw the agent of #{entered.pull.number}"
        return self.workplace.commit(main, changes, message, self._signature, day)

    def _withdrawn(self, entered: EnteredAgent, pull: PullRequest) -> None:
        self._officials(self._merged(pull, "merge the withdrawal"), "last official run")
        main = self.workplace.fetched_main()
        if self.workplace.stands(main, entered.folder):
            raise CommandError(SUBMISSION_AT_FAULT, f"{entered.folder} still stands on main; remove it. {AGAIN}")
        game = next((one.game is not None for one in self._challenge(main).tasks if one.id == entered.task), False)

        def look() -> observations.Observation:
            return observations.gone(self.fetch, self.site, entered.name, secrets.token_hex(4), is_game=game)

        advice = f"Look at {self.about['html_url']}/deployments and open {self.site}. {AGAIN}"
        self.steps.wait("site again", "no entry, and the record marked as a rehearsal", look, SOON, advice)
        self._recorded(entered, "results branch again")
        last = partial(observations.announced, self.github, pull.number, "Withdrawn")
        advice = f"Look at {self._page(pull)} and the job announce of the official run. {AGAIN}"
        self.steps.wait("last comment", "one that says that it is withdrawn", last, SOON, advice)

    # The end

    def _finish(self, entered: EnteredAgent) -> None:
        self._clean(entered.pull)
        from_fork = entered.pull.head_repository_id != self.home.id
        unproven = "" if from_fork else " The fork's path stays unproven: it came from a branch; --fork LOGIN rehearses it."
        words = f"Every step was as expected. No entry is left; the record stays, marked as a rehearsal.{unproven}"
        self._report(entered.pull, words)
        self.steps.say(words)

    def _clean(self, pull: PullRequest) -> None:
        """Delete both branches; what somebody deleted before is no fault."""
        done = [f"{pull.head_branch}-withdraw"] if self.workplace.delete(f"{pull.head_branch}-withdraw") else []
        if pull.head_repository:
            url = self.home.url
            if pull.head_repository_id != self.home.id:
                url = str((self.reach(pull.head_repository).setting("") or {}).get("clone_url", ""))
            if url and self.workplace.delete(pull.head_branch, url):
                done.append(pull.head_branch)
        self.steps.note("branches", "the rehearsal's are gone", f"deleted {', '.join(done)}" if done else "none is left")

    def _report(self, pull: PullRequest, words: str) -> None:
        """The last word on the pull request, by which a later call knows that this rehearsal is over."""
        self.github.create_comment(pull.number, f"{FINISHED}\n### Rehearsal\n\n{words}\n\n{self.steps.table()}\n")


_ENTERING = (
    "Opened by `pullrank rehearse`, which waits for the preview, the comment and the status, merges this, looks at the "
    "official run, the results and the site, and withdraws the agent again.\n"
)
_WITHDRAWING = (
    "Opened by `pullrank rehearse`: removes the agent of #{number}, and marks what was recorded of it as a rehearsal in "
    "`moderation.yml`. The record itself stays as it is.\n"
)
