"""What asks registries for images: never with an account, never inside, never without an end."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.docker import registry_client
from evaluator.host.docker.agent_image import read_config, read_manifest
from evaluator.host.docker.registry_client import Registry, is_common
from evaluator.host.errors import AgentFault, RegistryFault
from evaluator.model.config.image_reference import ImageReference, TaggedImage
from evaluator.model.records.stored_record import ASKED_AGAIN
from evaluator.model.records.verdict import Verdict
from tests.docker.registry import digest_of

CONTENT = b'{"schemaVersion": 2}'
DIGEST = digest_of(CONTENT).removeprefix("sha256:")
Answer = Callable[[Any], None]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@contextlib.contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, list[Any]]]:
    """A registry that answers as it likes; its address, and the headers it was asked with."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

        def do_GET(self) -> None:
            asked.append((self.path, dict(self.headers)))
            with contextlib.suppress(OSError):
                answer(self)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def say(handler: Any, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def registry(address: str, seconds: float = 10) -> Registry:
    return Registry(ImageReference(host=address, name="alice/agent", digest=DIGEST), seconds)


def faulty(answer: Answer, seconds: float = 10) -> AgentFault:
    with serving(answer) as (address, _), pytest.raises(AgentFault) as caught:
        registry(address, seconds).manifest(DIGEST)
    return caught.value


def test_it_is_read_by_its_digest() -> None:
    with serving(lambda handler: say(handler, 200, CONTENT)) as (address, asked):
        assert registry(address).manifest(DIGEST) == CONTENT
        assert Registry(TaggedImage(host=address, name="a", tag="v1"), 5).digest_of("v1") == DIGEST

    assert [path for path, _ in asked] == [f"/v2/alice/agent/manifests/sha256:{DIGEST}", "/v2/a/manifests/v1"]


def test_something_else_than_the_digest_names() -> None:
    fault = faulty(lambda handler: say(handler, 200, CONTENT + b" "))

    assert (fault.verdict, "something else than the digest names" in str(fault)) == (Verdict.INVALID, True)


@pytest.mark.attack(
    "registry_that_never_ends",
    family="images",
    tries="Names an image in a registry of its own that sends bytes without end.",
    outcome="invalid",
)
def test_more_bytes_than_announced_are_not_read() -> None:
    def endless(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(bytes(1 << 16))

    fault = faulty(endless)
    assert (fault.verdict, "more bytes than" in str(fault)) == (Verdict.INVALID, True)


@pytest.mark.attack(
    "registry_with_a_piece_of_minus_one_bytes",
    family="images",
    tries="Announces in its own registry a piece of -1 bytes, which a usual client reads into memory until it is full.",
    outcome="invalid",
)
@pytest.mark.parametrize("size", [b"-1", b"-5"])
def test_a_piece_of_less_than_no_bytes_is_read_like_any_other(size: bytes) -> None:
    sent = 0

    def endless(handler: Any) -> None:
        nonlocal sent
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b"\r\n")
        while sent < 64 << 20:
            sent += handler.wfile.write(bytes(1 << 16))

    fault = faulty(endless)

    assert (fault.verdict, "more bytes than" in str(fault)) == (Verdict.INVALID, True)
    assert sent < 64 << 20


@pytest.mark.attack(
    "registry_with_hours_of_cookies",
    family="images",
    tries="Sends from its own registry headers of millions of cookies, in which a usual client splits words for hours.",
    outcome="invalid",
)
def test_cookies_are_not_read() -> None:
    def cookies(handler: Any) -> None:
        folded = b"\r\n".join([b" " + b"a;" * 30_000] * 20)
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nSet-Cookie2: a;\r\n" + folded + b"\r\n\r\n{}")

    begun = time.process_time()
    fault = faulty(cookies)

    assert (fault.verdict, "something else than" in str(fault)) == (Verdict.INVALID, True)
    assert time.process_time() - begun < 5


@pytest.mark.attack(
    "registry_that_drips",
    family="images",
    tries="Names an image in a registry of its own that sends so slowly that it would take days.",
    outcome="timeout",
)
def test_a_drip_ends_at_the_deadline() -> None:
    def drip(handler: Any) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"x" * (1 << 18))
            time.sleep(0.05)

    begun = time.monotonic()
    fault = faulty(drip, 0.3)

    assert (fault.verdict, str(fault)) == (Verdict.TIMEOUT, "the image was not here within 0.3 s; make it smaller")
    assert time.monotonic() - begun < 60


@pytest.mark.attack(
    "registry_that_sends_single_bytes",
    family="images",
    tries="Names an image in a registry of its own that sends a byte now and then, also before the answer's headers end.",
    outcome="timeout",
)
@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Words: "], ids=["body", "headers"])
def test_single_bytes_end_at_the_deadline(begin: bytes) -> None:
    """A read that waits until all of its bytes are there ends only with the connection."""
    until = time.monotonic() + 5

    def drip(handler: Any) -> None:
        handler.wfile.write(begin)
        while time.monotonic() < until:
            handler.wfile.write(b"x")
            time.sleep(0.02)

    fault = faulty(drip, 0.3)

    assert (fault.verdict, str(fault)) == (Verdict.TIMEOUT, "the image was not here within 0.3 s; make it smaller")
    assert time.monotonic() < until - 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_is_private_is_told(status: int) -> None:
    fault = faulty(lambda handler: say(handler, status, b"secret words", WWW_Authenticate='Basic realm="x"'))

    assert fault.verdict is Verdict.INVALID
    assert "gives alice/agent to nobody without an account, or has no such image; push it, and make it public" in str(fault)
    assert "secret" not in str(fault)


@pytest.mark.parametrize("status", [429, 500, 503, 204])
def test_a_registry_in_trouble_is_not_the_agents_fault(status: int) -> None:
    assert faulty(lambda handler: say(handler, status)).verdict is Verdict.INTERNAL_ERROR


@pytest.mark.parametrize(
    ("host", "reaches", "is_owners"), [(None, True, True), ("ghcr.io", True, False), (None, False, False)]
)
def test_no_answer_is_the_owners_only_from_a_registry_of_its_own_and_where_others_answer(
    host: str | None, reaches: bool, is_owners: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_client, "other_registry_answers", lambda: reaches)
    with serving(lambda handler: None) as (address, _):
        asked = registry(address)
    monkeypatch.setattr(asked, "_host", host or address)

    with pytest.raises(AgentFault) as caught:
        asked.manifest(DIGEST)

    assert (caught.value.verdict, isinstance(caught.value, RegistryFault)) == (Verdict.INTERNAL_ERROR, is_owners)


def test_an_error_of_a_registry_of_its_own_is_the_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_client, "other_registry_answers", lambda: False)

    assert isinstance(faulty(lambda handler: say(handler, 503)), RegistryFault)


def test_broken_answers_are_not_the_agents_fault() -> None:
    def broken(handler: Any) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"few")

    assert faulty(broken).verdict in (Verdict.INTERNAL_ERROR, Verdict.INVALID)
    assert faulty(lambda handler: handler.wfile.write(b"SSH-2.0\r\n")).verdict is Verdict.INTERNAL_ERROR


def test_a_registry_that_can_pass_on_anothers_failures_excuses_nobody() -> None:
    assert is_common("ghcr.io")
    assert not is_common("quay.io")


def test_the_token_that_everybody_gets() -> None:
    def answer(handler: Any) -> None:
        here = f"http://{handler.headers['host']}"
        if handler.path.startswith("/token"):
            return say(handler, 200, b'{"token": "abc.def"}')
        if handler.headers.get("authorization") != "Bearer abc.def":
            return say(handler, 401, WWW_Authenticate=f'Bearer realm="{here}/token",service="s",scope="repository:all:push"')
        return say(handler, 200, CONTENT)

    with serving(answer) as (address, asked):
        assert registry(address).manifest(DIGEST) == CONTENT

    assert asked[1][0] == "/token?service=s&scope=repository%3Aalice%2Fagent%3Apull"


@pytest.mark.attack(
    "registry_that_asks_for_a_password",
    family="images",
    tries="Names an image in a registry of its own that asks for the machine's accounts.",
    outcome="none is shown",
)
@pytest.mark.parametrize("path", [".netrc", ".docker/config.json"])
def test_no_account_of_this_machine_is_ever_shown(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    auths = {"127.0.0.1": {"auth": "aG9zdDpzZWNyZXQ="}}
    (tmp_path / path).write_text(
        "default login host password secret\n" if path == ".netrc" else json.dumps({"auths": auths})
    )
    monkeypatch.setenv("HOME", str(tmp_path))

    def answer(handler: Any) -> None:
        say(handler, 401, WWW_Authenticate='Basic realm="x"')

    with serving(answer) as (address, asked), pytest.raises(AgentFault):
        registry(address).manifest(DIGEST)

    assert asked
    assert not any("authorization" in {name.lower() for name in headers} for _, headers in asked)


@pytest.mark.attack(
    "registry_that_asks_at_length",
    family="images",
    tries="Names an image in a registry of its own that says in megabytes where to get a token, which take minutes to read.",
    outcome="invalid; none is asked for",
)
def test_a_long_answer_about_a_token_is_not_read() -> None:
    def answer(handler: Any) -> None:
        realm = f'realm="http://{handler.headers["Host"]}/token"'
        say(handler, 401, WWW_Authenticate=f"Bearer {'a' * 5000} {realm}")

    with serving(answer) as (address, asked), pytest.raises(AgentFault) as caught:
        registry(address).manifest(DIGEST)

    assert caught.value.verdict is Verdict.INVALID
    assert len(asked) == 1


@pytest.mark.attack(
    "registry_that_leads_inside",
    family="images",
    tries="Names an image in a registry of its own that redirects to the machine's own network or files.",
    outcome="invalid; nothing is asked there",
)
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("http://169.254.169.254/latest/meta-data/", "not https"),
        ("https://169.254.169.254/latest/meta-data/", "private network"),
        ("https://10.1.2.3/", "private network"),
        ("https://127.0.0.1:1/", "private network"),
        ("https://[::1]:1/", "private network"),
        ("https://[::ffff:10.0.0.1]/", "private network"),
        ("https://[64:ff9b::a00:1]/", "private network"),
        ("https://224.0.0.1/", "private network"),
        ("ftp://example.org/", "not https"),
        ("file:///etc/passwd", "not https"),
    ],
)
@pytest.mark.parametrize("by_token", [False, True])
def test_nothing_leads_inside(target: str, words: str, by_token: bool) -> None:
    def lead(handler: Any) -> None:
        if by_token:
            say(handler, 401, WWW_Authenticate=f'Bearer realm="{target}",service="s"')
        else:
            say(handler, 307, Location=target)

    fault = faulty(lead)

    assert fault.verdict is Verdict.INVALID
    assert words in str(fault)


@pytest.mark.attack(
    "registry_that_redirects_without_end",
    family="images",
    tries="Names an image in a registry of its own that redirects in a circle.",
    outcome="invalid",
)
def test_redirects_end() -> None:
    assert "without end" in str(faulty(lambda handler: say(handler, 302, Location=handler.path)))


@pytest.mark.attack(
    "registry_whose_answer_breaks_its_reader",
    family="images",
    tries="Lets its own registry answer, when it is unlucky, with what the client that reads it was not made for.",
    outcome="its owner's failure, which counts in the third try",
)
@pytest.mark.parametrize(
    "head",
    [
        b"302 x\r\nLocation: https://[",
        b"302 x\r\nLocation: https://[x]/",
        b"302 x\r\nLocation: https://a..b/",
        b"302 x\r\nLocation: https://" + b"a" * 64 + b".example/",
        b"302 x\r\nLocation: https://a\xe2\x84\x80b/",
        b"302 x\r\nLocation: \xff",
        b'401 x\r\nWWW-Authenticate: Bearer realm="https://["',
        b'401 x\r\nWWW-Authenticate: Bearer realm="https://a..b/"',
    ],
)
def test_an_answer_that_breaks_its_reader_is_its_owners(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """As our failure it was never counted, so an owner could choose which matches were."""
    monkeypatch.setattr(registry_client, "other_registry_answers", lambda: True)

    fault = faulty(lambda handler: handler.wfile.write(b"HTTP/1.0 " + head + b"\r\n\r\n"))

    assert isinstance(fault, RegistryFault)
    assert ASKED_AGAIN in str(fault)


@pytest.mark.attack(
    "registry_in_a_private_network",
    family="images",
    tries="Names a registry at an address of the machine's own network.",
    outcome="invalid",
)
@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1:5000", "169.254.169.254", "0.0.0.0:1"])
def test_a_registry_in_a_private_network_is_refused(host: str) -> None:
    with pytest.raises(AgentFault, match="private network"):
        registry(host).manifest(DIGEST)


@pytest.mark.attack(
    "registry_rebinding",
    family="images",
    tries="Resolves its registry's name to a public address when it is checked, and to this machine when it is connected.",
    outcome="invalid; nothing is connected",
)
@pytest.mark.parametrize("first", ["93.184.215.14", None])
def test_a_name_that_is_resolved_elsewhere_later_is_not_connected(
    monkeypatch: pytest.MonkeyPatch, first: str | None
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as inside:
        port = inside.getsockname()[1]
        answers = [first]

        def resolve(host: str, *more: Any, **other: Any) -> list[Any]:
            assert host == "registry.example"
            address = answers.pop() if answers else "127.0.0.1"
            if address is None:
                raise socket.gaierror
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        inside.settimeout(0.3)

        with pytest.raises(AgentFault, match="private network") as caught:
            registry(f"registry.example:{port}").manifest(DIGEST)

        assert caught.value.verdict is Verdict.INVALID
        with pytest.raises(TimeoutError):
            inside.accept()


def test_a_runners_own_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    words = "a registry of one machine; push the image to a public one"
    with serving(lambda handler: say(handler, 200, CONTENT)) as (address, asked), pytest.raises(AgentFault, match=words):
        registry(address).manifest(DIGEST)
    assert asked == []


LAYER = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "size": 5, "digest": "sha256:" + "a" * 64}
GOOD = {"schemaVersion": 2, "config": {**LAYER, "mediaType": "x"}, "layers": [LAYER]}


def manifest_fault(document: Any) -> str:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    with pytest.raises(AgentFault) as caught:
        read_manifest(body, "linux/amd64", lambda digest: b"{}", 10)
    assert caught.value.verdict is Verdict.INVALID
    return str(caught.value)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"a": ' + b"1" * 10_000 + b"}", "cannot be read"),
        ([], "cannot be read"),
        ({"schemaVersion": 1, "fsLayers": []}, "of an old kind"),
        ({**GOOD, "layers": [LAYER] * 126}, "126 layers"),
        ({**GOOD, "layers": [{**LAYER, "size": 11 << 20}]}, "11 MiB in its registry, the limit is 10 MiB"),
        ({**GOOD, "layers": [{**LAYER, "size": 6 << 20}] * 2}, "12 MiB in its registry"),
        ({**GOOD, "layers": [{**LAYER, "size": -5}]}, "cannot be read"),
        ({**GOOD, "layers": [{**LAYER, "size": True}]}, "cannot be read"),
        ({**GOOD, "layers": [{**LAYER, "size": 1.5}]}, "cannot be read"),
        ({**GOOD, "layers": [{**LAYER, "digest": "sha256:../../x"}]}, "cannot be read"),
        ({**GOOD, "layers": [None]}, "cannot be read"),
        ({**GOOD, "layers": [{**LAYER, "urls": ["https://example.org"]}]}, "outside its registry"),
        ({**GOOD, "layers": [{**LAYER, "mediaType": "application/vnd.oci.image.layer.v1.tar+zstd"}]}, "zstd"),
        ({**GOOD, "config": {**LAYER, "size": 2 << 20}}, "more than a mebibyte"),
        ({"manifests": "none"}, "is for nothing that is named"),
        (
            {"manifests": [{"platform": {"os": "linux", "architecture": "arm64"}}, None]},
            "is for linux/arm64, and this board",
        ),
        ({"manifests": [{"platform": {"os": "linux", "architecture": "amd64"}, "digest": 5}]}, "cannot be read"),
    ],
)
def test_manifests_that_are_none(document: Any, words: str) -> None:
    assert words in manifest_fault(document)


def test_a_list_of_lists_goes_one_step_only() -> None:
    inner = {"manifests": [{"platform": {"os": "linux", "architecture": "amd64"}, "digest": "sha256:" + "b" * 64}]}

    with pytest.raises(AgentFault, match="of an old kind"):
        read_manifest(json.dumps(inner).encode(), "linux/amd64", lambda digest: json.dumps(inner).encode(), 10)


def test_only_what_is_run_is_kept_of_a_configuration() -> None:
    theirs = {
        "Cmd": ["a"], "Env": ["A=b=c"], "WorkingDir": "/w", "User": "0", "Volumes": {"/v": {}}, "Labels": {"a": "b"},
        "Healthcheck": {"Test": ["CMD", "x"]}, "OnBuild": ["RUN x"], "Shell": ["sh"], "StopSignal": "9", "Unknown": 1,
    }  # fmt: skip
    body = {"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": ["sha256:" + "c" * 64]}, "config": theirs, "x": 1}

    kept = json.loads(read_config(json.dumps(body).encode(), "linux/amd64", 1).document(["c" * 64]))

    assert kept["config"] == {"Entrypoint": [], "Cmd": ["a"], "Env": ["A=b=c"], "WorkingDir": "/w"}
    assert set(kept) == {"architecture", "os", "config", "rootfs"}
    with pytest.raises(AgentFault, match="another number of layers"):
        read_config(json.dumps(body).encode(), "linux/amd64", 2)


@pytest.mark.attack(
    "image_that_asks_for_the_machines_cards",
    family="images",
    tries="Is an image whose environment asks the engine's runtime for all graphics cards, where the board hands out none.",
    outcome="these variables are left out",
)
def test_no_variable_of_an_image_asks_for_devices() -> None:
    """A runtime such as NVIDIA's, where it is the engine's default, obeys what an image says."""
    asks = [
        "NVIDIA_VISIBLE_DEVICES=all",
        "NVIDIA_DRIVER_CAPABILITIES=all",
        "AMD_VISIBLE_DEVICES=all",
        "NVIDIA_IMEX_CHANNELS=0",
    ]
    kept = ["CUDA_VISIBLE_DEVICES=", "PATH=/bin", "MY_NVIDIA_X=1"]
    config = {"Cmd": ["a"], "Env": [*asks, *kept]}
    body = {"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": ["sha256:" + "c" * 64]}, "config": config}

    document = json.loads(read_config(json.dumps(body).encode(), "linux/amd64", 1).document(["c" * 64]))

    assert document["config"]["Env"] == kept
