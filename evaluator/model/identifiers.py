"""Patterns and types of names, which get into paths, pages and shells."""

import functools
import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from evaluator.model.visible_text import INVISIBLE

# GitHub's logins: letters, digits and inner hyphens, in old ones several in a row, and '_' before the short name of an
# enterprise that manages its users; at most 39 characters. `[bot]` accounts never submit.
LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,37}[A-Za-z0-9])?")
AGENT = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?")
AGENT_RULE = "1 to 40 lower-case letters, digits, '.', '_' or '-', beginning and ending with a letter or digit"
# A new agent's folder must not be named like a file, since recorded results and the site have files beside such folders.
# AGENT allows such names, so that older results stay readable.
FILE_ENDINGS = (".json", ".html", ".md", ".svg", ".xml")
# Windows takes these for devices, whatever follows their first dot: a clone with such a folder or file cannot be made there.
_DEVICES = r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)"
_DEVICE = re.compile(_DEVICES, re.IGNORECASE)
NEW_AGENT = re.compile(rf"(?!.*(?:{'|'.join(re.escape(ending) for ending in FILE_ENDINGS)})$)(?!{_DEVICES}){AGENT.pattern}")
ENDING_RULE = f"an agent's name must not end in {', '.join(FILE_ENDINGS[:-1])} or {FILE_ENDINGS[-1]}; rename the folder"
TASK = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,79}")
SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")

HEX64 = StringConstraints(pattern=r"^[0-9a-f]{64}$")
Digest = Annotated[str, HEX64]
CommitSha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Seed = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


def _visible(text: str) -> str:
    if character := INVISIBLE.search(text):
        raise ValueError(f"holds the invisible character U+{ord(character.group()):04X}; remove it")
    return text


def _one_line(text: str) -> str:
    if "\n" in text or "\t" in text:
        raise ValueError("must be a single line")
    if text != text.strip() or not text:
        raise ValueError("must not be empty or begin or end with a space")
    return _visible(text)


def _matching(pattern: re.Pattern[str], rule: str) -> AfterValidator:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"must be {rule}")
        return text

    return AfterValidator(check)


Login = Annotated[str, _matching(LOGIN, "a GitHub login: letters, digits, inner hyphens and '_', at most 39 characters")]
FolderName = Annotated[str, _matching(AGENT, AGENT_RULE)]
TaskId = Annotated[str, _matching(TASK, "1 to 80 letters, digits or '_.:/-', beginning with a letter or digit")]
Line = Annotated[str, StringConstraints(max_length=60), AfterValidator(_one_line)]
# The name of a folder of pages, too, which `..` would be as well.
SeasonName = Annotated[Line, _matching(re.compile(r"\w.*"), "a name that begins with a letter or digit")]
LongLine = Annotated[str, StringConstraints(max_length=300), AfterValidator(_one_line)]
Text = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_visible)]
Url = Annotated[
    str,
    StringConstraints(max_length=300),
    _matching(re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~/?#@!$&*+,;=%-]*)?"), "an https:// address"),
]
# A public host by its name: no user, no port, no number, and no letters that look like others (`xn--`).
WEB_HOST = re.compile(r"(?:(?!xn--)[a-z0-9-]+\.)+(?!xn--)[a-z][a-z0-9-]*")
_WEB_PATH = re.compile(r"/[A-Za-z0-9._~/?@!$&*+,;=%:-]*")
_SECRET_IN_QUERY = re.compile(r"[?&](?:[a-z-]*signature|sig|jwt|[a-z_-]*token|key|api_?key|password)=", re.IGNORECASE)


def _weights_url(url: str) -> str:
    host, _, path = url.removeprefix("https://").partition("/")
    if not url.startswith("https://") or not WEB_HOST.fullmatch(host) or not _WEB_PATH.fullmatch("/" + path):
        raise ValueError("must be https:// with a host's name in plain small letters and a path; no user, port or number")
    if _SECRET_IN_QUERY.search(url):
        raise ValueError("holds a token or signature, which everybody could read; name an address that needs none")
    return url


WeightsUrl = Annotated[str, StringConstraints(max_length=1000), AfterValidator(_weights_url)]


def new_agent_fault(agent: str) -> str | None:
    """Why a folder of that name may not come in, though recorded results may name it; None if it may."""
    return ENDING_RULE if agent.lower().endswith(FILE_ENDINGS) else portable_fault(agent)


def portable_fault(segment: str) -> str | None:
    """Why a file or folder cannot lie in every clone under its name; None if it can."""
    if _DEVICE.match(segment):
        return f"Windows takes {segment.partition('.')[0]!r} for a device, so nobody could clone there; rename it"
    return "Windows drops a dot at the end of a name; rename it" if segment.endswith(".") else None


@functools.lru_cache(maxsize=1024)
def safe_path_segment(text: str) -> str:
    """Percent-encode a path segment: `ALE/Pong-v5` becomes `ALE%2FPong-v5`."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else f"%{ord(c):02X}" for c in text)
