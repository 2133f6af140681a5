"""What the two servers of these tests share."""

from http.server import BaseHTTPRequestHandler
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """A handler that reads any body and answers with a length."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def log_message(self, *arguments: Any) -> None:
        pass

    def content(self) -> bytes:
        """The request's body, whole or in chunks."""
        if self.headers.get("transfer-encoding", "").casefold() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
