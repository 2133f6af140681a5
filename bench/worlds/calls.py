"""A call for each move to an agent in another process of this machine, without any sandbox: three usual ways.

`python -m bench.worlds.calls CELL` is that process.
"""

import contextlib
import http.client
import http.server
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.worlds.cells import BY_NAME, Cell, load

Ask = Callable[[Any], Any]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


@contextlib.contextmanager
def opened(cell: Cell) -> Iterator[tuple[Ask, int]]:
    """The agent's process; yields the function that asks it for an action, and the process's id."""
    command = [sys.executable, "-m", "bench.worlds.calls", cell.to_json()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield _CLIENTS[cell.way](process, cell), process.pid
        finally:
            process.kill()


def _over_pipe(process: "subprocess.Popen[str]", cell: Cell) -> Ask:
    assert process.stdin
    assert process.stdout
    write, flush, read = process.stdin.write, process.stdin.flush, process.stdout.readline
    read()

    def ask(observation: Any) -> Any:
        write(json.dumps(_plain(observation)) + "\n")
        flush()
        return _action(json.loads(read()), cell)

    return ask


def _over_http(process: "subprocess.Popen[str]", cell: Cell) -> Ask:
    assert process.stdout
    connection = http.client.HTTPConnection("127.0.0.1", int(process.stdout.readline()))

    def ask(observation: Any) -> Any:
        connection.request("POST", "/act", json.dumps(_plain(observation)), {"Content-Type": "application/json"})
        return _action(json.loads(connection.getresponse().read()), cell)

    return ask


def _over_grpc(process: "subprocess.Popen[str]", cell: Cell) -> Ask:
    import grpc

    assert process.stdout
    channel = grpc.insecure_channel(f"127.0.0.1:{process.stdout.readline().strip()}")
    call = channel.unary_unary("/Agent/act")
    return lambda observation: pickle.loads(call(pickle.dumps(observation), wait_for_ready=True))


def _action(value: Any, cell: Cell) -> Any:
    return value if BY_NAME[cell.world].is_discrete else np.array(value, np.float32)


_CLIENTS = {"JSON lines, pipe": _over_pipe, "HTTP, JSON": _over_http, "gRPC, pickle": _over_grpc}


# In the agent's process


def _serve_pipe(act: Ask) -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(_plain(act(np.array(json.loads(line))))), flush=True)


def _serve_http(act: Ask) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            observation = np.array(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(_plain(act(observation))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the library's name)
            """Nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


def _serve_grpc(act: Ask) -> None:
    import grpc

    server = grpc.server(ThreadPoolExecutor(max_workers=10))
    handler = grpc.unary_unary_rpc_method_handler(lambda request, context: pickle.dumps(act(pickle.loads(request))))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Agent", {"act": handler}),))
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()


_SERVERS = {"JSON lines, pipe": _serve_pipe, "HTTP, JSON": _serve_http, "gRPC, pickle": _serve_grpc}

if __name__ == "__main__":
    served = Cell(**json.loads(sys.argv[1]))
    _SERVERS[served.way](load(served.source()).act)
