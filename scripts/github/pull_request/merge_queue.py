"""`pullrank bot queue`: sets the status of a merge queue's commit from the bot's statuses of its pull requests.

A queue's commit may also merge the ones ahead of it, and GitHub can be set to wait for the last one's checks alone: so the
statuses of all of them are read. Nothing is evaluated again, but the paths of each are judged again with what it is merged
onto: where its author's files are gone by then, git makes its change in somebody else's file that is like one of them.
"""

import re

from scripts.console import OK, USAGE, CommandError, say
from scripts.git.git_repository import full_sha
from scripts.git.pull_request_guard import PullAuthor, inspect_pull
from scripts.git.tree_diff import UnreadableError, fetch_head
from scripts.github.api.responses import PullRequest
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.deliver import bot_status
from scripts.github.pull_request.label_and_status import StatusState
from scripts.github.workflow.event import MergeGroup, merge_group
from scripts.repository.layout import MAIN_BRANCH

QUEUE_PREFIX = f"refs/heads/gh-readonly-queue/{MAIN_BRANCH}/"
_QUEUE_BRANCH = re.compile(r"pr-([1-9]\d{0,9})-[0-9a-f]{40}")
# Where one fetch puts the queue's branches and main.
_QUEUE_REFS, _MAIN_REF = "refs/pullrank/queue/", "refs/pullrank/main"


def set_queue_status(context: BotContext) -> int:
    """Set the status of the queue's commit; none if the commit has left the queue.

    Raises:
        CommandError: the event is not of main's queue, or git or GitHub failed.
    """
    group = merge_group(context.workflow)
    if group.base_ref != f"refs/heads/{MAIN_BRANCH}" or _pull_number(group.head_ref.removeprefix(QUEUE_PREFIX)) is None:
        raise CommandError(USAGE, f"the event is of {group.head_ref[:100]!r}, which is not in {MAIN_BRANCH}'s merge queue")
    onto = _queued_pulls(context, group)
    if not onto:
        say("The queue has moved on; nothing was written.")
        return OK
    fault_of = {number: _pull_fault(context, number, before) for number, before in onto.items()}
    faults = [f"#{number} has not passed: {fault}" for number, fault in fault_of.items() if fault]
    passed = ", ".join(f"#{number}" for number in onto) + (" has passed" if len(onto) == 1 else " have passed")
    state, words = (StatusState.FAILURE, faults[0]) if faults else (StatusState.SUCCESS, passed)
    context.github.set_status(group.head_sha, state, words, context.workflow.run_url)
    for line in faults or [passed]:
        say(f"{line}.")
    return OK


def _queued_pulls(context: BotContext, group: MergeGroup) -> dict[int, str]:
    """The pull requests that the commit would merge, in order, by number: what each is merged onto.

    Empty if the commit is not in the queue.
    """
    fetched = (f"+refs/heads/{MAIN_BRANCH}:{_MAIN_REF}", f"+{QUEUE_PREFIX}*:{_QUEUE_REFS}*")
    context.clone.run(
        "fetch", "--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-gc", "origin", *fetched
    )
    listed = context.clone.run("for-each-ref", "--format=%(objectname) %(refname)", _QUEUE_REFS).decode(errors="replace")
    entries: dict[str, int] = {}
    for line in listed.splitlines():
        sha, _, ref = line.partition(" ")
        if number := _pull_number(ref.removeprefix(_QUEUE_REFS)):
            entries[sha] = number
    if group.head_sha not in entries:
        return {}
    form = ("--first-parent", "--reverse", "--parents", full_sha(group.head_sha), f"^{_MAIN_REF}", "--")
    commits = [line.split() for line in context.clone.run("rev-list", *form).decode().splitlines()]
    return {entries[sha]: parents[0] for sha, *parents in commits if sha in entries}


def _pull_number(entry: str) -> int | None:
    """The pull request of a queue branch."""
    parts = _QUEUE_BRANCH.fullmatch(entry)
    return int(parts[1]) if parts else None


def _pull_fault(context: BotContext, number: int, onto: str) -> str:
    """Why a pull request has not passed; empty if it has."""
    pull = context.github.pull(number)
    if pull.state != "open" or pull.base_ref != MAIN_BRANCH:
        return f"it is not an open pull request into {MAIN_BRANCH}"
    status = bot_status(context.github, pull.head_sha, context.workflow.bot)
    if status is None:
        return "nothing was said of its newest commit"
    return _path_fault(context, pull, onto) if status.state == StatusState.SUCCESS else status.state


def _path_fault(context: BotContext, pull: PullRequest, onto: str) -> str:
    """Why a pull request whose status is good may not be merged onto a commit."""
    # Whether another account had this login before was judged for the status.
    author = PullAuthor(login=pull.author, id=pull.author_id)
    try:
        fetch_head(context.clone, pull.head_sha)
    except UnreadableError as error:
        return error.reason
    paths = inspect_pull(context.clone, onto, pull.head_sha, author, context.checkout.challenge.submissions)
    if paths.outside and paths.touches_agents:
        return "it changes files outside the author's folder"
    return next(iter(paths.faults), "")
