"""Delivers outcomes to their pull requests: the comment that the bot updates, one label, and the commit's status.

Of several pull requests all comments and labels are read in one request and written in another, since all jobs of a
repository share a thousand requests in an hour; a commit's status is a request of its own.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from leaderboard.comments.render_comment import comment_run, render_comment
from scripts.console import CommandError, say
from scripts.github.api.client import COMMENTS_LISTED, STATUS_CONTEXT, GitHub, GitHubError, GraphQLChange
from scripts.github.api.pull_snapshots import PullSnapshot, label_nodes, read_pulls
from scripts.github.api.responses import CommitStatus, IssueComment, PullRequest, bounded_body
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.label_and_status import LABEL_STYLES, PREVIEW_LABELS, Outcome
from scripts.github.workflow.outputs import write_summary

# GitHub takes a thousand statuses of a commit: whoever opens and closes a pull request for a day has used them up.
UNPROCESSABLE = 422
# Pull requests that are written to at once.
DELIVERED_AT_ONCE = 20


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """An outcome on its way to a pull request."""

    pull: PullRequest
    run_id: int
    """The run that the comment names."""
    outcome: Outcome
    is_last_word: bool = False
    """Whether it replaces a comment that names a later run; it then names that run."""


def deliver_outcomes(context: BotContext, deliveries: Sequence[Delivery]) -> list[str]:
    """Write comments, labels and statuses of pull requests that are still at their commit and that no later run spoke of.

    At most `DELIVERED_AT_ONCE` of them. Returns a line for each change that GitHub refused and each text that failed.
    """
    snapshots = read_pulls(context.github, [delivery.pull.number for delivery in deliveries])
    current: list[tuple[Delivery, PullSnapshot]] = []
    faults: list[str] = []
    for delivery in deliveries:
        with collecting_given_up(context, delivery.pull, faults):
            if snapshot := _current_snapshot(context, delivery, snapshots.get(delivery.pull.number)):
                current.append((delivery, snapshot))
    return [*faults, *_write_together(context, current)]


def _current_snapshot(context: BotContext, delivery: Delivery, snapshot: PullSnapshot | None) -> PullSnapshot | None:
    """The pull request, if it is still at the delivery's commit and no later run has spoken."""
    pull = delivery.pull
    if snapshot is not None:
        now = snapshot.pull
        is_same = now.head_sha == pull.head_sha and now.state == "open" and now.base_ref == pull.base_ref
        if is_same and (delivery.is_last_word or _reported_run(context, snapshot) <= delivery.run_id):
            return snapshot
    say(f"#{pull.number} has moved on or a later run has spoken; nothing was written.")
    return None


def _reported_run(context: BotContext, snapshot: PullSnapshot) -> int:
    return newest_run(snapshot_stickies(context, snapshot))


def snapshot_stickies(context: BotContext, snapshot: PullSnapshot) -> list[IssueComment]:
    """The bot's sticky comments that a snapshot has, oldest first; only where it has none of many, all are read."""
    ours = our_comments(snapshot.comments, context.workflow.bot)
    if ours or snapshot.comment_count <= len(snapshot.comments):
        return ours
    return our_comments(context.github.comments(snapshot.pull.number), context.workflow.bot)


def _write_together(context: BotContext, current: Sequence[tuple[Delivery, PullSnapshot]]) -> list[str]:
    """Comments and labels first: a commit whose status is final is not looked at again."""
    labels = label_nodes_of(context.github, _labels_named(current))
    faults: list[str] = []
    changes: list[tuple[PullRequest, GraphQLChange]] = []
    written: list[tuple[Delivery, PullSnapshot]] = []
    for delivery, snapshot in current:
        with collecting_defects(delivery.pull, faults), collecting_given_up(context, delivery.pull, faults):
            new = [*_comment_changes(context, delivery, snapshot), *_label_changes(delivery, snapshot, labels)]
            changes += [(delivery.pull, change) for change in new]
            written.append((delivery, snapshot))
    refused = make_changes(context, changes)
    kept = _statuses_of_others(context, written)
    # Of two pull requests at one commit the one that says something of the commit has the last word.
    for delivery, snapshot in sorted(written, key=lambda pair: pair[0].outcome.is_of_commit):
        if delivery.pull.number not in refused and delivery.pull.number not in kept:
            try:
                _write_status(context, delivery, snapshot)
            except GitHubError as error:
                if error.status != UNPROCESSABLE:
                    context.github.raise_unless_alone(error)
                refused[delivery.pull.number] = str(error)
    return [*faults, *(f"#{number}: GitHub refused a change: {why}" for number, why in refused.items())]


@contextmanager
def collecting_defects(pull: PullRequest, faults: list[str]) -> Iterator[None]:
    """Log and note a defect of the bot that one pull request met, so that the others are still told.

    Raises:
        CommandError: as the body does; further pull requests would meet the same.
    """
    try:
        yield
    except CommandError:
        raise
    # Heads, artifacts and comments are untrusted: no list of exceptions would be complete.
    except Exception as error:  # noqa: BLE001
        # The message is not logged: it may quote untrusted text.
        say(f"#{pull.number}: {type(error).__name__}, which is a defect of the bot; report it")
        faults.append(unsettled_line(pull))


@contextmanager
def collecting_given_up(context: BotContext, pull: PullRequest, faults: list[str]) -> Iterator[None]:
    """Log and note what GitHub gives up of one pull request, such as a list of long comments, so that others are told.

    Raises:
        CommandError: GitHub refused, or answers nothing; further pull requests would meet the same.
    """
    try:
        yield
    except GitHubError as error:
        context.github.raise_unless_alone(error)
        say(f"#{pull.number}: {error}")
        faults.append(unsettled_line(pull))


def unsettled_line(pull: PullRequest) -> str:
    """The line of a pull request that a failure left as it is."""
    return f"#{pull.number} could not be settled; the log of the run says why"


def _statuses_of_others(context: BotContext, current: Sequence[tuple[Delivery, PullSnapshot]]) -> set[int]:
    """The pull requests whose commit's status stays: it is of another open one at the same commit, or of a merge queue.

    A commit has one status for all. Anybody may propose somebody else's commit, and is refused: that is no fault of it. A
    queue's commit would leave the queue.
    """
    ours = [
        (delivery, status)
        for delivery, snapshot in current
        if (status := snapshot.status) and status.creator == context.workflow.bot
    ]
    queued = {delivery.pull.number for delivery, status in ours if status.is_of_queue}
    others_of = {
        delivery.pull.number: status.pull
        for delivery, status in ours
        if status.pull and status.pull != delivery.pull.number and not delivery.outcome.is_of_commit
    }
    others = read_pulls(context.github, sorted(set(others_of.values())), with_status=False)
    heads = {number: snapshot.pull.head_sha for number, snapshot in others.items() if snapshot.pull.state == "open"}
    proposed = {delivery.pull.number: delivery.pull.head_sha for delivery, _ in current}
    return queued | {number for number, other in others_of.items() if heads.get(other) == proposed[number]}


def make_changes(context: BotContext, changes: Sequence[tuple[PullRequest, GraphQLChange]]) -> dict[int, str]:
    """Make changes of pull requests in one request; returns by number why GitHub refused one.

    Another job may have written a first comment meanwhile, or the request was sent twice because its answer was lost: of
    the pull requests with a new comment one of several is kept.
    """
    if not changes:
        return {}
    refused = context.github.mutate([change for _, change in changes])
    created = [pull.number for pull, change in changes if change.name == "addComment"]
    again = read_pulls(context.github, created, with_status=False)
    repaired = set()
    for number, snapshot in again.items():
        with collecting_given_up(context, snapshot.pull, []):
            stickies = snapshot_stickies(context, snapshot)
            if len(stickies) > 1:  # The latest run's text stays; jobs that repair at once agree on it.
                latest = max(stickies, key=lambda sticky: (comment_run(sticky.body) or 0, -sticky.id))
                _keep_one(context.github, stickies, latest.body)
            repaired.add(number)
    unread = {number: "its comments could not be read again" for number in created if number not in repaired}
    return unread | {changes[position][0].number: why for position, why in refused.items()}


def _labels_named(current: Sequence[tuple[Delivery, PullSnapshot]]) -> set[str]:
    """The labels that pull requests have to get or lose."""
    wanted = {delivery.outcome.label for delivery, _ in current if delivery.outcome.label}
    return wanted | {name for _, snapshot in current for name in snapshot.pull.labels if name in PREVIEW_LABELS}


def label_nodes_of(github: GitHub, labels: set[str]) -> dict[str, str]:
    """Names in GraphQL of our labels; those of `labels` are made if they are missing."""
    if not labels <= github.label_nodes.keys():
        names = sorted(LABEL_STYLES)
        github.label_nodes |= label_nodes(github, names)
        if missing := labels - github.label_nodes.keys():
            github.ensure_labels({name: LABEL_STYLES[name] for name in sorted(missing)})
            github.label_nodes |= label_nodes(github, names)
    return github.label_nodes


def _comment_changes(context: BotContext, delivery: Delivery, snapshot: PullSnapshot) -> Iterator[GraphQLChange]:
    if delivery.pull.author.endswith("[bot]"):  # A robot reads no comments.
        return
    run_id = max(delivery.run_id, _reported_run(context, snapshot) if delivery.is_last_word else 0)
    body = render_comment(delivery.outcome.state, context.comment_context(run_id))
    write_summary(context.workflow.summary_path, body)
    yield from sticky_changes(context, snapshot, body)


def sticky_changes(context: BotContext, snapshot: PullSnapshot, body: str) -> Iterator[GraphQLChange]:
    """What gives the pull request's sticky comment this text; several of them are made one at once."""
    stickies = snapshot_stickies(context, snapshot)
    if is_flooded(snapshot, stickies):
        say(f"#{snapshot.pull.number} has {snapshot.comment_count} comments; it is told by its label and its status alone.")
    elif not stickies:
        yield GraphQLChange(name="addComment", input={"subjectId": snapshot.node_id, "body": bounded_body(body)})
    elif len(stickies) > 1:
        _keep_one(context.github, stickies, body)
    elif stickies[0].body != body:
        yield GraphQLChange(name="updateIssueComment", input={"id": stickies[0].node_id, "body": bounded_body(body)})


def is_flooded(snapshot: PullSnapshot, stickies: Sequence[IssueComment]) -> bool:
    """Whether no comment is written: there may be one among so many of others', and another would come each time."""
    return not stickies and snapshot.comment_count > COMMENTS_LISTED


def _label_changes(delivery: Delivery, snapshot: PullSnapshot, nodes: dict[str, str]) -> Iterator[GraphQLChange]:
    labels, wanted = snapshot.pull.labels, delivery.outcome.label
    gone = [nodes[name] for name in PREVIEW_LABELS if name in labels and name != wanted and name in nodes]
    if gone:
        yield GraphQLChange(name="removeLabelsFromLabelable", input={"labelableId": snapshot.node_id, "labelIds": gone})
    if wanted is not None and wanted not in labels:
        yield label_change(snapshot, nodes[wanted])


def label_change(snapshot: PullSnapshot, label_node: str) -> GraphQLChange:
    """What adds a label to a pull request."""
    return GraphQLChange(name="addLabelsToLabelable", input={"labelableId": snapshot.node_id, "labelIds": [label_node]})


def _write_status(context: BotContext, delivery: Delivery, snapshot: PullSnapshot) -> None:
    pull, outcome, status = delivery.pull, delivery.outcome, snapshot.status
    is_ours = status is not None and status.creator == context.workflow.bot
    if status is None or not is_ours or (status.state, status.description) != (outcome.status, outcome.status_text):
        context.github.set_status(pull.head_sha, outcome.status, outcome.status_text, judged_address(context, pull))
    say(f"#{pull.number}: {outcome.status_text}")


def judged_address(context: BotContext, pull: PullRequest) -> str:
    """The address of a commit's status: its pull request, and the commit of main that it was judged by."""
    return f"{context.repository_url}/pull/{pull.number}#{context.main}"


def bot_status(github: GitHub, sha: str, bot: str) -> CommitStatus | None:
    """The bot's latest status of a commit; a status that another account set under our name does not count."""
    ours = (status for status in github.statuses(sha) if status.context == STATUS_CONTEXT and status.creator == bot)
    return next(ours, None)


def our_comments(comments: Iterable[IssueComment], bot: str) -> list[IssueComment]:
    """The bot's sticky comments, oldest first; a marker by another account or inside a text does not count."""
    ours = (comment for comment in comments if comment.author == bot and comment.author_type == "Bot")
    return sorted((comment for comment in ours if comment_run(comment.body) is not None), key=lambda comment: comment.id)


def newest_run(stickies: Iterable[IssueComment]) -> int:
    """The latest run that a comment reports; 0 without comments."""
    return max((comment_run(sticky.body) or 0 for sticky in stickies), default=0)


def _keep_one(github: GitHub, stickies: Sequence[IssueComment], body: str) -> None:
    """Give the oldest of several sticky comments this text, and delete the others."""
    oldest, *others = stickies
    if oldest.body != body:
        github.edit_comment(oldest.id, body)
    for doubled in others:
        github.delete_comment(doubled.id)
