"""What is to be evaluated, and the seeds that follow from it."""

from dataclasses import dataclass

from evaluator.host.cohort import Ticket
from evaluator.host.digests.runtime_digest import with_extras
from evaluator.host.envs.gym_task import World
from evaluator.host.loading.submission_folder import Folder
from evaluator.host.seeds.derive import agent_seeds, episode_seeds
from evaluator.host.seeds.season_secret import Secret, SecretError
from evaluator.model.config.challenge import Limits
from evaluator.model.records.result import Class, Wanted
from evaluator.model.sealed_fields import secret_hash


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be evaluated, for whom."""

    login: str
    """The owner."""
    login_id: int | None
    """GitHub's number for him."""
    agent: str
    """The agent's folder."""
    folder: Folder
    """The agent."""
    world: World
    """The task."""
    limits: Limits
    """What the sandbox may use."""
    season: str
    """The season it counts for."""
    beacon: str
    """Where the seeds come from."""
    beacon_verified: bool
    """Whether GitHub signed it."""
    klass: Class
    """official, preview or local."""
    runtime_digest: str
    """What measures."""
    commit: str | None = None
    """The board's commit."""
    run_url: str | None = None
    """The workflow run."""
    secret: Secret | None = None
    """In a sealed season: where the seeds come from."""

    def wanted(self) -> Wanted:
        """What the evaluation is a function of."""
        return Wanted(
            submission_digest=self.folder.digest,
            task_digest=self.world.task.digest(),
            runtime_digest=with_extras(self.runtime_digest, self.folder.submission.needs),
            season=self.season,
            beacon=self.beacon,
        )

    def _seed_arguments(self) -> tuple[str, str, str, str, int]:
        task = self.world.task
        return self.season, self.beacon, self.folder.digest, task.id, task.counted

    def _episodes(self, count: int, first: int) -> tuple[str, ...]:
        """Seeds of episodes.

        Raises:
            SecretError: they come from a secret that is not here.
        """
        if (sha256 := secret_hash(self.beacon)) is None:
            return episode_seeds(*self._seed_arguments()[:4], count, first)
        return _matching(self.secret, sha256).episode_seeds(self.season, self.world.task.id, count, first)

    def seeds(self, first: int = 0) -> tuple[str, ...]:
        """The environment seed of each episode that counts, beginning with that one."""
        return self._episodes(self.world.task.counted, first)

    def seed_of(self, index: int) -> str:
        """The environment seed of one episode of a script, which may play any number of them."""
        return self._episodes(1, index)[0]

    def _agent_seeds(self) -> tuple[int, ...]:
        season, _, digest, task_id, count = self._seed_arguments()
        if (sha256 := secret_hash(self.beacon)) is None:
            return agent_seeds(*self._seed_arguments())
        return _matching(self.secret, sha256).agent_seeds(season, digest, task_id, count)

    @property
    def allowed(self) -> Limits:
        """What the sandbox may use, with the memory that the agent's extras need."""
        return self.folder.submission.allowed(self.limits)

    @property
    def extent(self) -> int:
        """What progress counts up to: episodes, or a script's steps."""
        task = self.world.task
        return task.script.steps if task.script else task.episodes

    def tickets(self) -> tuple[Ticket, ...]:
        """The episodes to play."""
        pairs = zip(self.seeds(), self._agent_seeds(), strict=True)
        return tuple(Ticket(index=i, seed=seed, agent_seed=own) for i, (seed, own) in enumerate(pairs))


def _matching(secret: Secret | None, sha256: str) -> Secret:
    """The secret that a beacon names: without it, its episodes would be ones that anybody can derive."""
    if secret is None or secret.sha256 != sha256:
        raise SecretError("these episodes come from a secret that is not at hand; nothing is played without it")
    return secret
