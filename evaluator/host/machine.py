"""This machine: its graphics cards, and a name under which it is known again."""

import csv
import functools
import hashlib
import platform
import re
import shutil
import subprocess

from evaluator.host.process_owner import read_or_empty

_QUERY = ("--query-gpu=name,driver_version,uuid", "--format=csv,noheader")
_MODEL = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)
_SECONDS = 20


@functools.cache
def graphics_cards() -> tuple[str, ...]:
    """The cards that NVIDIA's driver shows, each with its driver's version and its own number; none without the driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        answer = subprocess.run([program, *_QUERY], capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(", ".join(field.strip() for field in row) for row in csv.reader(answer.stdout.splitlines()) if row)


def gpu_models(cards: tuple[str, ...]) -> tuple[str, ...]:
    """The cards as results name them: the model and the driver's version, without the number of the one card."""
    return tuple(", ".join(card.split(", ")[:2]) for card in cards)


def machine_digest() -> str:
    """64 hex digits that are the same only on this machine, with this kernel, processor and these cards."""
    kernel = (platform.system(), platform.machine(), platform.release(), platform.node())
    processor = _MODEL.search(read_or_empty("/proc/cpuinfo"))
    parts = (*kernel, processor[1] if processor else "", read_or_empty("/etc/machine-id"), *graphics_cards())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
