"""Keeps a comment below GitHub's limit, cut at a line's end and with everything closed that was open."""

import re

# GitHub answers 422 above this. It does not say how it counts, so we count as the most cautious do: in UTF-16 units.
LIMIT = 65_536
NOTE = "\n\n*This comment was too long for GitHub, so its end is left out. The run's artifact has the rest.*\n"
_FENCE = re.compile(r"(`{3,})")
_DETAILS, _CLOSED = "<details>", "</details>"


def length(text: str) -> int:
    """UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def clipped(text: str, limit: int = LIMIT) -> str:
    """The text itself, or as many of its lines as there is room for, and a note.

    Args:
        text: Markdown whose fences and details begin at a line's start.
        limit: the greatest length, in UTF-16 units; enough for the note.
    """
    if length(text) <= limit:
        return text
    room = limit - length(NOTE)
    kept: list[str] = []
    open_fence, open_details = "", 0
    for line in text.split("\n"):  # pragma: no branch  (it never comes to the end: there is no room for that)
        fence, details = _after(line, open_fence, open_details)
        closing = (f"\n{fence}" if fence else "") + f"\n\n{_CLOSED}" * details
        room -= length(line) + 1
        if room < length(closing):
            break
        kept.append(line)
        open_fence, open_details = fence, details
    ending = (f"\n{open_fence}" if open_fence else "") + f"\n\n{_CLOSED}" * open_details
    return "\n".join(kept) + ending + NOTE


def _after(line: str, fence: str, details: int) -> tuple[str, int]:
    """The fence that is open after a line, and how many details are."""
    if fence:
        closes = line.startswith(fence) and not line.strip("`")
        return ("" if closes else fence), details
    if found := _FENCE.match(line):
        return found.group(), details
    return "", max(0, details + line.startswith(_DETAILS) - line.startswith(_CLOSED))
