"""What a submission's folder may hold, with the words for what is too much."""

from collections.abc import Mapping

from pydantic import Field

from evaluator.model.base import Frozen

_MIB = 1 << 20
# MiB of agents' images that a machine keeps for the next task.
KEPT_IMAGES_MIB = 4096


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

    def folder_fault(self, sizes: Mapping[str, int]) -> str | None:
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
