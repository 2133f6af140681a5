"""preview.log: the ends of the agents' logs in one capped file, of which no line is a command to the workflow runner.

The runner obeys `::command::` at the start of a line and `##[command]` anywhere in one. So every line begins with `| `,
and both are broken with a visible space. Lines of ours begin with `| == `, those of agents with `| > `: no agent can
write a line that is taken for ours.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from leaderboard.text.escape_markdown import visible

CAP = 64 << 10
_OURS, _THEIRS = "| == ", "| > "
_HEAD = re.compile(
    r"\| == (?P<who>[A-Za-z0-9-]{1,39}/[a-z0-9._-]{1,40}(?: v [A-Za-z0-9-]{1,39}/[a-z0-9._-]{1,40})?"
    r" on [A-Za-z0-9_.:/-]{1,80}): (?P<verdict>[a-z_]{1,20})"
)


@dataclass(frozen=True, kw_only=True)
class LogTail:
    """The end of one agent's log on one task."""

    who: str
    """`login/agent on task`, of a duel `login/agent v login/agent on task`."""
    verdict: str
    """How it ended."""
    text: str
    """What it printed last."""


def neutralised(text: str) -> str:
    """One line of an agent, such that the runner takes it for text wherever it is printed."""
    shown = visible(text).replace("##[", "## [")
    return re.sub(r"^(\s*):(?=:)", r"\1: ", shown)


def written(tails: Iterable[LogTail], cap: int = CAP) -> bytes:
    """The file. Each log has the same share of the room and keeps its end."""
    kept = [tail for tail in tails if tail.text.strip()]
    share = cap // max(1, len(kept))
    return b"".join(_section(tail, share) for tail in kept)


def _section(tail: LogTail, share: int) -> bytes:
    head = f"{_OURS}{tail.who}: {tail.verdict}\n".encode()
    room = share - len(head)
    lines: list[bytes] = []
    for line in reversed(tail.text.splitlines()):
        shown = f"{_THEIRS}{neutralised(line)}\n".encode("utf-8", "replace")
        room -= len(shown)
        if room < 0:
            break
        lines.append(shown)
    return head + b"".join(reversed(lines))


def log_tails(log: str) -> dict[str, str]:
    """What `written` wrote, by `login/agent on task`; lines of another form are left out."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in log.split("\n"):
        if head := _HEAD.fullmatch(line):
            current = found.setdefault(head["who"], [])
        elif line.startswith(_THEIRS):
            current.append(line.removeprefix(_THEIRS))
    return {who: "\n".join(lines) for who, lines in found.items()}
