"""How an agent's image is named: by its registry and digest; a tag is recognised, to say what to write instead."""

import re
from dataclasses import dataclass

_HOST = r"(?P<host>localhost(?::\d{1,5})?|[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d{1,5})?|[a-z0-9-]+:\d{1,5})"
_NAME = r"(?P<name>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)"
_PINNED = re.compile(_HOST + "/" + _NAME + r"@sha256:(?P<digest>[0-9a-f]{64})")
_TAGGED = re.compile(_HOST + "/" + _NAME + r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?")
TAG_WARNING = "which may be another image tomorrow"
IMAGE_FORM = "host/name@sha256:<64 digits>, such as ghcr.io/alice/agent@sha256:0123…"
# How to find the digest of an image in a registry, and of one that this machine has pushed.
DIGEST_ADVICE = (
    "'docker buildx imagetools inspect {shown}' shows it, and after a push so does "
    "'docker inspect --format \"{{{{index .RepoDigests 0}}}}\" {shown}'"
)
# The placeholder digest that `pullrank new` writes for an image that is not built yet.
_UNWRITTEN = 64 * "0"
_DIGEST_HOW = "'docker inspect --format \"{{index .RepoDigests 0}}\" <image>' shows it"


@dataclass(frozen=True, kw_only=True)
class ImageReference:
    """An image named by its digest."""

    host: str
    """The registry, with its port if there is one."""
    name: str
    digest: str
    """64 hexadecimal digits: of the manifest, or of a list of manifests."""

    def __str__(self) -> str:
        """As in `entry`."""
        return f"{self.host}/{self.name}@sha256:{self.digest}"


@dataclass(frozen=True, kw_only=True)
class OwnImage:
    """An agent's own image, which is run by its own entrypoint."""

    reference: ImageReference
    image_mib: int
    """The limit of its size in MiB, in the registry and unpacked."""


@dataclass(frozen=True, kw_only=True)
class TaggedImage:
    """An image named by a tag, which may change."""

    host: str
    name: str
    tag: str
    """`latest` where none is written."""


def parse_reference(text: str) -> ImageReference:
    """Parse the image of an entry.

    Raises:
        ValueError: it is not an image with its digest; the message says how to find that.
    """
    if match := _PINNED.fullmatch(text):
        if match["digest"] == _UNWRITTEN:
            raise ValueError(
                f"'entry' still has the template's digest; build and push the image, then write its own: {_DIGEST_HOW}"
            )
        return ImageReference(host=match["host"], name=match["name"], digest=match["digest"])
    if parse_tagged(text):
        tag = f"'entry' names {text!r}, {TAG_WARNING}; write its digest, {IMAGE_FORM}"
        raise ValueError(f"{tag}: " + DIGEST_ADVICE.format(shown=text))
    raise ValueError(f"'entry' is {text!r}, but an image is named by its registry and digest: {IMAGE_FORM}")


def parse_tagged(text: str) -> TaggedImage | None:
    """Parse an image with a tag, or without one, which means `latest`; None where the text is neither."""
    match = _TAGGED.fullmatch(text)
    return TaggedImage(host=match["host"], name=match["name"], tag=match["tag"] or "latest") if match else None
