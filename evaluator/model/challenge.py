"""challenge.yml: the tasks, limits and rules of one board."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from evaluator.model import canonical
from evaluator.model.base import Frozen
from evaluator.model.names import Line, LongLine, TaskId, Text, Url


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
    answer_seconds: float = Field(default=2, gt=0, le=600)
    """Wall seconds an answer may take, times the live lanes of the frame."""
    start_seconds: float = Field(default=60, gt=0, le=600)
    """Wall seconds from the container's start until the agent is ready."""
    log_kib: int = Field(default=256, ge=1, le=16384)
    """What the agent may print on one task, in KiB; more ends the evaluation."""

    @property
    def wall_seconds(self) -> float:
        """The watchdog's wall limit: ten times the processor limit, because walls on shared runners lie."""
        return 10 * self.cpu_seconds


class SubmissionLimits(Frozen):
    """What a submission's folder may hold."""

    files: int = Field(default=100, ge=1, le=10000)
    """Files in the folder."""
    kib: int = Field(default=5120, ge=1, le=102400)
    """Size of all files together, in KiB."""


class Lanes(Frozen):
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


class Task(Frozen):
    """One environment plus the settings that make its scores comparable."""

    id: TaskId
    """The name on the board and in addresses."""
    env: LongLine | None = None
    """Gymnasium id, or `module:Id` for a host's own; the task's id when left out."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Arguments of `gymnasium.make`."""
    title: Line | None = None
    """Shown instead of the id."""
    description: Text | None = None
    """A paragraph for the task's page."""
    episodes: int = Field(default=100, ge=1, le=10000)
    """Episodes of one evaluation."""
    max_episode_steps: int | None = Field(default=None, ge=1)
    """Overrides the environment's own time limit."""
    lanes: Lanes = Lanes()
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
    extra: Line | None = None
    """Extra dependencies the environment needs: `mujoco` or `atari`."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.bounds and not self.bounds[0] < self.bounds[1]:
            raise ValueError("'bounds' must be [least, greatest] with least below greatest")
        if self.random and self.reference and self.random.score == self.reference.score:
            raise ValueError("'random' and 'reference' have the same score, so nothing can be normalised")
        return self

    @property
    def env_id(self) -> str:
        """The environment's id for `gymnasium.make`."""
        return self.env or self.id

    def measured(self) -> dict[str, Any]:
        """The settings that change what is measured; words, anchors and estimators are not among them."""
        fields = {
            "kwargs", "episodes", "max_episode_steps", "lanes", "clip", "grid", "reusable", "seed_bits",
        }  # fmt: skip
        return {"env": self.env_id, **self.model_dump(mode="json", include=fields)}

    def digest(self) -> str:
        """Hash over `measured()`: results of another digest are another task's."""
        return canonical.digest(self.measured())


class Runners(Frozen):
    """Where official evaluations run, and how much of it at once."""

    labels: tuple[LongLine, ...] = Field(default=("ubuntu-24.04",), min_length=1, max_length=10)
    """Labels of the machines: GitHub's own, or a self-hosted runner's."""
    sandbox: Literal["docker", "gvisor"] = "docker"
    """What holds the agents."""
    at_once: int = Field(default=20, ge=1, le=200)
    """Machines that run side by side: 20 on GitHub's Free plan."""
    shard_minutes: int = Field(default=15, ge=1, le=300)
    """Work given to one machine at most; what is left is the next round's."""


class Challenge(Frozen):
    """One board."""

    title: Line
    """The board's name."""
    description: Text = ""
    """What it is, in a sentence or two."""
    season: Line
    """Scores of another season are another board's."""
    repository: Url | None = None
    """Where the board's repository lives."""
    tasks: tuple[Task, ...] = Field(min_length=1, max_length=200)
    """What agents are measured on."""
    limits: Limits = Limits()
    """What a sandbox may use."""
    submissions: SubmissionLimits = SubmissionLimits()
    """What a submission's folder may hold."""
    runners: Runners = Runners()
    """Where official evaluations run."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        ids = [task.id for task in self.tasks]
        folded = [i.casefold() for i in ids]
        if twice := next((i for i in ids if folded.count(i.casefold()) > 1), None):
            raise ValueError(f"the task id '{twice}' stands twice")
        return self

    def task(self, task_id: str) -> Task | None:
        """The task of that id, if there is one."""
        return next((task for task in self.tasks if task.id == task_id), None)
