"""A registry of images on this machine, as much of its protocol as one push and one pull need."""

import hashlib
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

OCI = "application/vnd.docker.distribution.manifest.v2+json"


class Registry:
    """Blobs and manifests in memory."""

    def __init__(self) -> None:
        """Begin to listen."""
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.begun: dict[str, bytes] = {}
        self.asked: list[str] = []
        registry = self

        class Handler(_Handler):
            here = registry

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def address(self) -> str:
        """Host and port; the engine speaks plain HTTP to this machine."""
        return f"127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        """Stop."""
        self.server.shutdown()
        self.server.server_close()


def digest_of(content: bytes) -> str:
    """As registries name content."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    here: Registry

    def log_message(self, *arguments: Any) -> None:
        pass

    def handle_any(self) -> None:
        path, _, query = self.path.partition("?")
        self.here.asked.append(f"{self.command} {path}")
        body = self._body()
        if path == "/v2/":
            return self._say(200)
        if "/blobs/uploads/" in path:
            return self._upload(path, query, body)
        if match := re.search(r"/blobs/(sha256:[0-9a-f]{64})$", path):
            content = self.here.blobs.get(match[1])
            return self._say(404) if content is None else self._say(200, content, {"Docker-Content-Digest": match[1]})
        return self._manifest(path.rpartition("/manifests/")[2], body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = handle_any  # noqa: N815

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _upload(self, path: str, query: str, body: bytes) -> None:
        identity = path.rpartition("/")[2] or str(len(self.here.begun))
        self.here.begun[identity] = self.here.begun.get(identity, b"") + body
        place = path if path.rpartition("/")[2] else path + identity
        headers = {"Location": f"http://{self.here.address}{place}", "Range": f"0-{len(self.here.begun[identity])}"}
        if self.command != "PUT":
            return self._say(202, headers=headers)
        content = self.here.begun[identity]
        assert f"digest={digest_of(content)}".replace(":", "%3A") in query
        self.here.blobs[digest_of(content)] = content
        return self._say(201, headers=headers)

    def _manifest(self, reference: str, body: bytes) -> None:
        if self.command == "PUT":
            kept = (self.headers.get("content-type") or OCI, body)
            self.here.manifests[reference] = self.here.manifests[digest_of(body)] = kept
            return self._say(201, headers={"Docker-Content-Digest": digest_of(body)})
        if reference not in self.here.manifests:
            return self._say(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN","message":"unknown"}]}')
        kind, content = self.here.manifests[reference]
        return self._say(200, content, {"Content-Type": kind, "Docker-Content-Digest": digest_of(content)})

    def _say(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Docker-Distribution-Api-Version": "registry/2.0", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
