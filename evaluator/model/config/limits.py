"""What a sandbox may use."""

import math

from pydantic import Field

from evaluator.model.base import Frozen, is_none

# A referee works while the agent does, but less than half the time.
_REFEREE_CPUS = 0.5


# Enforced by the engine or the process sandbox: memory, processors, processes and /tmp. By the watchdog: processor
# seconds, wall seconds and the log. By the referee: the time of an answer. By the handshake: the time of the start.
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
    task_seconds: float | None = Field(default=None, gt=0, le=216000, exclude_if=is_none)
    """Wall seconds for one task, or for one player's side of a duel; ten times `cpu_seconds` when left out."""
    answer_seconds: float = Field(default=2, gt=0, le=600)
    """Wall seconds that an answer may take for each live episode that it is asked about."""
    start_seconds: float = Field(default=60, gt=0, le=600)
    """Wall seconds from the container's start until the agent has connected, and as many from then until it is ready."""
    log_kib: int = Field(default=256, ge=1, le=16384)
    """What the agent may print on one task, in KiB; more ends the evaluation."""

    @property
    def wall_seconds(self) -> float:
        """The watchdog's wall limit: ten times the processor limit, since wall time says little on shared runners."""
        return 10 * self.cpu_seconds if self.task_seconds is None else self.task_seconds

    def processors(self, sandboxes: int = 1) -> int:
        """Processors that an evaluation with that many sandboxes needs so that none of them and no referee waits."""
        return math.ceil(sandboxes * self.cpus + _REFEREE_CPUS)
