"""What the container engine answers, told without its library."""

from dataclasses import dataclass


class EngineError(Exception):
    """The container engine does not answer or refuses; the message says what to do."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused  # it found what it was asked for to be wrong, rather than failing itself


@dataclass(frozen=True, kw_only=True)
class Stored:
    """An image that the engine keeps."""

    name: str
    """Repository and tag."""
    size: int
    """Bytes, unpacked."""
    used: str
    """When it was named last, so that the longest unused one sorts first."""


def build_failure(arguments: dict[str, str], last: str, error: str) -> str:
    """Why an image was not built."""
    if " FROM " in last:
        base = arguments.get("BASE_IMAGE", "")[:60]
        return f"the base image {base} cannot be had here; name one that can with BASE_IMAGE=…"
    return f"the evaluator image cannot be built (at '{last[:60]}'): {' '.join(error.split())[:200]}"
