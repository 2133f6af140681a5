"""A task of challenge.yml: one environment or game plus the settings that make its scores comparable."""

from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.config.metric import Metric, metrics_fault
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.identifiers import Digest, Line, LongLine, TaskId, Text


class ParallelEpisodes(Frozen):
    """How many episodes are alive at once."""

    shared: int = Field(default=128, ge=1, le=1024)
    """For one instance that is asked about all of them."""
    separate: int = Field(default=16, ge=1, le=256)
    """For one instance each."""


class ReferenceScore(Frozen):
    """A score with a name, and where it comes from."""

    score: float
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
    random: ReferenceScore | None = None
    """The random agent's score: 0 on the overall board."""
    reference: ReferenceScore | None = None
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
    """Games only: with more players than that, each plays that many, drawn by lot."""
    anchor: LongLine | None = None
    """Games only: the player rated 0, an example's folder or `login/agent`; the first baseline that plays when left out."""
    code_before: Digest | None = None
    """The digest of your own code for older results that do not record one; `pullrank plan --explain` prints it."""

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
        try:
            self.digest()
        except ValueError as error:
            raise ValueError("a whole number is beyond 2**53, so the task's settings have no digest; correct it") from error
        reference_scores = (self.random.score, self.reference.score) if self.random and self.reference else None
        if fault := metrics_fault(
            self.metrics, self.ties, self.score, reference_scores, for_scripts=self.script is not None
        ):
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
        """The settings that change what is measured; texts, reference scores and estimators do not."""
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
