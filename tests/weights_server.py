"""A real https server on this machine for `weights`, and the way there, which only a test can make."""

import hashlib
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from evaluator.host.loading.weights_cache import WeightsCache
from evaluator.host.public_download import PublicDownloader, is_public
from evaluator.model.config.submission import WeightsFile

HOSTS = (
    "models.example", "metadata.example", "elsewhere.example", "gitlab.com", "release-assets.githubusercontent.com", "hf.co",
    "raw.githubusercontent.com", "cas-bridge.xethub.hf.co", "cdn.artifacts.gitlab-static.net", "camo.githubusercontent.com",
    "user-content.gitlab-static.net", "storage.googleapis.com", "mine.storage.googleapis.com", "huggingface.co",
    "media.githubusercontent.com", "github.com", "zenodo.org",
)  # fmt: skip
Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class WeightsServer:
    """What is served, by path, and what was asked for."""

    port: int
    context: ssl.SSLContext
    """Trusts the server's certificate."""
    pages: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def https(self, seconds: float = 20.0, addresses: dict[str, list[list[str]]] | None = None) -> PublicDownloader:
        """A way to this server: the loopback is permitted, unless `addresses` say by host what each look-up gives."""
        answers = {host: iter(each) for host, each in (addresses or {}).items()}
        return PublicDownloader(
            permits=is_public if addresses else lambda address: True,
            resolve=lambda host, port: next(answers[host]) if host in answers else ["127.0.0.1"],
            context=self.context, port=self.port, seconds=seconds,
        )  # fmt: skip

    def store(self, folder: Path, https: PublicDownloader | None = None, *, other_host_answers: bool = True) -> WeightsCache:
        """A store that fetches from here."""
        return WeightsCache(folder=folder, https=https or self.https(), other_host_answers=lambda: other_host_answers)


def gives(content: bytes, **headers: str) -> Answer:
    """A page with that content; `__` in a header's name is a hyphen."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            request.send_header(name.replace("__", "-"), value)
        request.end_headers()
        request.wfile.write(content)

    return answer


def sends_to(url: str) -> Answer:
    """A redirect."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", url)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def drips(piece: bytes, *, headers: bool = False) -> Answer:
    """Bytes without end, a few at a time; `headers`: not even the headers end."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.0 200 OK\r\n" if headers else b"HTTP/1.0 200 OK\r\n\r\n")
        while True:
            request.wfile.write(b"X-A: b\r\n" if headers else piece)
            request.wfile.flush()
            time.sleep(0.0 if len(piece) > 1000 else 0.05)

    return answer


def weights(content: bytes, path: str = "/net.bin", file: str = "net.bin", **changes: object) -> WeightsFile:
    """What a manifest says of a file."""
    fields = {
        "file": file, "url": f"https://models.example{path}", "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
    }  # fmt: skip
    return WeightsFile.model_validate(fields | changes)


@contextmanager
def serving(folder: Path) -> Iterator[WeightsServer]:
    """A server until the end of the block; its key lies in the folder."""
    certificate, key = _certificate(folder)
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_context.load_cert_chain(certificate, key)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            try:
                served.pages[self.path](self)
            except (OSError, KeyError):
                self.close_connection = True

        def log_message(self, *words: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda request, address: None  # type: ignore[method-assign,assignment]  # clients hang up
    server.socket = server_context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    served = WeightsServer(port=server.server_address[1], context=ssl.create_default_context(cafile=str(certificate)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "weights test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in HOSTS]), critical=False)
        .sign(key, hashes.SHA256())
    )
    places = folder / "certificate.pem", folder / "key.pem"
    places[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    places[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )  # fmt: skip
    return places
