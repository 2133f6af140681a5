"""Reading an https address that a stranger wrote, without reaching anything that only this machine can reach.

Each name, also after a redirect, is resolved once; all of its addresses must be public, and the connection goes to one of
these. So a name that is resolved to another address a moment later gains nothing. Proxies are not used, since they would
resolve the name again.
"""

import contextlib
import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from evaluator.host.errors import AgentFault
from evaluator.model.identifiers import WEB_HOST
from evaluator.model.records.stored_record import ASKED_AGAIN
from evaluator.model.records.verdict import Verdict

_READ_BYTES = 1 << 18
_MAX_REDIRECTS = 5
_CONNECT_SECONDS, _IDLE_SECONDS = 10.0, 30.0
_REDIRECTS = (301, 302, 303, 307, 308)
_TOO_MANY_REQUESTS, _SERVER_FAILURE = 429, 500
# IPv6 addresses that stand for IPv4 ones, beside those that `ipaddress` knows.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# All that is routed on the internet lies in the first; the others are reserved, though old versions of `ipaddress` call them
# global, and some networks route them to their own hosts, such as 64:ff9b:1::/48 (RFC 8215) to private IPv4 addresses.
_ROUTED = ipaddress.IPv6Network("2000::/3")
# 168.63.129.16 is public by its number, and is Azure's own host in each of its virtual machines, as GitHub's runners are.
_RESERVED = tuple(map(ipaddress.ip_network, ("3fff::/20", "192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")))
_TARGET = re.compile(r"[!-~]+")


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            ip = inner
        elif ip not in _ROUTED:
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _RESERVED)


def resolve(host: str, port: int) -> list[str]:
    """The IP addresses of a name."""
    return list(dict.fromkeys(str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))


class _PinnedConnection(http.client.HTTPSConnection):
    """A connection to one IP address, whose certificate must be the host's."""

    def __init__(self, host: str, address: str, source: "PublicDownloader", seconds: float) -> None:
        super().__init__(host, source.port, timeout=min(_CONNECT_SECONDS, seconds))
        self._address, self._source = address, source
        self._connected: ssl.SSLSocket | None = None
        self._is_over = False
        self._closing = threading.Timer(seconds, self._hang_up)
        self._closing.daemon = True

    def connect(self) -> None:
        """Connect, and shake hands while the clock runs."""
        self._closing.start()
        plain = socket.create_connection((self._address, self.port), self.timeout)
        context = self._source.context or ssl.create_default_context()
        try:
            self.sock = context.wrap_socket(plain, server_hostname=self.host, do_handshake_on_connect=False)
        except BaseException:
            plain.close()
            raise
        self._connected = self.sock
        if self._is_over:  # The clock ran out before there was something to hang up.
            raise TimeoutError
        self.sock.settimeout(_IDLE_SECONDS)
        self.sock.do_handshake()

    def end(self) -> None:
        """Close it and stop the clock; `close` is also called while the answer's body is still to be read."""
        self._closing.cancel()
        self.close()

    def _hang_up(self) -> None:
        """End every read and write; one that sends a byte now and then would never time out."""
        self._is_over = True
        if self._connected is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._connected, socket.SHUT_RDWR)


@dataclass(frozen=True, kw_only=True)
class PublicDownloader:
    """How addresses are reached; tests, which serve from this machine, make one of their own."""

    permits: Callable[[str], bool] = is_public
    resolve: Callable[[str, int], list[str]] = resolve
    context: ssl.SSLContext | None = field(default=None, repr=False)
    port: int = 443
    seconds: float = 300.0
    """For all of a download, its redirects included."""
    until: float | None = None
    """When several downloads must be done, by the monotonic clock; None for only one."""

    def download(
        self, url: str, most: int, take: Callable[[bytes], object], asks: Callable[[str], object] = lambda url: None
    ) -> int:
        """Pass the body to `take` piece by piece; returns its size, which is more than `most` where it was cut off.

        `asks`: called with each address before it is asked, those of redirects included.

        Raises:
            AgentFault: it cannot be had.
        """
        until = self.until or time.monotonic() + self.seconds
        try:
            with self._answer(url, until, asks) as response:
                size = _read(response, most, take)
            if time.monotonic() >= until:  # a body without a length ends where the clock hung up
                raise TimeoutError
            return size
        except (OSError, http.client.HTTPException, ValueError) as error:
            if time.monotonic() >= until:
                raise AgentFault(Verdict.TIMEOUT, f"{url} did not give it within {self.seconds:g} s") from error
            # An answer may be quoted here, and be longer than a record's message.
            words = f"{urlsplit(url).hostname} does not answer as it should ({type(error).__name__}: {str(error)[:200]})"
            raise AgentFault(Verdict.INTERNAL_ERROR, f"{words}; {ASKED_AGAIN}") from error

    @contextlib.contextmanager
    def _answer(self, url: str, until: float, asks: Callable[[str], object]) -> Iterator[http.client.HTTPResponse]:
        """The final answer, after redirects."""
        for _ in range(_MAX_REDIRECTS + 1):
            host, target = _parts(url)
            asks(url)
            connection = _PinnedConnection(host, self._address(host), self, max(0.01, until - time.monotonic()))
            try:
                connection.request("GET", target, headers={"Accept-Encoding": "identity", "User-Agent": "pullrank"})
                response = connection.getresponse()
                if response.status not in _REDIRECTS:
                    _check_status(response, url)
                    yield response
                    return
                url = urljoin(url, response.getheader("Location") or "")
            finally:
                connection.end()
        raise _invalid(f"{host} sends from one address to the next without end")

    def _address(self, host: str) -> str:
        """An address of the host, if all of them may be reached."""
        addresses = self.resolve(host, self.port)
        if not addresses or not all(map(self.permits, addresses)):
            raise _invalid(f"{host} lies in a private network; name an address that everybody can reach")
        return addresses[0]


def _parts(url: str) -> tuple[str, str]:
    split = urlsplit(url)
    host = split.netloc.lower()
    target = (split.path or "/") + (f"?{split.query}" if split.query else "")
    if split.scheme != "https" or not WEB_HOST.fullmatch(host) or not _TARGET.fullmatch(target):
        raise _invalid(f"it leads to {url[:200]!r}, which is no https address of a host's name without user and port")
    return host, target


def _check_status(response: http.client.HTTPResponse, url: str) -> None:
    code, host = response.status, urlsplit(url).hostname
    if code == _TOO_MANY_REQUESTS or code >= _SERVER_FAILURE:
        raise AgentFault(Verdict.INTERNAL_ERROR, f"{host} answers with status {code}; {ASKED_AGAIN}")
    if code != http.client.OK:
        raise _invalid(f"{host} answers with status {code}; name an address that gives the file to everybody")
    if (response.getheader("Content-Encoding") or "identity").lower() != "identity":
        raise _invalid(f"{host} sends it compressed, though it was asked not to; name an address that gives the file itself")


def _read(response: http.client.HTTPResponse, most: int, take: Callable[[bytes], object]) -> int:
    if (response.length or 0) > most:
        return response.length or 0
    size = 0
    while piece := response.read1(min(_READ_BYTES, most + 1 - size)):
        size += len(piece)
        if size > most:
            return size
        take(piece)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return size


def _invalid(words: str) -> AgentFault:
    return AgentFault(Verdict.INVALID, words)
