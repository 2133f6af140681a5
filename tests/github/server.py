"""The stand-in as an HTTP server on this machine."""

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from tests.github import queries, routes, shapes
from tests.github.contract import HOST, answer_faults, request_faults
from tests.github.routes import Answer
from tests.github.settings import settings
from tests.github.world import HOUR, NAME, OWNER, World

ROOT = f"/repos/{OWNER}/{NAME}"


class Call(NamedTuple):
    """A request that was made."""

    verb: str
    path: str
    query: dict[str, str]
    body: Any


@dataclass
class GitHubStandIn:
    """The server, what it was asked, and what GitHub's description has against either side."""

    world: World
    calls: list[Call] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    authorizations: list[tuple[str, str | None]] = field(default_factory=list)
    server: Any = None
    checked: int = 1
    """Of so many requests one is held against GitHub's description, which takes most of the time."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def start(self) -> None:
        stand_in = self

        class Handler(_Handler):
            github = stand_in

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def made(self) -> list[str]:
        """The requests, as short words."""
        return [f"{call.verb} {call.path.removeprefix(ROOT)}" for call in self.calls]

    def writes(self) -> list[str]:
        """The requests that change something; of GraphQL the names of the changes."""
        lines = []
        for call in self.calls:
            if call.path in queries.PATHS:
                lines += queries.changes(call.body)
            elif call.verb != "GET":
                lines.append(f"{call.verb} {call.path.removeprefix(ROOT)}")
        return lines


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # Head and body in one packet: else each answer waits 40 ms for an acknowledgment.
    disable_nagle_algorithm = True
    github: GitHubStandIn
    lock = threading.Lock()

    def log_message(self, *arguments: Any) -> None:
        pass

    def handle_any(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path, _, query = self.path.partition("?")
        self.github.authorizations.append((path, self.headers.get("authorization")))
        if path.startswith("/storage/"):
            return self._storage(int(path.rpartition("/")[2]))
        with self.lock:
            return self._api(path, query, raw)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

    def _api(self, path: str, query: str, raw: bytes) -> None:
        github, world = self.github, self.github.world
        body = json.loads(raw) if raw else None
        asked = dict(parse_qsl(query))
        github.calls.append(Call(self.command, path, asked, body))
        if self.command == "POST" and path in queries.PATHS:
            return self._query(path, body)
        fault = world.fault_for(self.command, path)
        is_checked = len(github.calls) % github.checked == 0
        request, faults = request_faults(self.command, path, query, raw) if is_checked else (None, [])
        github.violations += faults
        if fault and not fault.after and not fault.cut:
            return self._go_wrong(fault)
        login = world.tokens.get((self.headers.get("authorization") or "").removeprefix("token ").removeprefix("Bearer "))
        if path == "/rate_limit":  # Asking costs nothing.
            return self._send(Answer(200), json.dumps(self._limits()).encode())
        if world.left["core"] < 1:
            return self._send_limit(403, {"message": "API rate limit exceeded for installation ID 1."}, "core")
        world.left["core"] -= 1
        if self.command == "POST" and path.endswith(("/comments", "/issues")) and self._is_over_texts(1):
            return None
        answer = _answer(world, self.command, path, asked, body, login)
        answer = _page(answer, path, asked)
        answer = answer._replace(headers={**answer.headers, **self._limit("core")})
        content = None if answer.body is None else json.dumps(answer.body).encode()
        if request is not None:
            github.violations += answer_faults(request, answer.status, content, answer.headers)
        world.run_hooks(self.command, path)
        if fault and fault.after:
            return self._go_wrong(fault)
        self._send(answer, content, cut=bool(fault and fault.cut))
        return None

    def _query(self, path: str, body: Any) -> None:
        """A query; what goes wrong with it, or waits for it, names the changes in it after the path."""
        github, world = self.github, self.github.world
        named = " ".join([path, *queries.changes(body)])
        fault = world.fault_for(self.command, named)
        if fault and not fault.after:
            return self._go_wrong(fault)
        faults = queries.query_faults(body)
        github.violations += faults
        token = (self.headers.get("authorization") or "").removeprefix("token ").removeprefix("Bearer ")
        if token not in world.tokens:
            return self._send_limit(401, {"message": "Bad credentials"}, "graphql")
        if not faults and self._is_over_texts(queries.created_texts(body)):
            return None
        # GitHub answers 200 to a query that is over the limit, and says so within.
        answer = queries.answer(world, body, world.tokens[token])
        world.run_hooks(self.command, named)
        return self._go_wrong(fault) if fault else self._send_limit(200, answer, "graphql")

    def _is_over_texts(self, created: int) -> bool:
        """Answer as GitHub does to whoever creates too many texts in an hour; else count them."""
        world = self.github.world
        if created and world.left.get("texts", created) < created:
            body = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
            self._send(Answer(403, body, {"Retry-After": "1800"}), json.dumps(body).encode())
            return True
        if "texts" in world.left:
            world.left["texts"] -= created
        return False

    def _limit(self, resource: str) -> dict[str, str]:
        left = self.github.world.left[resource]
        return {
            "X-RateLimit-Limit": str(HOUR), "X-RateLimit-Remaining": str(left), "X-RateLimit-Used": str(HOUR - left),
            "X-RateLimit-Reset": str(self._reset()), "X-RateLimit-Resource": resource,
        }  # fmt: skip

    def _reset(self) -> int:
        return int(time.time() + self.github.world.hour_left())

    def _limits(self) -> dict[str, Any]:
        limits = {
            name: {"limit": HOUR, "remaining": left, "used": HOUR - left, "reset": self._reset()}
            for name, left in self.github.world.left.items() if name != "texts"
        }  # fmt: skip
        return {"resources": {"search": limits["core"], **limits}, "rate": limits["core"]}

    def _send_limit(self, status: int, body: Any, resource: str) -> None:
        self._send(Answer(status, body, self._limit(resource)), json.dumps(body).encode())

    def _go_wrong(self, fault: Any) -> None:
        if not fault.status:
            self.close_connection = True
            self.connection.shutdown(2)
            return
        body = json.dumps({"message": fault.message, "documentation_url": "https://docs.github.com/rest"}).encode()
        self._send(Answer(fault.status, {}, fault.headers), body)

    def _send(self, answer: Answer, content: bytes | None, *, cut: bool = False) -> None:
        out = (content or b"").replace(HOST.encode(), self.github.address.encode())
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            shown = value.replace("{storage}", self.github.address).replace(HOST, self.github.address)
            self.send_header(name, shown)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        if answer.status != 204:
            self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        if cut:
            self.close_connection = True
            out = out[: len(out) // 2]
        self.wfile.write(out)

    def _storage(self, identity: int) -> None:
        content = routes.stored(self.github.world, identity)
        self.send_response(200 if content is not None else 404)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        self.wfile.write(content or b"")


def _answer(world: World, verb: str, path: str, query: dict[str, str], body: Any, login: str | None) -> Answer:
    if login is None:
        return routes.refusal(401, "Bad credentials")
    answer = settings(world, verb, path.removeprefix(ROOT), body)
    return answer or routes.answer(world, verb, path, query, body, login)


def _page(answer: Answer, path: str, query: dict[str, str]) -> Answer:
    """Cut lists into pages, with GitHub's links between them."""
    key = next(
        (k for k in ("workflow_runs", "workflows", "artifacts") if isinstance(answer.body, dict) and k in answer.body), None
    )
    entries = answer.body[key] if key else answer.body
    if not isinstance(entries, list | shapes.Shaped):
        return answer
    size, number = int(query.get("per_page", "30")), int(query.get("page", "1"))
    shown = entries[(number - 1) * size : number * size]
    headers = dict(answer.headers)
    if number * size < len(entries):
        following = urlencode({**query, "page": str(number + 1)})
        headers["Link"] = f'<{HOST}{path}?{following}>; rel="next"'
    return Answer(answer.status, {**answer.body, key: shown} if key else shown, headers)
