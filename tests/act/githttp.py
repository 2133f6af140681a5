"""Git over HTTP on this machine, as GitHub serves it: a push needs a token, and so does a read of a private repository."""

import os
import subprocess
import threading
from base64 import b64decode
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from tests.act.handler import Handler


class Request(NamedTuple):
    """One request of a git client."""

    verb: str
    path: str
    login: str | None
    """Whose token it carried."""
    status: int

    @property
    def is_push(self) -> bool:
        return "git-receive-pack" in self.path


class GitServer:
    """Serves `root/<owner>/<name>` by git's own http-backend."""

    def __init__(self, root: Path, tokens: dict[str, str], *, private: bool) -> None:
        """`tokens` maps a token to its login, and may grow."""
        self.root, self.tokens, self.private = root, tokens, private
        self.requests: list[Request] = []
        server = self

        class Git(Handler):
            def do(self) -> None:
                server.serve(self)

            do_GET = do_POST = do  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Git)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def address(self) -> str:
        """With a name that the artifact actions take for GitHub's (facts.json, upload-artifact, servers)."""
        return f"http://github.localhost:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve(self, handler: Handler) -> None:
        """Answer one request."""
        path, _, query = handler.path.partition("?")
        content, login = handler.content(), self._login(handler.headers.get("authorization"))
        if login is None and (self.private or "git-receive-pack" in handler.path):
            self.requests.append(Request(handler.command, handler.path, None, 401))
            return handler.answer(401, b"", {"WWW-Authenticate": 'Basic realm="GitHub"'})
        status, headers, body = self._backend(handler, path.replace(".git/", "/", 1), query, content, login or "")
        self.requests.append(Request(handler.command, handler.path, login, status))
        return handler.answer(status, body, headers)

    def _login(self, header: str | None) -> str | None:
        kind, _, word = (header or "").partition(" ")
        if kind.casefold() != "basic":
            return None
        return self.tokens.get(b64decode(word).decode().partition(":")[2])

    def _backend(
        self, handler: Handler, path: str, query: str, content: bytes, login: str
    ) -> tuple[int, dict[str, str], bytes]:
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.root), "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": handler.command,
            "CONTENT_TYPE": handler.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(content)),
            "HTTP_CONTENT_ENCODING": handler.headers.get("content-encoding", ""), "REMOTE_ADDR": "127.0.0.1",
            "GIT_PROTOCOL": handler.headers.get("git-protocol", ""), "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*", **({"REMOTE_USER": login} if login else {}),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=content, env=environment, capture_output=True, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        status = int(headers.pop("Status", "200 OK").split()[0])
        return (status, headers, body) if done.returncode == 0 else (500, {}, done.stderr)
