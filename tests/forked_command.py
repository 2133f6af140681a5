"""The command without its start: one process has imported every command, and a fork of it runs each call.

Importing takes seconds and playing a test's episodes does not. A fork is a process of its own all the same: its folder,
environment, signals and exit are those of a command that was started, and so is all that is done in `scripts.cli.main`.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from jinja2 import Environment

from evaluator.host.deterministic import pinned_variables, run_pinned
from leaderboard.comments import render_comment
from leaderboard.pages import template_renderer
from leaderboard.pages.agent import agent_page
from scripts import cli

ROOT = Path(__file__).parents[1]
CODE = ("evaluator", "leaderboard", "scripts")
"""What a command is made of."""
MODULE = "tests.forked_command"
_REQUEST_BYTES = 1 << 20


def run_forked(board: Path, words: tuple[str, ...], environment: dict[str, str], timeout: float) -> tuple[int, str, str]:
    """Run the command in a folder: its exit code, standard output and standard error.

    Raises:
        TimeoutError: it took longer than `timeout` seconds.
        RuntimeError: the process that forks has ended.
    """
    request = json.dumps({"folder": str(board), "words": words, "environment": environment}).encode()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        return _exit_code(request, [out.fileno(), err.fileno()], timeout), _text(out), _text(err)


def _exit_code(request: bytes, streams: list[int], timeout: float) -> int:
    server = _server()
    server.settimeout(timeout)
    socket.send_fds(server, [request], streams)
    try:
        answer = server.recv(64)
    except ConnectionResetError:
        answer = b""
    except TimeoutError:
        # Its answer may still come, and would be taken for that of the next call.
        server.close()
        _server.cache_clear()
        raise
    if not answer:
        raise RuntimeError("the process that forks has ended; what it wrote stands in the captured output")
    return int(answer)


# Takes the place of `pullrank` in a checkout. It asks at the socket, and where that checkout's code is not this one's it
# starts the command from there.
_CLIENT = """\
#!{python} -IS
import json, os, socket, sys

socket_path, checkout = {socket!r}, {checkout!r}
environment = {{**os.environ, "PYTHONPATH": checkout}}
call = {{"folder": os.getcwd(), "checkout": checkout, "words": sys.argv[1:], "environment": environment}}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, {size})
    server.connect(socket_path)
    socket.send_fds(server, [json.dumps(call).encode()], [1, 2])
    answer = server.recv(64)
if answer == b"other code":
    os.execve(sys.executable, [sys.executable, "-m", "scripts.cli", *sys.argv[1:]], environment)
code = int(answer or b"1")
sys.exit(code if code >= 0 else 128 - code)  # as a shell tells of a signal
"""


def forked_pullrank(checkout: Path) -> str:
    """The text of an executable that is `pullrank` of a checkout, without its start where the checkout's code is ours."""
    return _CLIENT.format(python=sys.executable, socket=_socket_path(), checkout=str(checkout), size=_REQUEST_BYTES)


@functools.cache
def _socket_path() -> str:
    """Where a thread of this process passes on calls, one after the other."""
    folder = tempfile.mkdtemp(prefix="pullrank-forks-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    calls = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    calls.bind(f"{folder}/calls")
    calls.listen()
    threading.Thread(target=_pass_on, args=(calls,), daemon=True).start()
    return f"{folder}/calls"


def _pass_on(calls: socket.socket) -> None:
    while True:
        caller, _ = calls.accept()
        with caller:
            request, streams, _, _ = socket.recv_fds(caller, _REQUEST_BYTES, 2)
            try:
                ours = _is_our_code(Path(json.loads(request)["checkout"]))
                answer = str(_exit_code(request, streams, timeout=900)) if ours else "other code"
            except (RuntimeError, OSError, ValueError):  # what failed here fails the caller, and the next call is answered
                traceback.print_exc()
                answer = ""
            for stream in streams:
                os.close(stream)
            with contextlib.suppress(OSError):  # the caller may have been killed
                caller.send(answer.encode())


def _is_our_code(checkout: Path) -> bool:
    """Whether everything that a command is made of is the same here and there, byte for byte."""
    return _code(checkout) == _our_code()


@functools.cache
def _our_code() -> dict[str, bytes]:
    return _code(ROOT)


def _code(checkout: Path) -> dict[str, bytes]:
    folders = (checkout / name for name in CODE)
    files = (path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts and path.is_file())
    return {str(path.relative_to(checkout)): path.read_bytes() for path in files}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@functools.cache
def _server() -> socket.socket:
    """The process that forks; it ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for side in (ours, theirs):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _REQUEST_BYTES)
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE], cwd=ROOT, stdin=theirs, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait(60)

    atexit.register(end)
    return ours


def _serve() -> None:
    """Answer calls; a fork returns from here, and its exit is the command's."""
    calls = socket.socket(fileno=os.dup(0))
    # Ctrl-C reaches every process of the terminal; this one ends when the tests do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    while True:
        request, streams, _, _ = socket.recv_fds(calls, _REQUEST_BYTES, 2)
        if not request:
            sys.exit(0)
        child = os.fork()
        if child == 0:
            calls.close()
            _become(json.loads(request), streams)
            return
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        calls.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Take a started command's place: its streams, folder, environment, words and signals."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for stream, number in zip((nothing, *streams), (0, 1, 2), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["folder"])
    pinned = {name: os.environ[name] for name in ("PULLRANK_PINNED", *pinned_variables())}
    os.environ.clear()
    os.environ.update({**request["environment"], **pinned})
    sys.argv = [str(ROOT / "scripts" / "cli.py"), *request["words"]]
    sys.path[0] = request["folder"]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _import_all() -> None:
    """What the commands are made of, and what is only made when it is needed: environments, and the site's templates."""
    importlib.import_module("gymnasium.envs.classic_control.cartpole")
    importlib.import_module("pettingzoo.classic.tictactoe_v3")
    for name in ("scripts", "scripts.commands", "leaderboard", "evaluator.host", "evaluator.model"):
        for module in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
            if not module.ispkg:
                importlib.import_module(module.name)
    _compile(template_renderer._markdown(), lambda name: name.endswith(".md.jinja") and not name.startswith("comment_"))
    _compile(agent_page._html(), lambda name: name.endswith(".html.jinja"))
    _compile(render_comment._environment(), lambda name: name.startswith("comment_"))


def _compile(made: Environment, is_its: Callable[[str], bool]) -> None:
    for name in made.list_templates(filter_func=is_its):
        made.get_template(name)


if __name__ == "__main__":
    run_pinned(os.environ, ["-m", MODULE])
    _import_all()
    _serve()
    cli.main()
