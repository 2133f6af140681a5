"""Reading from registries of container images without an account, so that no credentials of this machine are sent.

The engine's own pull would send this machine's credentials, and take and unpack any size. So a submission's image is read
here: by digest, with a deadline, and never more bytes than announced.
"""

import contextlib
import hashlib
import http.client
import os
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

import requests
import requests.adapters
from urllib3.poolmanager import pool_classes_by_scheme

from evaluator.host.errors import AgentFault, RegistryFault
from evaluator.host.public_download import is_public
from evaluator.model.config.image_reference import ImageReference, TaggedImage
from evaluator.model.records.stored_record import ASKED_AGAIN
from evaluator.model.records.verdict import Verdict

MANIFEST_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
MANIFEST_BYTES = 4 << 20
_TOKEN_BYTES = 64 << 10
_READ_BYTES = 1 << 18
_MAX_REDIRECTS = 6
_CONNECT_SECONDS, _READ_SECONDS = 10, 30
# Docker Hub's images are named after another host than its registry.
_REGISTRY_HOSTS = {"docker.io": "index.docker.io"}
# Run for everybody: no owner of an image lets them fail, and they limit what one machine may ask. Not quay.io: Quay's
# software can make an organisation a proxy of another registry, whose failures it passes on.
_COMMON_HOSTS = ("docker.io", "ghcr.io", "public.ecr.aws", "registry.gitlab.com")
# Any answer of this one, an error's too, shows that registries can be reached from here.
_OTHER_REGISTRY = "https://ghcr.io/v2/"
_LOCAL_HOSTS = ("localhost", "127.0.0.1")
# Finding the fields takes time by the square of a word's length; a registry may send a hundred headers of 64 KiB.
_CHALLENGE_CHARACTERS = 4096
_CHALLENGE_FIELD = re.compile(r'(\w+)="([^"]*)"')
_REDIRECTS, _UNAUTHORISED = (301, 302, 303, 307, 308), 401
_PRIVATE_STATUS = (401, 403, 404)


class _Answer(http.client.HTTPResponse):
    """An answer without its cookies: the library would parse those of a registry for hours, deaf to any clock."""

    def begin(self) -> None:
        """Read the status and the headers."""
        super().begin()
        for name in ("Set-Cookie", "Set-Cookie2"):
            del self.headers[name]


class _ConnectionDeadline:
    """Hangs up all connections when the time is over: a read that waits for all of its bytes would never see the end."""

    def __init__(self, seconds: float) -> None:
        self._watched: list[socket.socket] = []
        self._lock = threading.Lock()
        self._is_over = False
        self._timer = threading.Timer(seconds, self.end)
        self._timer.daemon = True
        self._timer.start()

    def watch(self, connection: socket.socket) -> None:
        """Hang up this connection, too; by a copy, since TLS takes the descriptor over."""
        with self._lock:
            self._watched.append(connection.dup())
        if self._is_over:
            self.end()

    def end(self) -> None:
        """Hang up."""
        self._is_over = True
        self._timer.cancel()
        with self._lock:
            for connection in self._watched:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
            self._watched.clear()

    def adapter(self, address_of: Callable[[str], str] | None) -> requests.adapters.HTTPAdapter:
        """What opens the connections of a session; `address_of` gives the address of a host that it may connect to."""
        watch = self.watch

        def opened(new_connection: Callable[[Any], socket.socket]) -> Callable[[Any], socket.socket]:
            def new(connection: Any) -> socket.socket:
                if address_of is not None and connection.proxy is None:
                    # So that this and no later answer of the name's owner is connected; TLS asks for the name's certificate.
                    connection._dns_host = address_of(connection.host)
                made = new_connection(connection)
                watch(made)
                return made

            return new

        adapter = requests.adapters.HTTPAdapter()
        pools = {}
        for scheme, pool in pool_classes_by_scheme.items():
            usual: Any = pool.ConnectionCls  # type: ignore[attr-defined]
            kind = type(usual.__name__, (usual,), {"_new_conn": opened(usual._new_conn), "response_class": _Answer})
            pools[scheme] = type(pool.__name__, (pool,), {"ConnectionCls": kind})
        adapter.poolmanager.pool_classes_by_scheme = pools
        return adapter


class Registry:
    """One repository of a registry."""

    def __init__(self, image: ImageReference | TaggedImage, seconds: float) -> None:
        self._host = image.host
        single = image.host == "docker.io" and "/" not in image.name
        self._name = f"library/{image.name}" if single else image.name
        self._is_here = image.host.partition(":")[0] in _LOCAL_HOSTS
        scheme = "http" if self._is_here else "https"
        self._origin = f"{scheme}://{_REGISTRY_HOSTS.get(image.host, image.host)}"
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._token: str | None = None
        self._session = requests.Session()
        self._session.auth = lambda request: request  # so that this machine's .netrc is not used
        deadline = _ConnectionDeadline(seconds)
        weakref.finalize(self, deadline.end)
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, deadline.adapter(None if self._is_here else self._public_address))

    def manifest(self, digest: str) -> bytes:
        """The manifest with this digest; raises as `blob` does."""
        return self.blob(digest, None, place="manifests")

    def digest_of(self, tag: str) -> str:
        """The digest of a tag's manifest; raises as `blob` does."""
        body = bytearray()
        with self._request(f"manifests/{tag}") as response:
            self._read(response, MANIFEST_BYTES, body.extend)
        return hashlib.sha256(body).hexdigest()

    def blob(
        self, digest: str, size: int | None, sink: Callable[[bytes], object] | None = None, place: str = "blobs"
    ) -> bytes:
        """Fetch the content with this digest: passed to `sink` piece by piece, or returned.

        Raises:
            AgentFault: it cannot be fetched, or is not what the digest and size say.
        """
        content, hasher = bytearray(), hashlib.sha256()

        def take(piece: bytes) -> None:
            hasher.update(piece)
            (sink or content.extend)(piece)

        with self._request(f"{place}/sha256:{digest}") as response:
            size_read = self._read(response, MANIFEST_BYTES if size is None else size, take)
        if hasher.hexdigest() != digest or size not in (None, size_read):
            raise _invalid("the registry gave something else than the digest names; push the image again")
        return bytes(content)

    def _read(self, response: requests.Response, most: int, take: Callable[[bytes], object]) -> int:
        got = 0
        # Not by `read`: a piece of "-1" bytes, which a registry may announce, it reads to the end before it returns.
        while piece := response.raw.read1(_READ_BYTES, decode_content=False):
            got += len(piece)
            self.check_deadline()
            if got > most:
                raise _invalid("the registry gives more bytes than the image's manifest announces; push the image again")
            take(piece)
        self.check_deadline()
        return got

    @contextlib.contextmanager
    def _request(self, path: str) -> Iterator[requests.Response]:
        """Request a path, following redirects and getting a token if needed."""
        try:
            with self._follow(f"{self._origin}/v2/{self._name}/{path}") as response:
                yield response
        except AgentFault:
            raise
        except Exception as error:  # of any kind: to be sent to `https://[` is a ValueError
            self.check_deadline()
            kind = type(error).__name__
            words = f"the registry {self._host} does not answer as it should ({kind}); {ASKED_AGAIN}"
            raise self._failure(words, can_be_ours=True) from error

    def _follow(self, url: str) -> requests.Response:
        for _ in range(_MAX_REDIRECTS):
            response = self._get(url, ", ".join(MANIFEST_TYPES))
            if response.status_code == _UNAUTHORISED and self._token is None:
                self._token = self._anonymous_token(response.headers.get("www-authenticate", ""))
            elif response.status_code in _REDIRECTS:
                url = urljoin(url, response.headers.get("location", ""))
            else:
                return self._check_status(response)
            response.close()
        raise _invalid(f"the registry {self._host} sends from one address to the next without end")

    def _get(self, url: str, accept: str) -> requests.Response:
        self.check_deadline()
        self._check_public(url)
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        if self._token and url.startswith(self._origin + "/"):
            headers["Authorization"] = f"Bearer {self._token}"
        waits = (_CONNECT_SECONDS, _READ_SECONDS)
        return self._session.get(url, headers=headers, stream=True, timeout=waits, allow_redirects=False)

    def _anonymous_token(self, challenge: str) -> str:
        """The token that a registry gives to everybody."""
        fields = dict(_CHALLENGE_FIELD.findall(challenge)) if len(challenge) <= _CHALLENGE_CHARACTERS else {}
        if not challenge.lower().startswith("bearer ") or "realm" not in fields:
            raise self._private_fault()
        query = urlencode({"service": fields.get("service", ""), "scope": f"repository:{self._name}:pull"})
        body = bytearray()
        with self._check_status(self._get(f"{fields['realm']}?{query}", "application/json")) as response:
            self._read(response, _TOKEN_BYTES, body.extend)
        token = re.search(rb'"(?:access_)?token"\s*:\s*"([A-Za-z0-9._~+/=-]+)"', bytes(body))
        if not token:
            raise self._private_fault()
        return token[1].decode()

    def _check_status(self, response: requests.Response) -> requests.Response:
        code = response.status_code
        if code == requests.codes.ok:
            return response
        response.close()
        if code in _PRIVATE_STATUS:
            raise self._private_fault()
        raise self._failure(f"the registry {self._host} answers with status {code}; {ASKED_AGAIN}")

    def _failure(self, words: str, *, can_be_ours: bool = False) -> AgentFault:
        """The fault of a registry that fails; its owner's if it is somebody's own and this machine reaches others."""
        if is_common(self._host) or (can_be_ours and not other_registry_answers()):
            return AgentFault(Verdict.INTERNAL_ERROR, words)
        return RegistryFault(words)

    def _private_fault(self) -> AgentFault:
        return _invalid(
            f"the registry {self._host} gives {self._name} to nobody without an account, or has no such image; "
            "push it, and make it public"
        )

    def check_deadline(self) -> None:
        """Raise AgentFault when the time for the whole image is over."""
        if time.monotonic() > self._until:
            raise AgentFault(Verdict.TIMEOUT, f"the image was not here within {self._seconds:g} s; make it smaller")

    def _check_public(self, url: str) -> None:
        """Refuse private addresses: a submission names the host, and must not reach what only this machine can."""
        split = urlsplit(url)
        host = split.hostname or ""
        if self._is_here and host in _LOCAL_HOSTS and split.scheme == "http":
            if os.environ.get("GITHUB_ACTIONS") != "true":
                return
            raise _invalid(f"{self._host} is a registry of one machine; push the image to a public one")
        if split.scheme != "https":
            raise _invalid(f"the registry {self._host} sends to an address that is not https")
        with contextlib.suppress(socket.gaierror):  # a proxy may resolve a name that this machine cannot
            self._public_address(host)

    def _public_address(self, host: str) -> str:
        """An address of the host, if all of them are public."""
        addresses = [str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
        if not all(map(is_public, addresses)):
            raise _invalid(f"the registry {self._host} lies in a private network; push the image to a public one")
        return addresses[0]


def is_common(host: str) -> bool:
    """Whether a registry serves everybody, so that no owner of an image decides how it answers."""
    return host in _COMMON_HOSTS


def other_registry_answers() -> bool:
    """Whether another registry answers here, whatever it says."""
    try:
        requests.head(_OTHER_REGISTRY, timeout=_CONNECT_SECONDS, allow_redirects=False).close()
    except (requests.RequestException, OSError):
        return False
    return True


def _invalid(words: str) -> AgentFault:
    return AgentFault(Verdict.INVALID, words)
