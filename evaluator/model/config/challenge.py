"""challenge.yml: the tasks, limits and rules of one leaderboard."""

from typing import Literal, Self

from pydantic import Field, model_validator

from evaluator.model.base import Frozen
from evaluator.model.config.limits import Limits
from evaluator.model.config.people import People
from evaluator.model.config.phase import Phase, Quota, phase_fault
from evaluator.model.config.submission_limits import KEPT_IMAGES_MIB, SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.identifiers import Digest, Line, LongLine, SeasonName, Text, Url
from evaluator.model.sealed_fields import sealed_beacon
from evaluator.model.validation_messages import misplaced


class Runners(Frozen):
    """Where official evaluations run, and how much of it at once."""

    labels: tuple[LongLine, ...] = Field(default=("ubuntu-24.04",), min_length=1, max_length=10)
    """Labels of the machines: GitHub's own, or a self-hosted runner's."""
    sandbox: Literal["docker", "gvisor"] = "docker"
    """What holds the agents, in previews and in official runs; nothing is evaluated in anything else."""
    gpus: int = Field(default=0, ge=0, le=16)
    """Graphics cards that each agent is handed on its tasks; an official run without them stops. Games have none."""
    at_once: int = Field(default=20, ge=1, le=200)
    """Machines that run side by side: 20 on GitHub's Free plan."""
    shard_minutes: int = Field(default=15, ge=1, le=300)
    """Work given to one machine at most; what is left is the next round's."""

    @property
    def shard_seconds(self) -> float:
        """The same in seconds."""
        return 60.0 * self.shard_minutes


class Sealed(Frozen):
    """A season whose seeds come from a secret."""

    secret_sha256: Digest
    """SHA-256 of the secret's bytes, published before the first entry: `pullrank season seal` makes both."""
    decimals: int = Field(default=0, ge=-4, le=6)
    """Digits to which scores are rounded until the reveal; negative ones are before the point."""


class Challenge(Frozen):
    """One board."""

    title: Line
    description: Text = ""
    """What it is, in a sentence or two."""
    season: SeasonName
    """Scores of another season are another board's."""
    final: Line | None = None
    """The season whose submissions have ended; no effect in another season. `pullrank season final` writes it."""
    repository: Url | None = None
    """Where the board's repository lives."""
    tasks: tuple[Task, ...] = Field(min_length=1, max_length=200)
    """What agents are measured on."""
    baselines: tuple[LongLine, ...] = Field(default=("random",), max_length=100)
    """Entries shown for comparison: an example's folder, which makes it part of the official board, or `login/agent`."""
    limits: Limits = Limits()
    submissions: SubmissionLimits = SubmissionLimits()
    """What a submission's folder may hold."""
    runners: Runners = Runners()
    phases: tuple[Phase, ...] = Field(default=(), max_length=50)
    """Parts of the season with dates of their own; one season without parts when left out."""
    quota: Quota | None = None
    """How many versions are evaluated; as many as come when left out."""
    people: People = People()
    """Who takes part, and what they are asked."""
    seeds: Literal["open", "sealed"] = "open"
    """sealed: the same secret episodes for every entry until the season is revealed."""
    sealed: Sealed | None = None
    """For sealed seeds: the secret's hash."""
    badges: bool = False
    """Build badges: two files for each agent and task, most of the files of a large site."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        ids = [task.id for task in self.tasks]
        folded = [i.casefold() for i in ids]
        if twice := next((index for index, i in enumerate(folded) if i in folded[:index]), None):
            raise misplaced(("tasks", twice, "id"), f"the task id '{ids[twice]}' stands twice; rename one")
        if misled := phase_fault(self.phases, ids):
            raise misplaced(*misled)
        if fault := _sealed_fault(self):
            raise ValueError(fault)
        return self

    @property
    def solo_tasks(self) -> tuple[Task, ...]:
        """The tasks for one agent, in order."""
        return tuple(task for task in self.tasks if task.game is None)

    @property
    def games(self) -> tuple[Task, ...]:
        """The tasks that are two-player games, in order."""
        return tuple(task for task in self.tasks if task.game is not None)

    @property
    def is_final(self) -> bool:
        """Whether the season's submissions have ended, so that only its final draws count."""
        return self.final == self.season

    @property
    def sealed_beacon(self) -> str | None:
        """The beacon of all results where seeds are sealed; None where they are open."""
        return sealed_beacon(self.sealed.secret_sha256) if self.sealed else None

    def phase_of(self, task_id: str) -> Phase | None:
        """The phase that a task belongs to; None where it is always open."""
        return next((phase for phase in self.phases if task_id in phase.tasks), None)

    def is_baseline(self, login: str, agent: str, *, example: bool) -> bool:
        """Whether an entry is named among the baselines; examples by their folder alone."""
        named = {name.casefold() for name in self.baselines}
        return (agent if example else f"{login}/{agent}").casefold() in named

    def task(self, task_id: str) -> Task | None:
        """The task of that id, if there is one."""
        return next((task for task in self.tasks if task.id == task_id), None)


def _sealed_fault(challenge: Challenge) -> str | None:
    if (challenge.seeds == "sealed") != (challenge.sealed is not None):
        return "'seeds: sealed' and 'sealed' go together; 'pullrank season seal' writes both"
    if challenge.sealed and challenge.quota is None:
        return "sealed seeds need a 'quota': whoever may try without end learns the episodes"
    if challenge.sealed and challenge.is_final:
        return "'final' is for open seeds: a sealed season has one set of episodes; remove it, and reveal the season"
    if challenge.sealed and challenge.games:
        game = challenge.games[0].id
        return f"seeds cannot be sealed on a board with a game: the moves of '{game}' show its openings; remove it"
    if challenge.sealed and challenge.submissions.image_mib > KEPT_IMAGES_MIB:
        why = "a larger one is fetched anew for each task, and its registry would see when the task before ended"
        return f"sealed seeds need an 'image_mib' of at most {KEPT_IMAGES_MIB}: {why}"
    return None
