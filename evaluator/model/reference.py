"""The name of a container image that a submission brings: a registry's host, a repository and a digest."""

import re
from dataclasses import dataclass

_HOST = r"(?P<host>localhost(?::\d{1,5})?|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d{1,5})?|[a-z0-9-]+:\d{1,5})"
_NAME = r"(?P<name>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)"
_PINNED = re.compile(_HOST + "/" + _NAME + r"@sha256:(?P<digest>[0-9a-f]{64})")
_TAGGED = re.compile(_HOST + "/" + _NAME + r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?")
MOVES = "which may be another image tomorrow"
FORM = "host/name@sha256:<64 digits>, such as ghcr.io/alice/agent@sha256:0123…"
# How a person comes to the digest: of what is in a registry, and of what this machine has pushed.
HOW = (
    "'docker buildx imagetools inspect {shown}' shows it, and after a push so does "
    "'docker inspect --format \"{{{{index .RepoDigests 0}}}}\" {shown}'"
)
# What `pullrank new` writes, where the digest of the image that is still to be built will stand.
_UNWRITTEN = 64 * "0"
_OWN = "'docker inspect --format \"{{index .RepoDigests 0}}\" <image>' shows it"


@dataclass(frozen=True, kw_only=True)
class Reference:
    """An image that cannot become another one."""

    host: str
    """The registry, with its port if it has an own one."""
    name: str
    """The repository in it."""
    digest: str
    """64 hexadecimal digits: of the manifest, or of a list of manifests."""

    def __str__(self) -> str:
        """As it stands in `entry`."""
        return f"{self.host}/{self.name}@sha256:{self.digest}"


@dataclass(frozen=True, kw_only=True)
class Tagged:
    """An image by a name that may mean another one tomorrow."""

    host: str
    """The registry."""
    name: str
    """The repository in it."""
    tag: str
    """`latest` where none is written."""


def parse_reference(text: str) -> Reference:
    """The image that an entry names.

    Raises:
        ValueError: it names none, or none by its digest; the message says how to find that.
    """
    if found := _PINNED.fullmatch(text):
        if found["digest"] == _UNWRITTEN:
            raise ValueError(
                f"'entry' still has the template's digest; build and push the image, then write its own: {_OWN}"
            )
        return Reference(host=found["host"], name=found["name"], digest=found["digest"])
    if parse_tagged(text):
        tag = f"'entry' names {text!r}, {MOVES}; write its digest, {FORM}"
        raise ValueError(f"{tag}: " + HOW.format(shown=text))
    raise ValueError(f"'entry' is {text!r}, but an image is named by its registry and digest: {FORM}")


def parse_tagged(text: str) -> Tagged | None:
    """The image that is named by a tag, or by nothing, which means `latest`."""
    found = _TAGGED.fullmatch(text)
    return Tagged(host=found["host"], name=found["name"], tag=found["tag"] or "latest") if found else None
