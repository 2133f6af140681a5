"""What is to be evaluated on a task, and for whom."""

from dataclasses import dataclass

from evaluator.host.attempts.measurement_request import MeasurementRequest
from evaluator.host.digests.runtime_digest import with_extras
from evaluator.host.envs.gym_task import GymTask
from evaluator.host.loading.submission_folder import SubmissionFolder
from evaluator.host.seeds.derived_seeds import agent_seeds, episode_seeds
from evaluator.host.seeds.season_secret import SeasonSecret, SecretError
from evaluator.host.solo.referee import EpisodeSpec
from evaluator.model.config.limits import Limits
from evaluator.model.records.result import Devices, WantedResult
from evaluator.model.sealed_fields import secret_hash


@dataclass(frozen=True, kw_only=True)
class EvaluationRequest(MeasurementRequest):
    """What is to be evaluated, and for whom."""

    login: str
    login_id: int | None
    agent: str
    folder: SubmissionFolder
    gym_task: GymTask
    secret: SeasonSecret | None = None
    """In a sealed season: where the seeds come from."""
    gpus: Devices | None = None
    """The graphics cards that it is handed, where the leaderboard wants some."""
    owner_liable: bool = False
    """Whether its owner is liable for a registry or host of weights that fails: it failed in all tries but the last one."""

    def wanted(self) -> WantedResult:
        """What the result depends on."""
        return WantedResult(
            submission_digest=self.folder.digest,
            task_digest=self.gym_task.task.digest(),
            runtime_digest=with_extras(self.runtime_digest, self.folder.submission.needs),
            season=self.season,
            beacon=self.beacon,
        )

    def _season_secret(self) -> SeasonSecret | None:
        """Where the seeds of a sealed season come from; None where they are open. Raises as `seeds` does."""
        sha256 = secret_hash(self.beacon)
        if sha256 is not None and (self.secret is None or self.secret.sha256 != sha256):
            raise SecretError("these episodes come from a secret that is not at hand; nothing is played without it")
        return self.secret if sha256 else None

    def seeds(self, first: int = 0, count: int | None = None) -> tuple[str, ...]:
        """The environment seeds of that many episodes from the number `first` on, of all that count where `count` is None.

        Raises:
            SecretError: they come from a secret that is missing.
        """
        task = self.gym_task.task
        count = task.counted if count is None else count
        if secret := self._season_secret():
            return secret.episode_seeds(self.season, task.id, count, first)
        return episode_seeds(self.season, self.beacon, self.folder.digest, task.id, count, first)

    @property
    def allowed(self) -> Limits:
        """What the sandbox may use, with the memory that the agent's extras need."""
        return self.folder.submission.allowed(self.limits)

    def specs(self) -> tuple[EpisodeSpec, ...]:
        """The episodes to play."""
        name, secret = (self.folder.digest, self.gym_task.task.id, self.gym_task.task.counted), self._season_secret()
        own_seeds = secret.agent_seeds(self.season, *name) if secret else agent_seeds(self.season, self.beacon, *name)
        pairs = zip(self.seeds(), own_seeds, strict=True)
        return tuple(EpisodeSpec(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))
