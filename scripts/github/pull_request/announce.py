"""`pullrank bot announce`: merged pull requests are told their official scores, ranks and pages."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from evaluator.model.config.participants import People
from evaluator.model.records.result import Provenance
from leaderboard.comments.render_comment import render_comment
from leaderboard.comments.states import CommentState, OfficialScore, WithdrawnEntry
from leaderboard.core.standings import Entry
from leaderboard.preview.hypothetical_standings import official_state
from scripts.console import OK, say
from scripts.git.beacon import arrived
from scripts.git.main_entries import read_entries
from scripts.git.path_guard import check_paths, owners_on
from scripts.git.tree_diff import UnreadableError, tree_changes
from scripts.github.api import posts
from scripts.github.api.find_pull_request import PullRequest
from scripts.github.api.responses import IssueComment
from scripts.github.pull_request.bot_context import BotContext
from scripts.github.pull_request.outcome import LABEL_STYLES, OFFICIAL_LABEL
from scripts.github.pull_request.season_rules import rules_after_merge
from scripts.github.workflow.outputs import write_summary
from scripts.repository.layout import MAIN_BRANCH, SUBMISSIONS

# So many of the latest touched merged pull requests are looked at, a hundred by a request; the label tells which are done.
# Each that is told becomes one of the latest touched, so it is more than are ever told in the time between two looks.
PULLS_LOOKED_AT = 1000
# One run tells so many at most: GitHub lets a repository write 500 texts in an hour, and each takes two here.
PULLS_PER_RUN = 200
# Requests of the hour's thousand that are left to other jobs, which tell people of their previews.
REQUESTS_RESERVED = 300
_NO_RUN = Provenance(evaluated_at="2000-01-01T00:00:00Z")


@dataclass(frozen=True, kw_only=True)
class MergedPull:
    """What a merged pull request brought."""

    pull: PullRequest
    sha: str
    """Its commit on main."""
    agents: tuple[tuple[str, str], ...]
    """Login and folder of each added or changed agent."""
    removed: tuple[str, ...]
    """Withdrawn agents, as `login/agent`."""


def run(context: BotContext) -> int:
    """Tell every merged pull request that has not been told all there is."""
    merges = _unannounced_merges(context)
    told = looked_at = 0
    for merge in merges:
        # Those that were told all that can be said for now do not count, or two hundred of them would hide the others.
        if told == PULLS_PER_RUN or not _has_requests(context):
            break
        told += _announce(context, merge)
        looked_at += 1
    say(f"{looked_at} merged pull requests were looked at.")
    if later := len(merges) - looked_at:
        say(f"{later} merged pull requests are told by a later run, so that the hour's requests last for everybody.")
    return OK


def pulls_with_news(context: BotContext) -> Iterator[int]:
    """The merged pull requests that `run` would tell something, or label, now; nothing is written."""
    for merge in _unannounced_merges(context):
        if not _has_requests(context):
            break
        if _has_news(context, merge):
            yield merge.pull.number


def _has_requests(context: BotContext) -> bool:
    left = context.github.requests_left
    return left is None or left >= REQUESTS_RESERVED


def _unannounced_merges(context: BotContext) -> list[MergedPull]:
    pulls = [pull for pull in context.github.merged_pulls(MAIN_BRANCH, PULLS_LOOKED_AT) if OFFICIAL_LABEL not in pull.labels]
    return [merge for pull in pulls if (merge := read_merge(context, pull))]


def _has_news(context: BotContext, merge: MergedPull) -> bool:
    state, is_complete = _merged_state(context, merge)
    body = render_comment(state, context.comment_context(merge.pull, context.surroundings.run_id))
    return is_complete or not _is_said(context, context.github.comments(merge.pull.number), body)


def read_merge(context: BotContext, pull: PullRequest) -> MergedPull | None:
    """What the merge commit changed under `submissions/`; None if nothing, or if it is not on main as checked out."""
    sha = pull.merge_commit_sha
    if sha is None or context.clone.resolve(sha) is None or sha not in context.history:
        return None
    before = context.clone.resolve(f"{sha}^")
    if before is None:
        return None
    owners = owners_on(context.clone.leaves(before, SUBMISSIONS))
    try:
        guarded = check_paths(tree_changes(context.clone, before, sha, pull.author), pull.author, owners)
    except UnreadableError as error:
        say(f"#{pull.number}: {error}")
        return None
    folders_now = set(context.clone.folders(sha))
    names = sorted(
        {(parts[1], parts[2]) for path in (*guarded.agents, *guarded.removed) if len(parts := path.split("/")) == 3}
    )
    if not names:
        return None
    agents = tuple(name for name in names if name in folders_now)
    return MergedPull(
        pull=pull, sha=sha, agents=agents, removed=tuple("/".join(name) for name in names if name not in folders_now)
    )


def _announce(context: BotContext, merge: MergedPull) -> bool:
    """Tell what is new, and label who was told all; returns whether anything was written."""
    state, is_complete = _merged_state(context, merge)
    body = render_comment(state, context.comment_context(merge.pull, context.surroundings.run_id))
    comments = context.github.comments(merge.pull.number)
    is_news = not _is_said(context, comments, body)
    if is_news:
        # What is merged stays merged, so nothing is asked again before it is said.
        if not posts.put_sticky(context.github, merge.pull.number, body, context.surroundings.bot, lambda: True, comments):
            return False
        write_summary(context.surroundings.summary_path, body)
    if is_complete:
        context.github.ensure_labels({OFFICIAL_LABEL: LABEL_STYLES[OFFICIAL_LABEL]})
        context.github.add_label(merge.pull.number, OFFICIAL_LABEL)
    say(f"#{merge.pull.number}: {'told' if is_complete else 'told as far as it is recorded'}.")
    return is_news or is_complete


def _is_said(context: BotContext, comments: list[IssueComment], body: str) -> bool:
    """Whether the comment says the same but for the run in its first line."""
    stickies = posts.our_comments(comments, context.surroundings.bot)
    return len(stickies) == 1 and stickies[0].body.partition("\n")[2] == body.partition("\n")[2]


def _merged_state(context: BotContext, merge: MergedPull) -> tuple[CommentState, bool]:
    """What to say, and whether it is all there will ever be to say."""
    if not merge.agents:
        return WithdrawnEntry(agents=merge.removed, merged=True), True
    now = {(entry.login, entry.agent): entry for entry in context.entries}
    brought = {(e.login, e.agent): e for e in _entries_at(context, merge.sha) if (e.login, e.agent) in merge.agents}
    current = [name for name in merge.agents if name in now and name in brought and now[name].digest == brought[name].digest]
    if current:
        state = _with_rules(context, official_state(context.recorded, current, merge.sha, _run_url(context, merge)), current)
        return state, not (state.pending or state.held or state.unshown)
    older = _superseded_state(context, merge, brought)
    # What is hidden now is told once its board is shown.
    return older, not (isinstance(older, OfficialScore) and older.unshown)


def _with_rules(context: BotContext, state: OfficialScore, current: list[tuple[str, str]]) -> OfficialScore:
    """The same with what phases, people and quotas hold back, which then is not merely pending."""
    challenge = context.board.challenge
    if not (challenge.phases or challenge.quota or challenge.people != People()):
        return state
    digests = {(entry.login, entry.agent): entry.digest for entry in context.entries}
    found = arrived(context.clone, context.main, digests)
    held, told, rules = rules_after_merge(context.recorded, found, current, context.now, context.is_member)
    waiting = set(state.pending) & told
    pending = tuple(line for line in state.pending if line not in waiting)
    lines = tuple(line for line in held if any(line.startswith(f"{one}: ") for one in waiting))
    return replace(state, pending=pending, held=lines, rules=rules)


def _superseded_state(context: BotContext, merge: MergedPull, brought: dict[tuple[str, str], Entry]) -> CommentState:
    """A later merge brought another version or took the agent away: what is recorded of this one is all there will be."""
    others = tuple(entry for entry in context.entries if (entry.login, entry.agent) not in brought)
    then = replace(context.recorded, entries=(*others, *brought.values()))
    state = official_state(then, list(brought), merge.sha, _run_url(context, merge))
    if state.unshown or any(agent.rows or agent.games for agent in state.agents):
        return replace(state, pending=())
    newer = [name for name in merge.agents if name in {(entry.login, entry.agent) for entry in context.entries}]
    if newer:
        return replace(official_state(context.recorded, newer, None), pending=())
    return WithdrawnEntry(agents=tuple("/".join(name) for name in merge.agents), merged=True)


def _entries_at(context: BotContext, sha: str) -> list[Entry]:
    return read_entries(context.clone, sha, context.board.challenge)[0]


def _run_url(context: BotContext, merge: MergedPull) -> str | None:
    """The latest run that measured one of the agents: the present one may have measured nothing."""
    results = [result.provenance for result in context.results if (result.login, result.agent) in merge.agents]
    sides = [(duel.provenance, player) for duel in context.duels for player in duel.players]
    provenances = [*results, *(provenance for provenance, player in sides if (player.login, player.agent) in merge.agents)]
    return max((one for one in provenances if one.run_url), key=lambda one: one.evaluated_at, default=_NO_RUN).run_url
