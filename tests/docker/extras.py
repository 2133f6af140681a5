"""Sandboxes with extras for tests, and where torch's CPU build comes from without a network's help."""

import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evaluator.host.digests.image_files import ROOT
from evaluator.host.docker.evaluator_image import WHEELS
from tests.needs import lacking

# Always the same one: it is an argument of the build, and another would be another layer.
PORT = 18765


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the library's name)
        """Nothing."""


@contextmanager
def torch_index(pin: str = "torch==2.13.0+cpu") -> Iterator[None]:
    """Have the CPU build at hand: from the index that is set, or from wherever this machine's pip finds it."""
    if os.environ.get(WHEELS):
        yield
        return
    folder = ROOT / "build" / "wheels"
    if not list((folder / "torch").glob("*.whl")):
        _fetch(pin, folder / "torch")
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", PORT), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        os.environ[WHEELS] = f"http://127.0.0.1:{PORT}/"
        try:
            yield
        finally:
            del os.environ[WHEELS]
            server.shutdown()


def _fetch(pin: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), pin]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        lacking(f"torch's CPU build, which is nowhere: set {WHEELS} to an index that has it", "EXTRAS")
