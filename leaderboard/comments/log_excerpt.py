"""The agents' logs in a preview: how preview.log is written and read, and the excerpt that a comment shows.

preview.log holds the end of each agent's log, and no line of it may be a command to the workflow runner. The runner obeys
`::command::` at the start of a line and `##[command]` anywhere in one. So every line begins with `| `, and both forms are
broken with a visible space. The head of a log begins with `| == `, lines of agents with `| > `: no agent can forge a head.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from evaluator.model.visible_text import visible, without_commands

# Bytes of preview.log.
PREVIEW_LOG_BYTES = 64 << 10
# Of a log a comment shows this many lines, and this many characters of a line.
_EXCERPT_LINES, _LINE_LENGTH = 25, 300
_HEAD_PREFIX, _AGENT_PREFIX = "| == ", "| > "
_LOG_HEAD = re.compile(
    r"\| == (?P<who>[A-Za-z0-9_-]{1,39}/[a-z0-9._-]{1,40}(?: v [A-Za-z0-9_-]{1,39}/[a-z0-9._-]{1,40})?"
    r" on [A-Za-z0-9_.:/-]{1,80}): (?P<verdict>[a-z_]{1,20})"
)


@dataclass(frozen=True, kw_only=True)
class LogTail:
    """The end of one agent's log on one task."""

    who: str
    """`login/agent on task`, of a duel `login/agent v login/agent on task`."""
    verdict: str
    text: str


def neutralised(text: str) -> str:
    """One line of an agent, changed so that the runner never takes it for a command."""
    return without_commands(visible(text))


def write_preview_log(tails: Iterable[LogTail], cap: int = PREVIEW_LOG_BYTES) -> bytes:
    """The content of preview.log. Each log keeps its end in an equal share of `cap` bytes, or is left out."""
    sections = [tail for tail in tails if tail.text.strip()]
    share = cap // max(1, len(sections))
    return b"".join(_section(tail, share) for tail in sections)


def _section(tail: LogTail, share: int) -> bytes:
    head = f"{_HEAD_PREFIX}{tail.who}: {tail.verdict}\n".encode()
    room = share - len(head)
    if room < 0:
        return b""
    lines: list[bytes] = []
    for line in reversed(tail.text.splitlines()):
        shown = f"{_AGENT_PREFIX}{neutralised(line)}\n".encode("utf-8", "replace")
        room -= len(shown)
        if room < 0:
            break
        lines.append(shown)
    return head + b"".join(reversed(lines))


def log_tails(log: str) -> dict[str, str]:
    """The logs in the text of preview.log, by `login/agent on task`; lines of any other form are ignored."""
    tails: dict[str, list[str]] = {}
    current: list[str] = []
    for line in log.split("\n"):
        if head := _LOG_HEAD.fullmatch(line):
            current = tails.setdefault(head["who"], [])
        elif line.startswith(_AGENT_PREFIX):
            current.append(line.removeprefix(_AGENT_PREFIX))
    return {who: "\n".join(lines) for who, lines in tails.items()}


def log_excerpt(log: str) -> str:
    """The last lines of an agent's log, shortened for a comment."""
    return "\n".join(map(shortened, log.rstrip().splitlines()[-_EXCERPT_LINES:]))


def shortened(line: str) -> str:
    """The line, cut at the greatest length that a comment shows."""
    return line if len(line) <= _LINE_LENGTH else f"{line[: _LINE_LENGTH - 1]}…"
