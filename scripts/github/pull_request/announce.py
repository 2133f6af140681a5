"""`pullrank bot announce`: merged pull requests are told their official scores, ranks and pages."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from evaluator.model.config.participants import People
from evaluator.model.records.result import Provenance
from leaderboard.comments.render_comment import render_comment
from leaderboard.comments.states import CommentState, OfficialScore, WithdrawnEntry
from leaderboard.core.entry import AgentName
from leaderboard.core.standings import Entry
from leaderboard.planning.reasons import Reason
from leaderboard.preview.hypothetical_standings import official_state
from scripts.console import OK, say
from scripts.git.beacon import arrived
from scripts.git.main_entries import read_entries
from scripts.git.path_guard import check_paths, owners_on
from scripts.git.tree_diff import UnreadableError, tree_changes
from scripts.github.api import posts
from scripts.github.api.find_pull_request import PullRequest
from scripts.github.api.responses import IssueComment
from scripts.github.pull_request.bot_context import BASE, BotContext
from scripts.github.pull_request.outcome import LABELS, OFFICIAL_LABEL
from scripts.github.pull_request.season_rules import rules_after_merge
from scripts.github.workflow.outputs import write_summary

# So many of the latest touched merged pull requests are looked at, a hundred by a request; the label tells which are done.
# Each that is told becomes one of the latest touched, so it is more than are ever told in the time between two looks.
LOOKED_AT = 1000
# One run tells so many at most: GitHub lets a repository write 500 texts in an hour, and each takes two here.
AT_ONCE = 200
# Requests of the hour's thousand that are left to other jobs, which tell people of their previews.
RESERVE = 300
_NOWHERE = Provenance(evaluated_at="2000-01-01T00:00:00Z")


@dataclass(frozen=True, kw_only=True)
class MergedPull:
    """What a merged pull request brought."""

    pull: PullRequest
    """The pull request."""
    sha: str
    """The commit on main."""
    agents: tuple[AgentName, ...]
    """Login and folder of what it added or changed."""
    removed: tuple[str, ...]
    """What it withdrew: login/agent."""


def run(desk: BotContext) -> int:
    """Tell every merged pull request that has not been told all there is."""
    merges = _untold(desk)
    told = looked_at = 0
    for merge in merges:
        # Those that were told all that can be said for now do not count, or two hundred of them would hide the others.
        if told == AT_ONCE or not _has_requests(desk):
            break
        told += _tell(desk, merge)
        looked_at += 1
    say(f"{looked_at} merged pull requests were looked at.")
    if later := len(merges) - looked_at:
        say(f"{later} merged pull requests are told by a later run, so that the hour's requests last for everybody.")
    return OK


def waiting(desk: BotContext) -> Iterator[int]:
    """The merged pull requests that `run` would tell something, or label, now; nothing is written."""
    for merge in _untold(desk):
        if not _has_requests(desk):
            break
        if _is_news(desk, merge):
            yield merge.pull.number


def _has_requests(desk: BotContext) -> bool:
    left = desk.github.requests_left
    return left is None or left >= RESERVE


def _untold(desk: BotContext) -> list[MergedPull]:
    pulls = [pull for pull in desk.github.merged_pulls(BASE, LOOKED_AT) if OFFICIAL_LABEL not in pull.labels]
    return [merge for pull in pulls if (merge := merge_of(desk, pull))]


def _is_news(desk: BotContext, merge: MergedPull) -> bool:
    state, whole = _state(desk, merge)
    body = render_comment(state, desk.context(merge.pull, desk.surroundings.run_id))
    return whole or not _says_already(desk, desk.github.comments(merge.pull.number), body)


def merge_of(desk: BotContext, pull: PullRequest) -> MergedPull | None:
    """What the merge commit changed under `submissions/`; None if nothing, or if it is not on main as checked out."""
    sha = pull.merge_commit_sha
    if sha is None or desk.clone.resolve(sha) is None or sha not in desk.history:
        return None
    before = desk.clone.resolve(f"{sha}^")
    if before is None:
        return None
    owners = owners_on(desk.clone.leaves(before, "submissions"))
    try:
        found = check_paths(tree_changes(desk.clone, before, sha, pull.author), pull.author, owners)
    except UnreadableError as error:
        say(f"#{pull.number}: {error}")
        return None
    standing = set(desk.clone.folders(sha))
    names = sorted(
        {AgentName(parts[1], parts[2]) for path in (*found.agents, *found.removed) if len(parts := path.split("/")) == 3}
    )
    if not names:
        return None
    agents = tuple(name for name in names if name in standing)
    return MergedPull(
        pull=pull, sha=sha, agents=agents, removed=tuple("/".join(name) for name in names if name not in standing)
    )


def _tell(desk: BotContext, merge: MergedPull) -> bool:
    """Tell what is new, and label who was told all; returns whether anything was written."""
    state, whole = _state(desk, merge)
    body = render_comment(state, desk.context(merge.pull, desk.surroundings.run_id))
    comments = desk.github.comments(merge.pull.number)
    is_news = not _says_already(desk, comments, body)
    if is_news:
        # What is merged stays merged, so nothing is asked again before it is said.
        if not posts.put_sticky(desk.github, merge.pull.number, body, desk.surroundings.bot, lambda: True, comments):
            return False
        write_summary(desk.surroundings.summary_path, body)
    if whole:
        desk.github.ensure_labels({OFFICIAL_LABEL: LABELS[OFFICIAL_LABEL]})
        desk.github.add_label(merge.pull.number, OFFICIAL_LABEL)
    say(f"#{merge.pull.number}: {'told' if whole else 'told as far as it is recorded'}.")
    return is_news or whole


def _says_already(desk: BotContext, comments: list[IssueComment], body: str) -> bool:
    """Whether the comment says the same but for the run in its first line."""
    own = posts.our_comments(comments, desk.surroundings.bot)
    return len(own) == 1 and own[0].body.partition("\n")[2] == body.partition("\n")[2]


def _state(desk: BotContext, merge: MergedPull) -> tuple[CommentState, bool]:
    """What to say, and whether it is all there will ever be to say."""
    if not merge.agents:
        return WithdrawnEntry(agents=merge.removed, merged=True), True
    now = {(entry.login, entry.agent): entry for entry in desk.entries}
    brought = {AgentName(e.login, e.agent): e for e in _entries_at(desk, merge.sha) if (e.login, e.agent) in merge.agents}
    current = [name for name in merge.agents if name in now and name in brought and now[name].digest == brought[name].digest]
    if current:
        held, rules = _rules(desk, current)
        state = official_state(desk.recorded, current, merge.sha, _run_url(desk, merge), held)
        state = replace(state, rules=rules)
        return state, not (state.pending or state.held or state.unshown)
    older = _superseded(desk, merge, brought)
    # What is hidden now is told once its board is shown.
    return older, not (isinstance(older, OfficialScore) and older.unshown)


def _rules(desk: BotContext, current: list[AgentName]) -> tuple[dict[tuple[AgentName, str], Reason], tuple[str, ...]]:
    """What phases, people and quotas hold back, which then is not merely pending, and what to say of the rules."""
    challenge = desk.board.challenge
    if not (challenge.phases or challenge.quota or challenge.people != People()):
        return {}, ()
    digests = {AgentName(entry.login, entry.agent): entry.digest for entry in desk.entries}
    found = arrived(desk.clone, desk.main, digests)
    return rules_after_merge(desk.recorded, found, current, desk.now, desk.is_member)


def _superseded(desk: BotContext, merge: MergedPull, brought: dict[AgentName, Entry]) -> CommentState:
    """A later merge brought another version or took the agent away: what is recorded of this one is all there will be."""
    others = tuple(entry for entry in desk.entries if (entry.login, entry.agent) not in brought)
    then = replace(desk.recorded, entries=(*others, *brought.values()))
    state = official_state(then, list(brought), merge.sha, _run_url(desk, merge))
    if state.unshown or any(agent.rows or agent.games for agent in state.agents):
        return replace(state, pending=())
    newer = [name for name in merge.agents if name in {(entry.login, entry.agent) for entry in desk.entries}]
    if newer:
        return replace(official_state(desk.recorded, newer, None), pending=())
    return WithdrawnEntry(agents=tuple("/".join(name) for name in merge.agents), merged=True)


def _entries_at(desk: BotContext, sha: str) -> list[Entry]:
    return read_entries(desk.clone, sha, desk.board.challenge)[0]


def _run_url(desk: BotContext, merge: MergedPull) -> str | None:
    """The latest run that measured one of the agents: the present one may have measured nothing."""
    results = [result.provenance for result in desk.results if (result.login, result.agent) in merge.agents]
    sides = [(duel.provenance, player) for duel in desk.duels for player in duel.players]
    own = [*results, *(provenance for provenance, player in sides if (player.login, player.agent) in merge.agents)]
    return max((one for one in own if one.run_url), key=lambda one: one.evaluated_at, default=_NOWHERE).run_url
