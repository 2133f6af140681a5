"""challenge.yml: the tasks, limits and rules of one board."""

import math
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, SerializerFunctionWrapHandler, model_serializer, model_validator

from evaluator.model import canonical_json
from evaluator.model.base import Frozen, misplaced
from evaluator.model.config.metric import Metric, MetricTerms, metrics_fault
from evaluator.model.config.participants import People
from evaluator.model.config.phase import Phase, Quota, phase_fault
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.identifiers import Digest, Line, LongLine, TaskId, Text, Url
from evaluator.model.sealed_fields import sealed_beacon


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


class Sealed(Frozen):
    """A season whose seeds come from a secret."""

    secret_sha256: Digest
    """SHA-256 of the secret's bytes, published before the first entry: `pullrank season seal` makes both."""
    decimals: int = Field(default=0, ge=-4, le=6)
    """Digits to which scores are rounded until the reveal; negative ones are before the point."""


# A referee works while the agent does, but less than half the time.
_REFEREE_CPUS = 0.5


class Limits(Frozen):
    """What a sandbox may use. Every field is really enforced; `pullrank probe` shows it."""

    memory_mib: int = Field(default=512, ge=64, le=65536)
    """Memory, without swap, in MiB."""
    cpus: float = Field(default=0.5, gt=0, le=64)
    """Share of processor time, in cores."""
    pids: int = Field(default=50, ge=4, le=4096)
    """Processes and threads at once."""
    tmpfs_mib: int = Field(default=64, ge=1, le=4096)
    """Size of the only writable place, /tmp, in MiB."""
    cpu_seconds: float = Field(default=300, gt=0, le=21600)
    """Processor seconds for one task, the agent's start included."""
    task_seconds: float | None = Field(default=None, gt=0, le=216000)
    """Wall seconds for one task, or for one player's side of a duel; ten times `cpu_seconds` when left out."""
    answer_seconds: float = Field(default=2, gt=0, le=600)
    """Wall seconds an answer may take, times the live lanes of the frame."""
    start_seconds: float = Field(default=60, gt=0, le=600)
    """Wall seconds from the container's start until the agent is ready."""
    log_kib: int = Field(default=256, ge=1, le=16384)
    """What the agent may print on one task, in KiB; more ends the evaluation."""

    @model_serializer(mode="wrap")
    def _as_before(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Records from before there was `task_seconds` stay unchanged."""
        document: dict[str, Any] = serialise(self)
        if document.get("task_seconds", 0) is None:
            del document["task_seconds"]
        return document

    @property
    def wall_seconds(self) -> float:
        """The watchdog's wall limit: ten times the processor limit, because walls on shared runners lie."""
        return 10 * self.cpu_seconds if self.task_seconds is None else self.task_seconds

    def processors(self, sandboxes: int = 1) -> int:
        """Processors that an evaluation with so many sandboxes needs so that none of them and no referee waits."""
        return math.ceil(sandboxes * self.cpus + _REFEREE_CPUS)


class SubmissionLimits(Frozen):
    """What a submission's folder may hold."""

    files: int = Field(default=100, ge=1, le=10000)
    """Files in the folder."""
    kib: int = Field(default=25600, ge=1, le=102400)
    """Size of all files together, in KiB."""
    weights_mib: int = Field(default=256, ge=0, le=1 << 16)
    """Size of all files together that a submission has fetched, in MiB; 0 allows none."""
    image_mib: int = Field(default=4096, ge=1, le=1 << 20)
    """Size of an image that a submission names, in MiB."""

    def size_fault(self, sizes: Mapping[str, int]) -> str | None:
        """Why a folder with files of so many bytes may not come in; None if it may."""
        if len(sizes) > self.files:
            return f"the folder holds more than {self.files} files; leave out what the agent does not need"
        if (size := sum(sizes.values())) > self.kib * 1024:
            largest = max(sizes, key=sizes.__getitem__)
            held = f"{_in_units(size)} of at most {_in_units(self.kib * 1024)}"
            fetched = "; have it fetched: 'weights' in submission.yml" if self.weights_mib else ""
            return f"the folder holds {held}; largest: {largest} {_in_units(sizes[largest])}{fetched}"
        return None


def _in_units(size: int) -> str:
    return f"{size / (1 << 20):.1f} MiB".replace(".0 ", " ") if size >= 1 << 20 else f"{-(-size // 1024)} KiB"


class ParallelEpisodes(Frozen):
    """How many episodes are alive at once."""

    shared: int = Field(default=128, ge=1, le=1024)
    """For one instance that is asked about all of them."""
    separate: int = Field(default=16, ge=1, le=256)
    """For one instance each."""


class Anchor(Frozen):
    """A score with a name, and where it comes from."""

    score: float
    """The task's score of this anchor."""
    source: LongLine
    """Who measured it, how."""


class ClockSettings(Frozen):
    """How long a player may think. A frame's time is shared equally by the positions in it."""

    move_seconds: float = Field(default=2, gt=0, le=600)
    """Wall seconds for a move."""
    bank_seconds: float = Field(default=20, ge=0, le=3600)
    """Seconds for each match that moves may take beyond that, all together."""


# With fewer episodes an interval of 95 % is as wide as what it should tell apart, so a host confirms the number.
ENOUGH_EPISODES = 10
# Fields for solo tasks only, with the field for games instead, and fields for games only.
_SOLO_ONLY = {
    "env": "'game'", "episodes": "'matches'", "max_episode_steps": "'max_plies'", "clip": None, "grid": None,
    "few_episodes": None, "reusable": None, "score": "ratings", "bounds": None, "random": "'anchor'", "reference": None,
    "script": None,
}  # fmt: skip
_GAME_ONLY = ("matches", "opening", "max_plies", "clock", "opponents", "anchor")


class Task(Frozen):
    """One environment or game plus the settings that make its scores comparable."""

    id: TaskId
    """The name on the board and in addresses."""
    env: LongLine | None = None
    """Gymnasium id, or `module:Id` for a host's own; the task's id when left out."""
    game: LongLine | None = None
    """A game of two: a module of PettingZoo, `pettingzoo.classic.connect_four_v3`, or a host's own `module:factory`."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Arguments of `gymnasium.make`, or of the game's factory."""
    title: Line | None = None
    """Shown instead of the id."""
    description: Text | None = None
    """A paragraph for the task's page."""
    episodes: int = Field(default=100, ge=1, le=10000)
    """Episodes of one evaluation."""
    few_episodes: bool = False
    """Confirms that fewer than 10 episodes make a score; `pullrank check` asks for it."""
    max_episode_steps: int | None = Field(default=None, ge=1)
    """Overrides the environment's own time limit."""
    lanes: ParallelEpisodes = ParallelEpisodes()
    """Episodes alive at once."""
    clip: bool = True
    """Clip float actions to the bounds of a Box action space."""
    grid: float | None = Field(default=None, gt=0)
    """Put float actions on multiples of this before stepping, which keeps traces small."""
    reusable: bool = False
    """One environment instance may play many episodes; only where a test shows that it changes nothing."""
    seed_bits: int = Field(default=128, ge=16, le=128)
    """Bits of seed the environment takes; fewer are easier to guess."""
    score: Literal["mean", "iqm"] = "mean"
    """How returns become the score."""
    bounds: tuple[float, float] | None = None
    """The least and the greatest possible return, where both are known."""
    random: Anchor | None = None
    """The random agent's score: 0 on the overall board."""
    reference: Anchor | None = None
    """A good score: 1 on the overall board."""
    decimals: int = Field(default=1, ge=0, le=6)
    """Digits after the point when the score is shown."""
    metrics: tuple[Metric, ...] = Field(default=(), max_length=20)
    """What is shown of a result; the first one ranks. `score` alone, higher is better, when left out."""
    ties: tuple[Line, ...] = ()
    """Metrics that part equal scores, one after the other; then the earlier entry comes first."""
    weight: float = Field(default=1, gt=0, le=1000)
    """Its weight on the overall board."""
    script: ScriptRules | None = None
    """Lets scripts enter, and says how they are measured."""
    extra: Line | None = None
    """Extra dependencies the environment needs: `mujoco`, `atari`, `minigrid` or `chess`."""
    matches: int = Field(default=100, ge=2, le=10000, multiple_of=2)
    """Games only: matches of a duel, each opening from both sides."""
    opening: int = Field(default=2, ge=0, le=40)
    """Games only: moves drawn from the seed before the players move."""
    max_plies: int = Field(default=1000, ge=1, le=100_000)
    """Games only: a match that is longer is a draw."""
    clock: ClockSettings = ClockSettings()
    """Games only: how long a player may think."""
    opponents: int = Field(default=20, ge=1, le=1000)
    """Games only: with more players than that, each plays the so many most informative ones."""
    anchor: LongLine | None = None
    """Games only: the player rated 0, an example's folder or `login/agent`; the first baseline that plays when left out."""
    code_before: Digest | None = None
    """The code of your own that results were measured by which do not name theirs, as `pullrank plan --explain` gives it."""

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        fields = type(self).model_fields

        def written(name: str) -> bool:
            return bool(getattr(self, name) != fields[name].get_default(call_default_factory=True))

        if self.game is None:
            if wrong := next((name for name in _GAME_ONLY if written(name)), None):
                raise ValueError(f"'{wrong}' is for games; name the game in 'game', or remove it")
        elif wrong := next((name for name in _SOLO_ONLY if written(name)), None):
            instead = _SOLO_ONLY[wrong]
            raise ValueError(f"'{wrong}' is not for games; " + (f"a game has {instead}" if instead else "remove it"))
        return self

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.bounds and not self.bounds[0] < self.bounds[1]:
            raise ValueError("'bounds' must be [least, greatest] with least below greatest")
        if self.random and self.reference and self.random.score == self.reference.score:
            raise ValueError("'random' and 'reference' have the same score, so nothing can be normalised")
        return self

    @model_validator(mode="after")
    def _with_a_digest(self) -> Self:
        try:
            self.digest()
        except ValueError as error:
            raise ValueError("a whole number is beyond 2**53, so the task's settings have no digest; correct it") from error
        return self

    @model_validator(mode="after")
    def _named_metrics(self) -> Self:
        anchors = (self.random.score, self.reference.score) if self.random and self.reference else None
        terms = MetricTerms(ties=self.ties, score=self.score, anchors=anchors, for_scripts=self.script is not None)
        if fault := metrics_fault(self.metrics, terms):
            raise ValueError(fault)
        return self

    _code: str | None = PrivateAttr(default=None)

    @property
    def code(self) -> str | None:
        """The digest of the host's own code that measures this task; None where there is none."""
        return self._code

    def with_code(self, code: str | None) -> Self:
        """The same task with this code digest, which comes from the sources and is in no document."""
        task = self.model_copy()
        task._code = code
        return task

    @property
    def counted(self) -> int:
        """The number of episodes that make a score."""
        return self.script.last if self.script else self.episodes

    def few_episodes_fault(self) -> str | None:
        """The fault of a score from few episodes that the host has not confirmed; None if there is none."""
        if self.game is not None or self.few_episodes or self.counted >= ENOUGH_EPISODES:
            return None
        setting = "script.last" if self.script else "episodes"
        return (
            f"task {self.id}: {setting} is {self.counted}, and intervals of fewer than {ENOUGH_EPISODES} episodes tell "
            "little apart; raise it, or confirm it with 'few_episodes: true'"
        )

    @property
    def env_id(self) -> str:
        """The environment's id for `gymnasium.make`."""
        return self.env or self.id

    def measured(self) -> dict[str, Any]:
        """The settings that change what is measured; texts, anchors and estimators do not."""
        code = {"code": self._code} if self._code not in (None, self.code_before) else {}
        if self.game is not None:
            fields = {"game", "kwargs", "matches", "opening", "max_plies", "clock", "lanes", "seed_bits"}
            return {**self.model_dump(mode="json", include=fields), **code}
        fields = {"kwargs", "episodes", "max_episode_steps", "lanes", "clip", "grid", "reusable", "seed_bits"}
        # Later settings are included only where they are used, so that other tasks keep their digest.
        fields |= {"script"} if self.script else set()
        functions = sorted({m.kind for m in self.metrics if m.is_own})
        own = {"functions": functions} if functions else {}
        return {"env": self.env_id, **self.model_dump(mode="json", include=fields), **own, **code}

    def digest(self) -> str:
        """Hash over `measured()`; results with another digest belong to another task."""
        return canonical_json.digest(self.measured())


class Challenge(Frozen):
    """One board."""

    title: Line
    """The board's name."""
    description: Text = ""
    """What it is, in a sentence or two."""
    season: Line
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
    """What a sandbox may use."""
    submissions: SubmissionLimits = SubmissionLimits()
    """What a submission's folder may hold."""
    runners: Runners = Runners()
    """Where official evaluations run."""
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
        if twice := next((i for i in ids if folded.count(i.casefold()) > 1), None):
            raise ValueError(f"the task id '{twice}' stands twice")
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
    """The fault in the settings of sealed seeds, or None."""
    if (challenge.seeds == "sealed") != (challenge.sealed is not None):
        return "'seeds: sealed' and 'sealed' go together; 'pullrank season seal' writes both"
    if challenge.sealed and challenge.quota is None:
        return "sealed seeds need a 'quota': whoever may try without end learns the episodes"
    if challenge.sealed and challenge.is_final:
        return "'final' is for open seeds: a sealed season has one set of episodes; remove it, and reveal the season"
    if challenge.sealed and challenge.games:
        game = challenge.games[0].id
        return f"seeds cannot be sealed on a board with a game: the moves of '{game}' show its openings; remove it"
    return None
