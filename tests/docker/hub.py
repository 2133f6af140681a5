"""A real registry on this machine, Debian's docker-registry, and images made by hand to be pushed to it."""

import contextlib
import gzip
import hashlib
import io
import json
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.needs import lacking

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
CONFIGURATION = """
version: 0.1
log: {{level: error}}
storage: {{filesystem: {{rootdirectory: {root}}}, delete: {{enabled: true}}}}
http: {{addr: "{address}"}}
"""


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Hub:
    """The registry, and what pushes to it as a hostile client would: without asking whether it makes sense."""

    address: str

    def blob(self, name: str, content: bytes) -> dict[str, Any]:
        """Push a blob; returns what a manifest says of it."""
        begun = requests.post(f"http://{self.address}/v2/{name}/blobs/uploads/", timeout=60)
        digest = f"sha256:{digest_of(content)}"
        done = requests.put(begun.headers["location"], params={"digest": digest}, data=content, timeout=60)
        done.raise_for_status()
        return {"mediaType": LAYER, "size": len(content), "digest": digest}

    def manifest(self, name: str, document: dict[str, Any]) -> str:
        """Push a manifest; returns the reference by digest."""
        body = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, **document}).encode()
        kind = document.get("mediaType", MANIFEST)
        digest = digest_of(body)
        url = f"http://{self.address}/v2/{name}/manifests/sha256:{digest}"
        response = requests.put(url, data=body, headers={"content-type": kind}, timeout=60)
        assert response.ok, response.text
        return f"{self.address}/{name}@sha256:{digest}"

    def image(
        self, name: str, layers: Sequence[bytes], config: dict[str, Any], change: Callable[..., Any] | None = None
    ) -> str:
        """Push an image of unpacked layers; `change` may lie in its configuration and manifest."""
        diff_ids = [f"sha256:{digest_of(layer)}" for layer in layers]
        whole = {
            "architecture": "amd64", "os": "linux", "config": config, "rootfs": {"type": "layers", "diff_ids": diff_ids},
        }  # fmt: skip
        manifest: dict[str, Any] = {"layers": [self.blob(name, gzip.compress(layer, 9, mtime=0)) for layer in layers]}
        if change:
            change(whole, manifest)
        described = self.blob(name, json.dumps(whole).encode())
        return self.manifest(name, {"config": {**described, "mediaType": CONFIG}, **manifest})


def layer(**files: bytes) -> bytes:
    """A layer of executable files below its root, as builders write them; two underscores in a name are a slash."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        root = tarfile.TarInfo("./")
        root.type, root.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(root)
        for name, content in files.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@contextlib.contextmanager
def running(command: str = "docker-registry") -> Iterator[Hub]:
    """A registry that keeps nothing."""
    root = tempfile.mkdtemp(prefix="test-registry-")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    place = Path(root, "config.yml")
    place.write_text(CONFIGURATION.format(root=root, address=address))
    process = subprocess.Popen([command, "serve", str(place)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not _answers(address):
            assert process.poll() is None, "the registry has ended"
            assert time.monotonic() < until, "the registry does not answer"
            time.sleep(0.05)
        yield Hub(address)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(root, ignore_errors=True)


def _answers(address: str) -> bool:
    with contextlib.suppress(requests.RequestException):
        return requests.get(f"http://{address}/v2/", timeout=5).ok
    return False


def need(*tools: str) -> None:
    """Skip the test where one of these is missing, or fail under PULLRANK_REQUIRE_REGISTRY=1."""
    if missing := [tool for tool in ("docker-registry", *tools) if not shutil.which(tool)]:
        lacking(" ".join(missing), "REGISTRY")


def tree_of(program: str) -> bytes:
    """A program of this machine with the libraries it needs, as the file system of an image."""
    path = shutil.which(program)
    assert path
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    libraries = [word for line in listed.splitlines() for word in line.split() if word.startswith("/")]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", dereference=True) as tar:
        tar.add(path, f"usr/bin/{program}")
        for library in libraries:
            tar.add(library, library.lstrip("/"))
    return buffer.getvalue()
