"""GitHub's artifact service on this machine: Twirp over JSON, and Azure's block blobs behind signed addresses."""

import hashlib
import json
import re
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.act.handler import Handler

SIGNATURE = "sig=0123456789abcdef"
STORED = {"ETag": '"1"', "x-ms-request-id": "1", "x-ms-version": "2020-10-02"}


class ArtifactService:
    """What upload-artifact and download-artifact talk to."""

    def __init__(self, stored: Callable[[int, str, bytes], None] = lambda *_: None) -> None:
        """Nothing is stored yet. `stored` is called with the run, name and zip of each artifact that is whole."""
        self.finished: dict[tuple[str, str], int] = {}
        self._blocks: dict[str, dict[str, bytes]] = {}
        self._blobs: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._stored = stored
        service = self

        class Service(Handler):
            def do(self) -> None:
                parts, content = urlsplit(self.path), self.content()
                with service._lock:
                    if parts.path.startswith("/blob/"):
                        return service._blob(self, unquote(parts.path[6:]), parse_qs(parts.query), content)
                    return service._call(self, parts.path.rpartition("/")[2], json.loads(content or b"{}"))

            do_GET = do_POST = do_PUT = do_HEAD = do  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def of(self, run: int) -> dict[str, bytes]:
        """The artifacts of a run, name to zip."""
        with self._lock:
            return {name: self._blobs[f"{of}/{name}"] for of, name in self.finished if of == str(run)}

    def _blob(self, handler: Handler, key: str, query: dict[str, list[str]], content: bytes) -> None:
        if handler.command != "PUT":
            blob = self._blobs.get(key)
            return handler.answer(404) if blob is None else handler.answer(200, blob, {"Content-Type": "application/zip"})
        match query.get("comp"):
            case ["block"]:
                self._blocks.setdefault(key, {})[query["blockid"][0]] = content
            case ["blocklist"]:
                order = re.findall(r"<Latest>([^<]+)</Latest>", content.decode())
                self._blobs[key] = b"".join(self._blocks[key][block] for block in order)
            case _:
                self._blobs[key] = content
        return handler.answer(201, b"", STORED)

    def _call(self, handler: Handler, verb: str, asked: dict[str, Any]) -> None:
        run, name = asked.get("workflow_run_backend_id", ""), asked.get("name") or asked.get("name_filter")
        address = f"http://{handler.headers['host']}/blob/{run}/{quote(str(name))}?{SIGNATURE}"
        match verb:
            case "CreateArtifact" if (run, name) in self.finished:
                return _send(handler, 409, {"code": "already_exists", "msg": "an artifact with this name already exists"})
            case "CreateArtifact":
                return _send(handler, 200, {"ok": True, "signed_upload_url": address})
            case "FinalizeArtifact":
                self.finished[run, str(name)] = len(self.finished) + 1
                self._stored(int(run), str(name), self._blobs[f"{run}/{name}"])
                return _send(handler, 200, {"ok": True, "artifact_id": str(self.finished[run, str(name)])})
            case "ListArtifacts":
                wanted = [key for key in self.finished if key[0] == run and name in (None, key[1])]
                number = asked.get("id_filter")
                listed = [self._listed(*key) for key in wanted if number in (None, str(self.finished[key]))]
                return _send(handler, 200, {"artifacts": listed})
            case "GetSignedArtifactURL":
                return _send(handler, 200, {"signed_url": address})
            case _:
                return _send(handler, 404, {"code": "bad_route", "msg": f"there is no {verb}"})

    def _listed(self, run: str, name: str) -> dict[str, Any]:
        blob = self._blobs[f"{run}/{name}"]
        return {
            "workflow_run_backend_id": run, "workflow_job_run_backend_id": run, "name": name, "size": str(len(blob)),
            "database_id": str(self.finished[run, name]), "created_at": "2026-01-02T03:04:05Z",
            "digest": f"sha256:{hashlib.sha256(blob).hexdigest()}",
        }  # fmt: skip


def _send(handler: Handler, status: int, answer: dict[str, Any]) -> None:
    handler.answer(status, json.dumps(answer).encode(), {"Content-Type": "application/json"})
