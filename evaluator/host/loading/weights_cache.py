"""The files that a manifest names under `weights`: fetched, checked, and kept by their hash.

A copy is used only after its bytes were hashed again: whoever can write to the folder gains nothing.
"""

import contextlib
import hashlib
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

from evaluator.host.errors import AgentFault, RegistryFault
from evaluator.host.process_owner import cache_folder
from evaluator.model.config.submission import WeightsFile
from evaluator.model.records.verdict import Verdict

if TYPE_CHECKING:
    from evaluator.host.public_download import PublicDownloader

# The first line of a Git LFS pointer, new and old, and the size that its specification keeps it below.
_POINTER_LINES = (b"version https://git-lfs.github.com/spec/v", b"version https://hawser.github.com/spec/v")
POINTER_BYTES = 1024
# Run for everybody, with where they send to for the bytes: no owner of a file lets them fail, or be slow. Names are written
# out, since owners serve by others of the same domains: camo.githubusercontent.com fetches from any host. Not gitlab.com: it
# refuses a raw file to everybody that was asked for 300 times in a minute, also by its owner. Nor what GitHub serves of Git
# LFS, by media.githubusercontent.com, until an owner's budget is used up.
_COMMON_HOSTS = ("raw.githubusercontent.com", "hf.co")
# Of these only files that lie there: what they compute, such as a patch, a list or an archive, owners can make too dear.
_COMMON_FILES = re.compile(
    r"https://(?:github\.com/[\w-]+/\w[\w.-]*/(?:raw|releases/download)/"
    r"|huggingface\.co/(?:api/resolve-cache/|(?!api/)(?:\w[\w.-]*/){1,3}(?:resolve|raw)/)"
    r"|zenodo\.org/(?:api/)?records?/\d+/files/)(?![^?]*(?:\.\.|%))"
)
# Where these deliver from, if one of them sends there: of such names a manifest could say one that does not exist, or an
# address that expires, which GitHub answers with status 618.
_DELIVERY_HOSTS = ("objects.githubusercontent.com", "release-assets.githubusercontent.com", "cdn-lfs.huggingface.co")
_DELIVERY_DOMAIN = ".hf.co"
# What a machine keeps; the oldest files are removed.
MAX_CACHE_BYTES = 8 << 30
_COPY_BYTES = 1 << 20


def is_pointer(content: bytes) -> bool:
    """Whether this is a Git LFS pointer, committed in place of a file."""
    return len(content) < POINTER_BYTES and content.startswith(_POINTER_LINES)


def _are_common(asked: Sequence[str]) -> bool:
    """Whether all addresses are of common hosts: that of the manifest, and those that each sent to."""
    hosts = [urlsplit(url).hostname or "" for url in asked]
    return all(
        host in _COMMON_HOSTS
        or bool(_COMMON_FILES.match(url))
        or (number > 0 and (host in _DELIVERY_HOSTS or host.endswith(_DELIVERY_DOMAIN)))
        for number, (host, url) in enumerate(zip(hosts, asked, strict=True))
    )


def other_host_answers() -> bool:
    """Whether a host answers here that serves everybody's files."""
    # Imported late: needed after a failure only.
    from evaluator.host.docker import registry_client

    return registry_client.other_registry_answers()


@dataclass(frozen=True, kw_only=True)
class WeightsCache:
    """A folder of files, each named by its SHA-256."""

    folder: Path = field(default_factory=lambda: cache_folder("weights"))
    https: "PublicDownloader | None" = None
    """How addresses are reached; None for the public internet."""
    other_host_answers: Callable[[], bool] = other_host_answers
    """Whether another host of such files answers here."""

    def path(self, sha256: str) -> Path:
        """Where the file with this hash lies, if it does."""
        return self.folder / sha256

    def has(self, weights: WeightsFile) -> bool:
        """Whether there is a copy of the right size."""
        path = self.path(weights.sha256)
        return path.is_file() and path.stat().st_size == weights.bytes

    def fetch(self, files: Iterable[WeightsFile]) -> bool:
        """Fetch what is not here, all of it within the time of one download.

        Returns:
            Whether some of it came from a host of its owner's.

        Raises:
            AgentFault: it cannot be had, or is not what the manifest says.
        """
        lacking = [weights for weights in files if not self.has(weights)]
        if not lacking:
            return False
        # Imported late: few agents need it, and TLS takes long to import.
        from evaluator.host.public_download import PublicDownloader

        https = self.https or PublicDownloader()
        until = time.monotonic() + https.seconds
        asked = [self._download(weights, replace(https, until=until)) for weights in lacking]
        return not all(map(_are_common, asked))

    def add(self, weights: WeightsFile, pieces: Iterable[bytes]) -> bool:
        """Keep a file; False, and nothing is kept, where its bytes are not those of the manifest."""
        with self._incoming(weights) as incoming:
            for piece in pieces:
                incoming.take(piece)
        return incoming.is_right

    @contextlib.contextmanager
    def _incoming(self, weights: WeightsFile) -> Iterator["_IncomingFile"]:
        """A file that is being received; it is kept if its bytes are right."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".part-", delete=False) as file:
            incoming = _IncomingFile(weights=weights, file=file)
            try:
                yield incoming
                file.flush()
                if incoming.is_right:
                    Path(file.name).replace(self.path(weights.sha256))
            finally:
                Path(file.name).unlink(missing_ok=True)
        self._trim(keep=weights.sha256)

    def copy(self, weights: WeightsFile, target: Path) -> None:
        """Copy a file that was fetched, and check it; raises AgentFault where the copy here was changed, or is gone."""
        hasher = hashlib.sha256()
        try:
            with self.path(weights.sha256).open("rb") as source, target.open("wb") as file:
                while piece := source.read(_COPY_BYTES):
                    hasher.update(piece)
                    file.write(piece)
        except OSError as error:
            raise AgentFault(Verdict.INTERNAL_ERROR, f"{weights.file} cannot be copied ({error.strerror})") from error
        if hasher.hexdigest() != weights.sha256:
            self.path(weights.sha256).unlink(missing_ok=True)
            raise AgentFault(Verdict.INTERNAL_ERROR, f"the copy of {weights.file} here was damaged; it is fetched again")

    def _download(self, weights: WeightsFile, https: "PublicDownloader") -> list[str]:
        """Fetch a file; returns the addresses that were asked, those of redirects included."""
        asked: list[str] = []
        with self._incoming(weights) as incoming:
            try:
                size = https.download(weights.url, weights.bytes, incoming.take, asked.append)
                if fault := incoming.fault(size):
                    raise AgentFault(Verdict.INVALID, fault)
            except AgentFault as error:
                raise self._fault(weights, error, asked) from error
        return asked

    def _fault(self, weights: WeightsFile, error: AgentFault, asked: Sequence[str]) -> AgentFault:
        """The fault of a file that cannot be had; its owner's if a host is somebody's own and others are reached."""
        words = f"weights {weights.file}: {error}"
        asked_owner = not _are_common(asked)
        is_owners = error.verdict is Verdict.INTERNAL_ERROR and asked_owner and self.other_host_answers()
        fault = RegistryFault(words) if is_owners else AgentFault(error.verdict, words)
        fault.asked_owner = asked_owner
        return fault

    def _trim(self, keep: str) -> None:
        """Remove the oldest files while all together have more than `MAX_CACHE_BYTES`."""
        files = [path for path in self.folder.iterdir() if path.name != keep and not path.name.startswith(".")]
        with contextlib.suppress(OSError):  # another process removed one
            states = sorted((path.stat().st_mtime, path.stat().st_size, path) for path in files)
            left = sum(size for _, size, _ in states)
            for _, size, path in states:
                if left <= MAX_CACHE_BYTES:
                    return
                path.unlink(missing_ok=True)
                left -= size


@dataclass(kw_only=True)
class _IncomingFile:
    weights: WeightsFile
    file: IO[bytes]
    size: int = 0
    beginning: bytes = b""
    hasher: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def take(self, piece: bytes) -> None:
        """Write the next piece."""
        self.hasher.update(piece)
        self.file.write(piece)
        self.size += len(piece)
        self.beginning += piece[: POINTER_BYTES - len(self.beginning)]

    @property
    def is_right(self) -> bool:
        """Whether these are the manifest's bytes."""
        return self.fault(self.size) is None

    def fault(self, size: int) -> str | None:
        """Why what came is not the file; None if it is. `size`: of all that was offered."""
        weights, sha256 = self.weights, self.hasher.hexdigest()
        if is_pointer(self.beginning):
            return "the address gives a Git LFS pointer, not the file; name the address of the file itself"
        if size > weights.bytes:
            return f"the address gives more than the {weights.bytes} bytes of the manifest; correct 'bytes' or 'url'"
        if size < weights.bytes:
            return f"the address gives {size} bytes, not the {weights.bytes} of the manifest; correct 'bytes' or 'url'"
        if sha256 != weights.sha256:
            return f"the address gives bytes with the SHA-256 {sha256}, not the manifest's; correct 'sha256' or 'url'"
        return None
