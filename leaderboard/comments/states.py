"""What a pull request's comment can say: one frozen value for each state of a submission's life."""

import enum
from dataclasses import dataclass

from evaluator.model.config.challenge import Task
from evaluator.model.records.result import Result
from leaderboard.core.game_standings import Rating, WinCount
from leaderboard.core.standings import Estimate


@dataclass(frozen=True, kw_only=True)
class CommentContext:
    """What every state needs to know of its surroundings; all of it is the host's, none the entrant's."""

    run_id: int
    """Stands in the hidden marker: an older run never overwrites a newer one."""
    repository: str
    """Address of the board's repository, such as https://github.com/owner/name."""
    pull: int | None = None
    """The pull request's number."""
    site: str | None = None
    """Address of the published board; without it nothing links there."""


@dataclass(frozen=True, kw_only=True)
class TaskPreview:
    """One agent on one task, with the place that its score takes or would take."""

    task: Task
    """The task's settings."""
    result: Result
    """What was measured."""
    estimate: Estimate | None = None
    """What it amounts to; None unless the verdict is ok."""
    others: tuple[float, ...] = ()
    """What the task's further metrics say, in their order; NaN where one is missing."""
    place: int | None = None
    """1 for the best; None without a score."""
    rank_low: int | None = None
    """1 + entries significantly better."""
    rank_high: int | None = None
    """N − entries significantly worse."""
    with_leader: bool = False
    """Not told apart from the leader."""
    entries: int = 0
    """Entries with a score on this task, this one counted; 0 where the board is not shown yet."""
    own_last: Estimate | None = None
    """The score of the author's own last version on the board."""
    own_place: int | None = None
    """Where that stands now."""
    leader: Estimate | None = None
    """The best of the others; None where there is no other."""
    leader_name: str | None = None
    """Whose that is: login/agent."""
    retryable: bool = False
    """Whether another run without a change may end otherwise."""


@dataclass(frozen=True, kw_only=True)
class PreviewDuel:
    """One opponent of a player."""

    opponent: str
    """Who: login/agent."""
    count: WinCount
    """What the player did against it."""
    is_baseline: bool = False
    """Whether the host named it for comparison."""
    fault: str = ""
    """The player's first offence against it, in a line; empty where it kept the rules."""


@dataclass(frozen=True, kw_only=True)
class GamePreview:
    """One player in one game, with the rating that it has or would have."""

    task: Task
    """The game."""
    meetings: tuple[PreviewDuel, ...] = ()
    """Its duels with others, in the order they are shown."""
    refusal: str | None = None
    """Why its validation refuses it, position and move, in a line; None where it may enter."""
    position: str = ""
    """The position of that, drawn with characters; empty where there is no drawing."""
    failed: str | None = None
    """What failed on our side, in a line; None where nothing did."""
    rating: Rating | None = None
    """How strong, and how sure that is; None where it met nobody who is rated."""
    place: int | None = None
    """1 for the strongest; None without a rating."""
    rank_low: int | None = None
    """1 + players significantly stronger."""
    rank_high: int | None = None
    """N − players significantly weaker."""
    with_leader: bool = False
    """Not told apart from the leader."""
    players: int = 0
    """Players with a rating in this game, this one counted."""
    anchor: str | None = None
    """Who is rated 0: login/agent."""
    one_sided: bool = False
    """Won, or lost, everything against the others, so that the rating is a guess from a prior."""
    own_last: Rating | None = None
    """The rating of the author's own last version on the board."""
    leader: Rating | None = None
    """The best of the others; None where there is no other."""
    leader_name: str | None = None
    """Whose that is: login/agent."""
    log: str = ""
    """The end of what the player printed in its validation, where it is recorded with it."""
    official: bool = False
    """Whether it counts, or is a preview's."""
    signed: bool = True
    """Whether GitHub signed every commit that the seeds come from; of a preview's public seeds nobody asks."""

    @property
    def count(self) -> WinCount:
        """All its matches with others."""
        own = [meeting.count for meeting in self.meetings]
        summed = ("wins", "draws", "losses", "errors")
        return WinCount(**{name: sum(getattr(count, name) for count in own) for name in summed})


@dataclass(frozen=True, kw_only=True)
class AgentPreview:
    """One agent of a pull request."""

    login: str
    """Its owner."""
    agent: str
    """Its folder."""
    name: str | None = None
    """What its manifest calls it; None where no manifest could be read."""
    rows: tuple[TaskPreview, ...] = ()
    """Its tasks, in the order of challenge.yml."""
    games: tuple[GamePreview, ...] = ()
    """Its games, in the order of challenge.yml."""
    faults: tuple[str, ...] = ()
    """Every fault of its folder or manifest, a line each; then nothing was played."""
    copy_of: str | None = None
    """The agent of somebody else with the same bytes: login/agent; then nothing counts."""
    overall: "OverallPreview | None" = None
    """Its place on the overall board, where it was worked out."""


@dataclass(frozen=True, kw_only=True)
class OverallPreview:
    """The place across all tasks."""

    estimate: Estimate
    """Mean normalised score and its interval."""
    place: int
    """1 for the best."""
    rank_low: int
    """1 + entries significantly better."""
    rank_high: int
    """N − entries significantly worse."""
    entries: int
    """Entries on the overall board, this one counted."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """The preview is under way."""

    head_sha: str
    """The commit that is played."""
    run_url: str | None = None
    """The workflow run."""


@dataclass(frozen=True, kw_only=True)
class Previewed:
    """The preview came to its end: scores, failures, faults, or some of each."""

    head_sha: str
    """The commit that was played."""
    evaluator_sha: str
    """The commit of main whose evaluator played it."""
    agents: tuple[AgentPreview, ...]
    """At most four."""
    skipped: tuple[str, ...] = ()
    """What was not played, and why, a line each."""
    removed: tuple[str, ...] = ()
    """The author's own agents that merging would withdraw."""
    log: str = ""
    """The text of preview.log: the ends of the agents' logs."""
    rules: tuple[str, ...] = ()
    """What phases, people and quotas mean for it once it is merged, a line each."""
    run_url: str | None = None
    """The workflow run."""
    sealed: bool = False
    """Whether the season is sealed, so that these are other episodes than the ones that count."""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """The pull request changes what it must not, so whatever its run says is no score."""

    head_sha: str
    """The commit that was looked at."""
    outside: tuple[str, ...] = ()
    """Changed paths outside the author's own folder."""
    faults: tuple[str, ...] = ()
    """What else is not allowed, a line each: links, names, sizes."""
    run_url: str | None = None
    """The workflow run, if there was one."""


@enum.unique
class RefusalReason(enum.StrEnum):
    """Why there is no run to speak of."""

    CONFLICT = "conflict"
    WAITING = "waiting for approval"
    NOTHING = "nothing of ours touched"
    NO_RUN = "no run"


@dataclass(frozen=True, kw_only=True)
class NoRun:
    """Nothing was played, and this says why and what happens next."""

    head_sha: str
    """The commit that was looked at."""
    reason: RefusalReason
    """Why."""
    run_url: str | None = None
    """The run that waits, if there is one."""


@dataclass(frozen=True, kw_only=True)
class Broken:
    """Our fault: never held against an entrant."""

    head_sha: str
    """The commit that should have been played."""
    reason: str
    """What failed, in a line."""
    tried: int = 1
    """Runs so far."""
    again: bool = True
    """Whether it will be tried again by itself."""
    run_url: str | None = None
    """The last run."""
    issue_url: str | None = None
    """Where the maintainers are told, once it is not tried again."""


@dataclass(frozen=True, kw_only=True)
class OfficialScore:
    """Merged: the official scores, as far as they are recorded."""

    merge_sha: str | None
    """The commit on main, which the seeds come from."""
    agents: tuple[AgentPreview, ...]
    """The merged agents with what is recorded of them."""
    pending: tuple[str, ...] = ()
    """What is not recorded yet, a line each: `agent on task`."""
    held: tuple[str, ...] = ()
    """What is not evaluated now, or never, a line each with the reason."""
    rules: tuple[str, ...] = ()
    """What is left of quotas, and what is hidden until when, a line each."""
    unshown: int = 0
    """Scores that are recorded and not told, since their boards are hidden until a date."""
    run_url: str | None = None
    """The official run."""


@dataclass(frozen=True, kw_only=True)
class WithdrawnEntry:
    """The pull request removes agents of its author."""

    agents: tuple[str, ...]
    """Which: login/agent."""
    merged: bool
    """Whether it has happened."""
    head_sha: str | None = None
    """The commit that was looked at."""


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """The answer to `/rank`: where the author's agents stand on the board now."""

    agents: tuple[AgentPreview, ...]
    """Those that have results."""


@dataclass(frozen=True, kw_only=True)
class HelpText:
    """The answer to `/help`."""

    retries_left: int | None = None
    """How often `/retry` may still be used on this pull request, where that is limited."""


CommentState = Running | Previewed | Refused | NoRun | Broken | OfficialScore | WithdrawnEntry | Ranked | HelpText
