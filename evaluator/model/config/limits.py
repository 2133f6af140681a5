"""What a sandbox may use and what a submission may hold, with the words for what is too large."""

import math
from collections.abc import Mapping

from pydantic import Field

from evaluator.model.base import Frozen, is_none

# A referee works while the agent does, but less than half the time.
_REFEREE_CPUS = 0.5
_MIB = 1 << 20
# MiB of agents' images that a machine keeps for the next task.
KEPT_IMAGES_MIB = 4096


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
    """Wall seconds from the container's start until the agent is ready."""
    log_kib: int = Field(default=256, ge=1, le=16384)
    """What the agent may print on one task, in KiB; more ends the evaluation."""

    @property
    def wall_seconds(self) -> float:
        """The watchdog's wall limit: ten times the processor limit, since wall time says little on shared runners."""
        return 10 * self.cpu_seconds if self.task_seconds is None else self.task_seconds

    def processors(self, sandboxes: int = 1) -> int:
        """Processors that an evaluation with that many sandboxes needs so that none of them and no referee waits."""
        return math.ceil(sandboxes * self.cpus + _REFEREE_CPUS)


class SubmissionLimits(Frozen):
    """What a submission's folder may hold."""

    files: int = Field(default=100, ge=1, le=10000)
    """Files in the folder."""
    kib: int = Field(default=25600, ge=1, le=102400)
    """Size of all files together, in KiB."""
    weights_mib: int = Field(default=256, ge=0, le=1 << 16)
    """Size of all files together that a submission has fetched, in MiB; 0 allows none."""
    image_mib: int = Field(default=KEPT_IMAGES_MIB, ge=1, le=1 << 20)
    """Size of an image that a submission names, in MiB."""

    def size_fault(self, sizes: Mapping[str, int]) -> str | None:
        """Why a folder with files of that many bytes may not come in; None if it may."""
        if len(sizes) > self.files:
            return f"the folder holds more than {self.files} files; leave out what the agent does not need"
        if (size := sum(sizes.values())) > self.kib * 1024:
            largest = max(sizes, key=sizes.__getitem__)
            share = f"{_in_units(size)} of at most {_in_units(self.kib * 1024)}"
            fetched = "; have it fetched: 'weights' in the manifest" if self.weights_mib else ""
            return f"the folder holds {share}; largest: {largest} {_in_units(sizes[largest])}{fetched}"
        return None

    def weights_fault(self, size: int) -> str | None:
        """Why files of that many bytes together may not be fetched; None if they may."""
        if size > self.weights_mib * _MIB:
            return f"'weights' have {-(-size // _MIB)} MiB of at most {self.weights_mib}; quantise them"
        return None


def _in_units(size: int) -> str:
    return f"{size / _MIB:.1f} MiB".replace(".0 ", " ") if size >= _MIB else f"{-(-size // 1024)} KiB"
