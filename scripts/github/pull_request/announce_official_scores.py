"""`pullrank bot announce`: tells merged pull requests their official scores, ranks and pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.model.config.people import People
from evaluator.model.records.stored_record import Provenance
from leaderboard.comments.comment_standings import official_state
from leaderboard.comments.comment_states import CommentState, OfficialScore, Withdrawn
from leaderboard.comments.render_comment import render_comment
from leaderboard.core.entry import AgentName, Entry
from leaderboard.planning.refusal_reasons import Reason, SubmissionsEnded, reason_in_words
from scripts.console import OK, OUR_FAULT, CommandError, say
from scripts.git.main_entries import entries_of_logins
from scripts.git.pull_request_guard import by_casefold, check_paths
from scripts.git.tree_diff import UnreadableError, tree_changes
from scripts.github.api.client import ANNOUNCEMENTS_LEAVE, GraphQLChange
from scripts.github.api.pull_snapshots import PullSnapshot, merged_pulls, read_pulls
from scripts.github.api.responses import IssueComment, PullRequest
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.deliver import (
    DELIVERED_AT_ONCE,
    collecting_defects,
    collecting_given_up,
    is_flooded,
    label_change,
    label_nodes_of,
    make_changes,
    newest_run,
    snapshot_stickies,
    sticky_changes,
)
from scripts.github.pull_request.label_and_status import OFFICIAL_LABEL
from scripts.github.pull_request.season_rule_notes import rules_after_merge
from scripts.github.workflow.outputs import write_summary
from scripts.repository.layout import MAIN_BRANCH

# Merged pull requests to read, the last updated first, a hundred per request; a label marks those that are done. A comment
# updates its pull request, so this is more than are ever commented between two runs.
PULLS_LOOKED_AT = 1000
# This many pull requests are told in the job's time. One that was never previewed gets a new comment and counts twice, since
# GitHub lets a repository create 500 in an hour.
PULLS_PER_RUN = 400
_NO_RUN = Provenance(evaluated_at="2000-01-01T00:00:00Z")


@dataclass(frozen=True, kw_only=True)
class MergedPull:
    """What a merged pull request changed."""

    pull: PullRequest
    sha: str
    agents: tuple[AgentName, ...]
    """Login and folder of each added or changed agent."""
    removed: tuple[str, ...]
    """Withdrawn agents, as `login/agent`."""


def announce_merged(context: BotContext) -> int:
    """Comment on every merged pull request about which there is something new to say.

    Raises:
        CommandError: some could not be told; the others were.
    """
    faults: list[str] = []
    merges = _unannounced_merges(context, faults)
    written = looked_at = 0
    while looked_at < len(merges) and written < PULLS_PER_RUN and _may_ask(context):
        # Pull requests without news do not count: 200 of them would hide all others.
        part = merges[looked_at : looked_at + min(DELIVERED_AT_ONCE, PULLS_PER_RUN - written)]
        written += _announce(context, part, faults)
        looked_at += len(part)
    say(f"{looked_at} merged pull requests were looked at.")
    if later := len(merges) - looked_at:
        say(f"{later} merged pull requests are told by a later run, so that the hour's requests last for everybody.")
    if faults:
        raise CommandError(OUR_FAULT, *faults)
    return OK


def pulls_with_news(context: BotContext) -> Iterator[int]:
    """Numbers of merged pull requests that `announce_merged` would comment on or label. Writes nothing."""
    merges = _unannounced_merges(context, [])
    for begin in range(0, len(merges), DELIVERED_AT_ONCE):
        if not _may_ask(context):
            break
        part = merges[begin : begin + DELIVERED_AT_ONCE]
        snapshots = read_pulls(context.github, [merge.pull.number for merge in part], with_status=False)
        for merge in part:
            snapshot = snapshots.get(merge.pull.number)
            if snapshot is None:
                continue
            body, is_complete = _comment(context, merge)
            is_new = is_complete
            with collecting_given_up(context, merge.pull, []):
                stickies = snapshot_stickies(context, snapshot)
                is_new |= not (_is_commented(stickies, body) or is_flooded(snapshot, stickies))
            if is_new:
                yield merge.pull.number


def _may_ask(context: BotContext) -> bool:
    """Whether enough is left for others, of requests as well: where many people wrote before the bot, comments take some."""
    left = (context.github.points_left, context.github.requests_left)
    return all(number is None or number >= ANNOUNCEMENTS_LEAVE for number in left)


def _unannounced_merges(context: BotContext, faults: list[str]) -> list[MergedPull]:
    pulls = merged_pulls(context.github, MAIN_BRANCH, PULLS_LOOKED_AT)
    # What is in quarantine is told again, also where everything had been told.
    # All agents are read only where something is in quarantine: for 10,000 that takes seconds.
    entries = context.entries if context.checkout.moderation.quarantines else []
    hidden = {entry.name for entry in entries if entry.quarantined}
    merges = []
    for pull in pulls:
        if hidden or OFFICIAL_LABEL not in pull.labels:
            with collecting_defects(pull, faults):
                merges.append(read_merge(context, pull))
    return [
        merge
        for merge in merges
        if merge
        and (OFFICIAL_LABEL not in merge.pull.labels or any(AgentName.folded(*name) in hidden for name in merge.agents))
    ]


def _comment(context: BotContext, merge: MergedPull) -> tuple[str, bool]:
    """The comment's text, and whether nothing can be added to it later."""
    state, is_complete = _merged_state(context, merge)
    return render_comment(state, context.comment_context()), is_complete


def read_merge(context: BotContext, pull: PullRequest) -> MergedPull | None:
    """What the merge commit changed under `submissions/`; None if nothing, or if the commit is not on main."""
    sha = pull.merge_commit_sha
    before = context.parents.get(sha) if sha else None
    if sha is None or before is None:
        return None
    owners = by_casefold(context.clone.logins(before))
    try:
        guarded = check_paths(tree_changes(context.clone, before, sha, pull.author), pull.author, owners)
    except UnreadableError as error:
        say(f"#{pull.number}: {error}")
        return None
    names = sorted(
        {AgentName(parts[1], parts[2]) for path in (*guarded.agents, *guarded.removed) if len(parts := path.split("/")) == 3}
    )
    if not names:
        return None
    folders_now = {folder for login in {name.login for name in names} for folder in context.clone.folders(sha, login)}
    agents = tuple(name for name in names if name in folders_now)
    return MergedPull(
        pull=pull, sha=sha, agents=agents, removed=tuple("/".join(name) for name in names if name not in folders_now)
    )


def _announce(context: BotContext, part: Sequence[MergedPull], faults: list[str]) -> int:
    """Write what is new, and label the pull requests that are done; returns how many were told, new comments twice."""
    snapshots = read_pulls(context.github, [merge.pull.number for merge in part], with_status=False)
    changes: list[tuple[PullRequest, GraphQLChange]] = []
    done: dict[int, bool] = {}
    for merge in part:
        snapshot = snapshots.get(merge.pull.number)
        if snapshot is None:
            continue
        # What GitHub gives up is no fault: after official runs that failed, the next ones are started less and less often.
        with collecting_defects(merge.pull, faults), collecting_given_up(context, merge.pull, []):
            body, is_complete = _comment(context, merge)
            news = _changes(context, merge, snapshot, body, is_complete=is_complete)
            if news is None:
                continue
            changes += [(merge.pull, change) for change in news]
            done[merge.pull.number] = is_complete
    failed = make_changes(context, changes)
    for number, is_complete in done.items():
        words = "told" if is_complete else "told as far as it is recorded"
        say(f"#{number}: {f'GitHub refused a change ({failed[number]})' if number in failed else words}.")
    return len(done) + sum(change.name == "addComment" for _, change in changes)


def _changes(
    context: BotContext, merge: MergedPull, snapshot: PullSnapshot, body: str, *, is_complete: bool
) -> list[GraphQLChange] | None:
    """What makes the pull request say this text; None if it is left as it is."""
    stickies = snapshot_stickies(context, snapshot)
    changes: list[GraphQLChange] = []
    if not _is_commented(stickies, body):
        if newest_run(stickies) > context.workflow.run_id:
            return None
        # A merge is final, so nothing is checked again before writing.
        changes += sticky_changes(context, snapshot, body)
        write_summary(context.workflow.summary_path, body)
    elif not is_complete:
        say(f"#{merge.pull.number}: nothing is new.")
        return None
    if is_complete:
        nodes = label_nodes_of(context.github, {OFFICIAL_LABEL})
        changes.append(label_change(snapshot, nodes[OFFICIAL_LABEL]))
    elif OFFICIAL_LABEL in merge.pull.labels:
        context.github.remove_label(merge.pull.number, OFFICIAL_LABEL)
    return changes


def _is_commented(stickies: list[IssueComment], body: str) -> bool:
    """Whether the comment has this text already, apart from the run in its first line."""
    return len(stickies) == 1 and stickies[0].body.partition("\n")[2] == body.partition("\n")[2]


def _merged_state(context: BotContext, merge: MergedPull) -> tuple[CommentState, bool]:
    """The comment's state, and whether nothing can be added to it later."""
    if not merge.agents:
        return Withdrawn(agents=merge.removed, merged=True), True
    now = {entry.spelled_name: entry for entry in context.recorded.entries}
    brought = {e.spelled_name: e for e in _entries_at(context, merge) if e.spelled_name in merge.agents}
    current = [name for name in merge.agents if name in now and name in brought and now[name].digest == brought[name].digest]
    late = _after_the_end(context, merge, brought)
    if current or late:
        deferred, rules = _rules(context, current) if current else ({}, ())
        state = official_state(context.recorded, current, merge.sha, _run_url(context, merge), deferred)
        state = replace(state, rules=rules, deferred=(*state.deferred, *late))
        return state, not (state.pending or state.deferred or state.unshown)
    older = _superseded_state(context, merge, brought)
    # A hidden board's scores are announced when it is shown.
    return older, not (isinstance(older, OfficialScore) and older.unshown)


def _rules(context: BotContext, current: list[AgentName]) -> tuple[dict[tuple[AgentName, str], Reason], tuple[str, ...]]:
    """Which agents and tasks the rules hold back, and the lines about the rules for the comment."""
    challenge = context.checkout.challenge
    if not (challenge.phases or challenge.quota or challenge.people != People()):
        return {}, ()
    return rules_after_merge(context.recorded, context.origins, current, context.now, context.is_member)


def _after_the_end(context: BotContext, merge: MergedPull, brought: Mapping[AgentName, Entry]) -> tuple[str, ...]:
    """A line for each version that a merge after the end of submissions brought, and each of its tasks."""
    final, challenge = context.final, context.checkout.challenge
    if final is None or merge.sha not in context.late_commits:
        return ()
    final_versions = {(entry.name, entry.digest) for entry in final.entries}
    late = [entry for _, entry in sorted(brought.items()) if (entry.name, entry.digest) not in final_versions]
    reason = reason_in_words(SubmissionsEnded(challenge.season))
    return tuple(
        f"{entry.shown} on {task.title or task.id}: {reason}"
        for entry in late
        for task in challenge.tasks
        if entry.submission.plays(task)
    )


def _superseded_state(context: BotContext, merge: MergedPull, brought: dict[AgentName, Entry]) -> CommentState:
    """The state after a later merge changed or removed the agents: the recorded results of this version are final."""
    others = tuple(entry for entry in context.recorded.entries if entry.spelled_name not in brought)
    official = replace(context.recorded, entries=(*others, *brought.values()))
    state = official_state(official, list(brought), merge.sha, _run_url(context, merge))
    if state.unshown or any(agent.rows or agent.games for agent in state.agents):
        return replace(state, pending=())
    newer = [name for name in merge.agents if name in {entry.spelled_name for entry in context.recorded.entries}]
    if newer:
        return replace(official_state(context.recorded, newer, None), pending=())
    return Withdrawn(agents=tuple("/".join(name) for name in merge.agents), merged=True)


def _entries_at(context: BotContext, merge: MergedPull) -> list[Entry]:
    logins = {name.login for name in merge.agents}
    return entries_of_logins(context.clone, merge.sha, context.checkout.challenge, logins, context.known_folders)


def _run_url(context: BotContext, merge: MergedPull) -> str | None:
    """The latest run that measured one of the agents; the current run may have measured nothing."""
    provenances = (
        record.provenance
        for record in context.records
        if record.provenance.run_url and any((side.login, side.agent) in merge.agents for side in record.sides)
    )
    return max(provenances, key=lambda provenance: provenance.evaluated_at, default=_NO_RUN).run_url
