"""Attacks by `weights`: addresses, servers, hashes and names; each server is real, and answers on this machine."""

import gzip
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from evaluator.host import public_download
from evaluator.host.errors import AgentFault, RegistryFault
from evaluator.host.loading import submission_folder
from evaluator.host.loading.submission_folder import assemble, stage
from evaluator.host.loading.yaml_loader import LoadError, dump_yaml, parse_challenge, parse_submission
from evaluator.host.public_download import is_public
from evaluator.host.sandboxes import sandbox
from evaluator.host.solo.evaluate_agent import evaluate_agent
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import SubmissionFile, WeightsFile
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.records.stored_record import ASKED_AGAIN, SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import INVISIBLE, printable_line
from leaderboard.planning.missing_work import MeasurementContext, WorkItem, missing_work
from scripts.git.data_branches import BranchCommit, open_branches
from scripts.git.main_entries import read_entries
from scripts.github.official.evaluate_shard import ShardAssignment
from scripts.github.official.publish_round import evaluated_agents, weights_to_keep
from scripts.repository.layout import record_store
from tests.hostile.arena import order, world_of
from tests.hostile.test_folders import SOURCE
from tests.leaderboard import make
from tests.scripts.github.remotes import CHALLENGE, agent_files, make_board
from tests.scripts.github.rounds import open_run
from tests.weights_server import Answer, WeightsServer, drips, gives, sends_to, serving, weights

CONTENT = bytes(range(256)) * 40
MINE = weights(CONTENT)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeightsServer]:
    with serving(tmp_path_factory.mktemp("server")) as server:
        yield server


def manifest(*files: WeightsFile | dict[str, object]) -> bytes:
    listed = [file.model_dump() if isinstance(file, WeightsFile) else file for file in files]
    return dump_yaml({"name": "Mine", "algorithm": "a net", "weights": listed}).encode()


def blobs(*files: WeightsFile, **others: bytes) -> tuple[SubmissionFile, ...]:
    contents = {"submission.yml": manifest(*files), "agent.py": SOURCE.encode(), **others}
    return tuple(SubmissionFile(path=name.replace("__", "/"), executable=False, content=c) for name, c in contents.items())


def refused(server: WeightsServer, folder: Path, wanted: WeightsFile = MINE, **way: object) -> AgentFault:
    """How the fetch is refused; nothing is kept, and no half of a file is left."""
    store = server.store(folder / "store", server.https(**way))  # type: ignore[arg-type]
    with pytest.raises(AgentFault) as caught:
        store.fetch([wanted])

    assert list((folder / "store").iterdir()) == []
    return caught.value


def test_good_weights_are_staged_read_only_beside_the_other_files(
    server: WeightsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pages["/net.bin"] = sends_to("https://elsewhere.example/a/net.bin?download=true")
    server.pages["/a/net.bin?download=true"] = gives(CONTENT)
    room = tmp_path / "room"
    room.mkdir()
    store = server.store(tmp_path / "store")
    monkeypatch.setattr(submission_folder, "WeightsCache", lambda: store)

    stage(assemble(blobs(weights(CONTENT, file="nets/net.bin")), SubmissionLimits()), room)

    assert (room / "nets/net.bin").read_bytes() == CONTENT
    assert (room / "nets/net.bin").stat().st_mode & 0o777 == 0o444
    server.pages.clear()  # the address is dead from now on, and the copy serves
    other = tmp_path / "other"
    other.mkdir()
    stage(assemble(blobs(MINE), SubmissionLimits()), other)
    assert (other / "net.bin").read_bytes() == CONTENT


@pytest.mark.attack(
    "weights_at_a_private_address", family="supply", outcome="refused before any connection",
    tries="Names a host that resolves to an address of this machine, of its network, or of the cloud's metadata service.",
)  # fmt: skip
@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "169.254.169.254", "10.0.0.8", "100.64.0.1", "0.0.0.0", "::1", "fe80::1%eth0", "fd00:ec2::254",
     "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "224.0.0.1", "::ffff:169.254.169.254",
     "64:ff9b:1::a9fe:a9fe", "::7f00:1", "::ffff:0:7f00:1", "fec0::1", "5f00::1", "3fff::1", "192.0.0.8", "168.63.129.16"],
)  # fmt: skip
def test_a_private_address_is_never_connected(server: WeightsServer, tmp_path: Path, address: str) -> None:
    server.asked.clear()
    server.pages["/net.bin"] = gives(CONTENT)

    fault = refused(server, tmp_path, addresses={"models.example": [[address]]})

    assert fault.verdict is Verdict.INVALID
    assert "models.example lies in a private network" in str(fault)
    assert server.asked == []
    assert not is_public(address)
    assert is_public("140.82.121.4")
    assert is_public("2606:50c0:8000::153")


@pytest.mark.attack(
    "weights_with_one_private_address_of_two", family="supply", outcome="refused before any connection",
    tries="Has a name with a public and a private address, so that a check of the first lets the second through.",
)  # fmt: skip
def test_one_private_address_among_public_ones_is_enough(server: WeightsServer, tmp_path: Path) -> None:
    server.asked.clear()

    fault = refused(server, tmp_path, addresses={"models.example": [["93.184.215.14", "127.0.0.1"]]})

    assert "private network" in str(fault)
    assert server.asked == []


@pytest.mark.attack(
    "weights_redirected_to_metadata", family="supply", outcome="refused at the redirect",
    tries="Serves a redirect from a public host to the metadata service of a cloud, by name, number or plain http.",
)  # fmt: skip
@pytest.mark.parametrize(
    "target",
    ["https://metadata.example/latest/meta-data", "https://169.254.169.254/", "http://metadata.example/", "https://[::1]/",
     "https://2852039166/", "https://metadata.example:8443/", "https://a:b@elsewhere.example/", "file:///etc/passwd"],
)  # fmt: skip
def test_every_redirect_is_checked_like_the_first_address(server: WeightsServer, tmp_path: Path, target: str) -> None:
    server.asked.clear()
    server.pages["/net.bin"] = sends_to(target)
    way = server.https()
    resolve = {"models.example": ["127.0.0.1"], "metadata.example": ["169.254.169.254"]}
    permits = ("127.0.0.1",)
    https = type(way)(
        permits=lambda address: address in permits, resolve=lambda host, port: resolve[host], context=way.context,
        port=way.port, seconds=20,
    )  # fmt: skip

    with pytest.raises(AgentFault, match=r"private network|no https address") as caught:
        server.store(tmp_path, https).fetch([MINE])

    assert caught.value.verdict is Verdict.INVALID
    assert server.asked == ["/net.bin"]


@pytest.mark.attack(
    "weights_rebinding", family="supply", outcome="the address that was checked is connected",
    tries="Resolves a name to a public address when it is checked, and to this machine when it is connected.",
)  # fmt: skip
def test_a_name_is_resolved_once_and_that_address_connected(server: WeightsServer, tmp_path: Path) -> None:
    server.pages["/net.bin"] = gives(CONTENT)
    looked_up: list[str] = []
    way = server.https()

    def resolve(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["169.254.169.254"]

    https = type(way)(
        permits=lambda address: address == "127.0.0.1", resolve=resolve, context=way.context, port=way.port, seconds=20
    )
    store = server.store(tmp_path, https)

    store.fetch([MINE])

    # No resolver but this one knows the name, so the connection went to what was checked.
    assert store.has(MINE)
    assert looked_up == ["models.example"]


@pytest.mark.attack(
    "weights_of_another_host", family="supply", outcome="refused: the certificate is not the host's",
    tries="Answers in place of the host with a certificate of another name.",
)  # fmt: skip
def test_the_certificate_must_be_the_hosts(server: WeightsServer, tmp_path: Path) -> None:
    server.asked.clear()

    fault = refused(server, tmp_path, weights(CONTENT, url="https://codeload.github.com/net.bin"))

    assert "CERTIFICATE_VERIFY_FAILED" in str(fault)
    assert server.asked == []


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123\n"


@pytest.mark.parametrize(
    ("page", "wanted", "why"),
    [
        pytest.param(
            gives(CONTENT[:-1] + b"x"), MINE, "correct 'sha256' or 'url'",
            marks=pytest.mark.attack("weights_with_other_bytes", family="supply", outcome="refused by their hash",
            tries="Serves other bytes of the same size than those that were previewed."),
        ),
        pytest.param(
            gives(CONTENT + b"x"), MINE, "more than the 10240 bytes",
            marks=pytest.mark.attack("weights_longer_than_said", family="supply", outcome="refused by their length",
            tries="Announces more bytes than the manifest says."),
        ),
        pytest.param(
            drips(b"\0" * 100_000), MINE, "more than the 10240 bytes",
            marks=pytest.mark.attack("weights_without_end", family="supply", outcome="cut off after the manifest's size",
            tries="Serves a body that never ends, without a length."),
        ),
        pytest.param(
            gives(gzip.compress(b"\0" * 10_000_000), Content__Encoding="gzip"), weights(b"\0" * 10_000_000),
            "sends it compressed",
            marks=pytest.mark.attack("weights_gzip_bomb", family="supply", outcome="refused, not unpacked",
            tries="Serves a compressed body that unpacks to a thousand times its size."),
        ),
        pytest.param(
            gives(LFS), weights(LFS), "is a Git LFS pointer|gives a Git LFS pointer",
            marks=pytest.mark.attack("weights_of_git_lfs", family="supply", outcome="refused as a pointer",
            tries="Names the pointer of Git LFS in place of the file, whose bytes could change later."),
        ),
        pytest.param(
            sends_to("https://models.example/net.bin"), MINE, "without end",
            marks=pytest.mark.attack("weights_redirected_for_ever", family="supply", outcome="refused after five redirects",
            tries="Serves a redirect to itself."),
        ),
    ],
)  # fmt: skip
def test_what_is_not_the_manifests_file_is_refused(
    server: WeightsServer, tmp_path: Path, page: Answer, wanted: WeightsFile, why: str
) -> None:
    server.pages["/net.bin"] = page

    fault = refused(server, tmp_path, wanted)

    assert fault.verdict is Verdict.INVALID
    assert any(part in str(fault) for part in why.split("|"))


@pytest.mark.attack(
    "weights_drip", family="supply", outcome="timeout by the clock of the whole download",
    tries="Serves one byte now and then, so that no single read takes long, in the body or in the headers.",
)  # fmt: skip
@pytest.mark.parametrize("headers", [False, True])
def test_a_body_or_headers_that_drip_are_ended_by_the_clock(server: WeightsServer, tmp_path: Path, headers: bool) -> None:
    server.pages["/net.bin"] = drips(b"x", headers=headers)

    fault = refused(server, tmp_path, weights(b"\0" * (1 << 24)), seconds=0.6)

    assert fault.verdict is Verdict.TIMEOUT


def slow(content: bytes) -> Answer:
    """A page that takes most of the time that these tests allow."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        time.sleep(0.5)
        gives(content)(request)

    return answer


@pytest.mark.attack(
    "weights_of_a_host_that_connects_late", family="supply", outcome="timeout by the clock of the whole download",
    tries="Answers a connection just when the download's time is over and the clock finds nothing to close, and drips.",
)  # fmt: skip
def test_a_connection_that_comes_when_the_time_is_over_is_not_read(
    server: WeightsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []

    def drip(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n")
        for number in range(100):
            request.wfile.write(b"x")
            request.wfile.flush()
            sent.append(number)
            time.sleep(0.05)

    server.pages["/net.bin"] = drip
    connect = socket.create_connection

    def connect_late(address: tuple[str, int], timeout: float) -> socket.socket:
        connection = connect(address, timeout)
        time.sleep(timeout + 0.1)
        return connection

    monkeypatch.setattr(public_download.socket, "create_connection", connect_late)

    fault = refused(server, tmp_path, seconds=0.5)

    assert fault.verdict is Verdict.TIMEOUT
    assert len(sent) < 100


def writes(*pieces: bytes, end: bytes = b"") -> Answer:
    """The bytes of an answer; `end` again and again until the client hangs up."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        for piece in pieces:
            request.wfile.write(piece)
        while end:
            request.wfile.write(end)
        request.close_connection = True

    return answer


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.attack(
    "weights_of_odd_http", family="supply", outcome="refused in one line, or stopped by the clock",
    tries="Answers with endless interim answers, trailers or chunk headers, odd lengths, and lines of megabytes.",
)  # fmt: skip
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(writes(end=b"HTTP/1.1 100 Continue\r\n\r\n"), id="interim"),
        pytest.param(writes(end=b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), id="hints"),
        pytest.param(writes(OK, b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", end=b"A: b\r\n"), id="trailers"),
        pytest.param(writes(OK, b"Transfer-Encoding: chunked\r\n\r\n1;", end=b"x=y;"), id="extension"),
        pytest.param(writes(OK, b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", end=b"xx"), id="negative chunk"),
        pytest.param(writes(OK, b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 5000 + b"\r\n", end=b"xx"), id="huge chunk"),
        pytest.param(writes(OK, b"Content-Length: -5\r\n\r\n", end=b"xx"), id="negative length"),
        pytest.param(writes(OK, b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", end=b"xx"), id="length of 5,000 digits"),
        pytest.param(writes(OK, b"Content-Length: 1\r\nContent-Length: 9999999999\r\n\r\n", end=b"xx"), id="two lengths"),
        pytest.param(writes(b"HTTP/1.1 200 ", end=b"A" * 9999), id="status without end"),
        pytest.param(writes(OK, b"X: ", end=b"A" * 9999), id="header without end"),
        pytest.param(writes(OK, end=b"X: y\r\n"), id="headers without end"),
        pytest.param(writes(b"HTTP/9.9 999 \xff\x1b[2J::error::x\r\n\r\n"), id="version"),
        pytest.param(writes(b"\x1b[2J\n::add-mask::e\n"), id="no http"),
        pytest.param(writes(b"HTTP/1.1 302 Found\r\nLocation: " + b"A" * 60_000 + b"\r\n\r\n"), id="long address"),
        pytest.param(writes(b"HTTP/1.1 302 Found\r\nLocation: https://[::1/\xff\r\n\r\n"), id="bracket"),
        pytest.param(writes(b"HTTP/1.1 302 Found\r\nLocation: https://models.example:99999/\r\n\r\n"), id="port"),
        pytest.param(writes(b"HTTP/1.1 302 Found\r\nLocation: //\x00\r\n\r\n"), id="zero"),
        pytest.param(writes(b"HTTP/1.1 302 Found\r\n\r\n"), id="no address"),
        pytest.param(writes(OK, b"Content-Encoding: gzip, identity\r\n\r\n", gzip.compress(CONTENT)), id="encodings"),
    ],
)
def test_odd_http_is_refused(server: WeightsServer, tmp_path: Path, answer: Answer) -> None:
    server.pages["/net.bin"] = answer

    fault = refused(server, tmp_path, seconds=1.5)

    assert fault.verdict in (Verdict.INVALID, Verdict.TIMEOUT, Verdict.INTERNAL_ERROR)
    assert len(str(fault)) < 1000
    assert str(LoadError(str(fault))) == printable_line(str(fault))
    assert not INVISIBLE.search(printable_line(str(fault)))


@pytest.mark.attack(
    "weights_in_many_slow_files", family="supply", outcome="timeout by the clock of all files together",
    tries="Names twenty files that each come just in time, so that one evaluation or round waits for hours.",
)  # fmt: skip
def test_all_files_of_an_agent_have_one_clock(server: WeightsServer, tmp_path: Path) -> None:
    every = [weights(CONTENT + bytes([i]), path=f"/{i}.bin", file=f"{i}.bin") for i in range(4)]
    server.pages |= {f"/{i}.bin": slow(CONTENT + bytes([i])) for i in range(4)}

    with pytest.raises(AgentFault) as caught:
        server.store(tmp_path, server.https(seconds=1.2)).fetch(every)

    assert caught.value.verdict is Verdict.TIMEOUT


@pytest.mark.attack(
    "weights_cut_off", family="supply", outcome="tried again later, nothing kept",
    tries="Hangs up in the middle of the file.",
)  # fmt: skip
def test_half_a_file_is_not_kept(server: WeightsServer, tmp_path: Path) -> None:
    server.pages["/net.bin"] = gives(CONTENT[:5000], Content__Length=str(len(CONTENT)))

    fault = refused(server, tmp_path)

    assert fault.verdict in (Verdict.INTERNAL_ERROR, Verdict.INVALID)


def overloaded(request: BaseHTTPRequestHandler) -> None:
    request.send_error(503)


@pytest.mark.attack(
    "weights_host_that_fails_in_lost_duels", family="supply", outcome="forfeited by its owner in the third try",
    tries="Lets its own web host fail whenever its weights are fetched for a duel that it would lose.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("host", "other_host_answers", "is_owners"),
    [("models.example", True, True), ("models.example", False, False), ("raw.githubusercontent.com", True, False)],
)
@pytest.mark.parametrize("hangs_up", [True, False])
def test_a_host_that_fails_is_its_owners_unless_it_serves_everybody_or_nothing_is_reached(
    server: WeightsServer, tmp_path: Path, host: str, other_host_answers: bool, is_owners: bool, hangs_up: bool
) -> None:
    """Nobody was blamed, so after three tries the duel was left out for good."""
    server.pages.pop("/net.bin", None)
    if not hangs_up:
        server.pages["/net.bin"] = overloaded
    store = server.store(tmp_path / "store", other_host_answers=other_host_answers)

    with pytest.raises(AgentFault) as caught:
        store.fetch([weights(CONTENT, url=f"https://{host}/net.bin")])

    assert (caught.value.verdict, isinstance(caught.value, RegistryFault)) == (Verdict.INTERNAL_ERROR, is_owners)


@pytest.mark.attack(
    "weights_host_that_fails_at_length", family="supply", outcome="is its owner's failure, which counts in the third try",
    tries="Answers with a line so long that the record of its failure is cut off before what makes its owner liable.",
)  # fmt: skip
@pytest.mark.parametrize("line", [b"A" * 5000, b"HTTP/9." + b"9" * 5000 + b" 999"])
def test_a_long_answer_does_not_hide_whose_host_failed(
    server: WeightsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    """Three such failures were ours: neither a try nor a quota was used up, whatever the seeds were."""
    server.pages["/net.bin"] = writes(line, b"\r\n\r\n")
    store = server.store(tmp_path / "store")
    monkeypatch.setattr(submission_folder, "WeightsCache", lambda: store)
    asked = order(assemble(blobs(MINE), SubmissionLimits()), world_of("CartPole-v1", 1), Limits())

    def opener(spec: sandbox.SandboxSpec) -> sandbox.Sandbox:
        raise AssertionError("nothing is started without its weights")

    failed = evaluate_agent(asked, SandboxKind.DOCKER, opener, lambda: datetime.now(UTC), lambda done: None).result
    entry, context = make.entry("mallory"), MeasurementContext(runtime_digest="0" * 64, beacon="test")
    (first,) = missing_work(make.challenge(), [entry], [], context, [])
    tries = [make.result(entry, key=first.wanted.key(), verdict=failed.verdict, unfetched=failed.unfetched)] * 2
    (last,) = missing_work(make.challenge(), [entry], tries, context, [])

    assert failed.verdict is Verdict.INTERNAL_ERROR
    assert isinstance(last, WorkItem)
    assert last.owner_liable


@pytest.mark.attack(
    "weights_that_their_owner_asks_for_too_often", family="supply", outcome="is its owner's failure",
    tries="Asks gitlab.com for its own file 300 times in a minute when its seeds are bad, so that it is refused to all.",
)  # fmt: skip
def test_a_host_that_counts_requests_by_file_can_be_made_to_fail_by_its_owner(server: WeightsServer, tmp_path: Path) -> None:
    """GitLab's limit on raw files is for each project and path, whoever asks: three such failures were ours."""
    server.pages["/alice/nets/-/raw/main/net.bin"] = lambda request: request.send_error(429)
    wanted = weights(CONTENT, url="https://gitlab.com/alice/nets/-/raw/main/net.bin")

    with pytest.raises(RegistryFault) as caught:
        server.store(tmp_path / "store").fetch([wanted])

    assert caught.value.asked_owner
    assert ASKED_AGAIN in str(caught.value)


@pytest.mark.attack(
    "weights_host_behind_a_common_one", family="supply", outcome="is its owner's",
    tries="Has a host that serves everybody redirect to its own web host, which then fails or is slow as it likes.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("target", "is_owners"), [("models.example", True), ("release-assets.githubusercontent.com", False), ("hf.co", False)]
)
def test_who_redirects_answers_for_where_the_files_come_from(
    server: WeightsServer, tmp_path: Path, target: str, is_owners: bool
) -> None:
    """The first host alone was looked at."""
    server.pages["/alice/nets/resolve/v3/net.bin"] = sends_to(f"https://{target}/there.bin")
    server.pages["/there.bin"] = overloaded
    store = server.store(tmp_path / "store")
    wanted = [weights(CONTENT, url="https://huggingface.co/alice/nets/resolve/v3/net.bin")]

    with pytest.raises(AgentFault) as caught:
        store.fetch(wanted)

    assert (caught.value.verdict, isinstance(caught.value, RegistryFault)) == (Verdict.INTERNAL_ERROR, is_owners)
    server.pages["/there.bin"] = gives(CONTENT)
    assert store.fetch(wanted) is is_owners


@pytest.mark.attack(
    "weights_behind_a_proxy_of_pictures", family="supply", outcome="are its owner's",
    tries="Names the proxy by which a common host shows strangers' pictures, or a bucket of its own, so that it decides "
    "when files arrive, or fail, and nobody waits for a full multiple of ten minutes.",
)  # fmt: skip
@pytest.mark.parametrize("redirects", [False, True])
@pytest.mark.parametrize(
    ("host", "is_owners"),
    [
        ("camo.githubusercontent.com", True), ("user-content.gitlab-static.net", True), ("storage.googleapis.com", True),
        ("mine.storage.googleapis.com", True), ("raw.githubusercontent.com", False), ("cas-bridge.xethub.hf.co", False),
        ("cdn.artifacts.gitlab-static.net", True),
    ],
)  # fmt: skip
def test_a_name_below_a_common_one_is_not_common_where_owners_serve_by_it(
    server: WeightsServer, tmp_path: Path, host: str, is_owners: bool, redirects: bool
) -> None:
    """Every name below githubusercontent.com, gitlab-static.net and storage.googleapis.com was taken for everybody's."""
    there = f"https://{host}/there.bin"
    if host.endswith(".hf.co") and not redirects:
        is_owners = True  # nobody but Hugging Face sends there
    server.pages["/alice/nets/resolve/v3/net.bin"] = sends_to(there)
    server.pages["/there.bin"] = overloaded
    store = server.store(tmp_path / "store")
    wanted = [weights(CONTENT, url="https://huggingface.co/alice/nets/resolve/v3/net.bin" if redirects else there)]

    with pytest.raises(AgentFault) as caught:
        store.fetch(wanted)

    assert (caught.value.verdict, isinstance(caught.value, RegistryFault)) == (Verdict.INTERNAL_ERROR, is_owners)
    server.pages["/there.bin"] = gives(CONTENT)
    assert store.fetch(wanted) is is_owners


@pytest.mark.attack(
    "weights_that_their_owner_makes_dear", family="supply", outcome="is its owner's failure",
    tries="Uses up its own budget of Git LFS, or has a common host compute what takes too long, on bad seeds.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("url", "is_owners"),
    [
        ("https://media.githubusercontent.com/media/alice/nets/v3/net.bin", True),
        ("https://github.com/alice/nets/compare/v2...main.patch", True),
        ("https://github.com/alice/nets/commit/v3.diff", True),
        ("https://github.com/alice/nets/raw/v3/net.bin", False),
        ("https://github.com/alice/nets/releases/download/v3/net.bin", False),
        ("https://huggingface.co/api/datasets/alice/nets/parquet", True),
        ("https://huggingface.co/api/datasets/raw/nets/parquet", True),
        ("https://zenodo.org/api/records/1/files-archive", True),
        ("https://huggingface.co/nets/resolve/v3/net.bin", False),
        ("https://huggingface.co/datasets/alice/nets/resolve/v3/net.bin", False),
        ("https://huggingface.co/api/resolve-cache/models/alice/nets/v3/net.bin?%2Falice%2Fnets%2Fresolve%2Fv3=", False),
        ("https://zenodo.org/records/1/files/net.bin?download=1", False),
        ("https://zenodo.org/api/records/1/files/net.bin/content", False),
    ],
)
def test_what_a_common_host_computes_or_counts_for_an_owner_is_the_owners(
    server: WeightsServer, tmp_path: Path, url: str, is_owners: bool
) -> None:
    """All of github.com was excused, and what it refuses to everybody once an owner's budget is used up."""
    path = "/" + url.split("/", 3)[3]
    server.pages[path] = overloaded
    store = server.store(tmp_path / "store")

    with pytest.raises(AgentFault) as caught:
        store.fetch([weights(CONTENT, url=url)])

    assert (caught.value.verdict, isinstance(caught.value, RegistryFault)) == (Verdict.INTERNAL_ERROR, is_owners)
    server.pages[path] = gives(CONTENT)
    assert store.fetch([weights(CONTENT, url=url)]) is is_owners


@pytest.mark.attack(
    "weights_by_a_delivery_name_that_fails", family="supply", outcome="is its owner's failure",
    tries="Names in the manifest a name by which a common host delivers its files: one below hf.co that does not exist, or "
    "an address of GitHub's that has expired, which GitHub answers with status 618.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("host", "is_owners"),
    [
        ("nothing.hf.co", True), ("release-assets.githubusercontent.com", True), ("cdn-lfs.huggingface.co", True),
        ("hf.co", False), ("raw.githubusercontent.com", False),
    ],
)  # fmt: skip
def test_who_names_where_a_common_host_delivers_from_answers_for_it(
    server: WeightsServer, tmp_path: Path, host: str, is_owners: bool
) -> None:
    """Three such failures were ours, and neither a try nor a quota was used up, whatever the seeds were."""
    server.pages["/net.bin"] = writes(b"HTTP/1.1 618 jwt:expired\r\nContent-Length: 0\r\n\r\n")
    https = server.https()

    def lookup(host: str, port: int) -> list[str]:
        if host == "nothing.hf.co":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return https.resolve(host, port)

    store = server.store(tmp_path / "store", replace(https, resolve=lookup))

    with pytest.raises(AgentFault) as caught:
        store.fetch([weights(CONTENT, url=f"https://{host}/net.bin")])

    assert (caught.value.verdict, isinstance(caught.value, RegistryFault)) == (Verdict.INTERNAL_ERROR, is_owners)


class Clock:
    """A clock that the owner's server moves, instead of `time`."""

    def __init__(self) -> None:
        self.now = 1_700_000_100.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.attack(
    "plan_in_the_time_of_arrival", family="supply", outcome="starts at a full multiple of ten minutes",
    tries="Serves its files in the second that tells its agent, by the clock, how to play the seeds that are known by then.",
)  # fmt: skip
def test_the_second_in_which_files_arrive_tells_an_agent_nothing(
    server: WeightsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, started = Clock(), []
    monkeypatch.setattr(sandbox, "time", clock)

    def opener(spec: sandbox.SandboxSpec) -> sandbox.Sandbox:
        started.append(clock.now)
        assert spec.waits_for_slot
        raise AgentFault(Verdict.CRASHED, "that is all")

    def started_after(delay: float) -> float:
        def late(request: BaseHTTPRequestHandler) -> None:
            clock.now += delay
            gives(CONTENT)(request)

        server.pages["/net.bin"] = late
        store = server.store(tmp_path / f"{delay}")
        monkeypatch.setattr(submission_folder, "WeightsCache", lambda: store)
        clock.now = 1_700_000_100.0
        asked = order(assemble(blobs(MINE), SubmissionLimits()), world_of("CartPole-v1", 1), Limits())
        wanted = replace(asked, tier=Tier.OFFICIAL)
        evaluate_agent(wanted, SandboxKind.DOCKER, opener, lambda: datetime.now(UTC), lambda done: None)
        return started[-1]

    assert {started_after(delay) for delay in (1.0, 7.0, 250.0)} == {1_700_000_400.0}


@pytest.mark.attack(
    "plan_in_the_times_of_its_files", family="supply", outcome="written after the wait",
    tries="Reads in the times of its own files when its owner's host gave them, though it starts at a full multiple of ten "
    "minutes.",
)  # fmt: skip
def test_the_times_of_its_files_do_not_tell_an_agent_when_they_arrived(
    server: WeightsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    before: list[list[Path]] = []

    class WatchingClock(Clock):
        def sleep(self, seconds: float) -> None:
            before.append([path for path in rooms.rglob("*") if path.is_file()])
            super().sleep(seconds)

    def opener(spec: sandbox.SandboxSpec) -> sandbox.Sandbox:
        assert (spec.folder / "net.bin").read_bytes() == CONTENT
        raise AgentFault(Verdict.CRASHED, "that is all")

    monkeypatch.setattr(sandbox, "time", WatchingClock())
    monkeypatch.setattr(tempfile, "tempdir", str(rooms))
    server.pages["/net.bin"] = gives(CONTENT)
    store = server.store(tmp_path / "store")
    monkeypatch.setattr(submission_folder, "WeightsCache", lambda: store)
    asked = order(assemble(blobs(MINE), SubmissionLimits()), world_of("CartPole-v1", 1), Limits())
    wanted = replace(asked, tier=Tier.OFFICIAL)

    ended = evaluate_agent(wanted, SandboxKind.DOCKER, opener, lambda: datetime.now(UTC), lambda done: None)

    assert ended.result.verdict is Verdict.CRASHED, ended.result.message
    assert before == [[]]


@pytest.mark.attack(
    "plan_in_the_time_of_a_failure", family="supply", outcome="ends at a full multiple of ten minutes",
    tries="Lets the files of a second agent fail in the second at which the next one on the machine, which fetches nothing, "
    "is to start: that one reads in the clock how to play its final draw.",
)  # fmt: skip
@pytest.mark.parametrize(
    ("url", "page", "waits_for_slot"),
    [
        ("https://models.example/net.bin", overloaded, True),
        ("https://models.example/net.bin", gives(CONTENT[:-1] + b"x"), True),
        ("https://models.example/missing.bin", overloaded, True),
        ("https://huggingface.co/alice/nets/resolve/v3/net.bin", sends_to("https://elsewhere.example/missing.bin"), True),
        ("https://huggingface.co/alice/nets/resolve/v3/net.bin", overloaded, False),
    ],
)  # fmt: skip
def test_the_second_in_which_files_fail_tells_the_next_agent_nothing(
    server: WeightsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, page: Answer, waits_for_slot: bool
) -> None:
    clock = Clock()
    monkeypatch.setattr(sandbox, "time", clock)

    def opener(spec: sandbox.SandboxSpec) -> sandbox.Sandbox:
        raise AssertionError

    def ended_after(delay: float) -> float:
        def late(request: BaseHTTPRequestHandler) -> None:
            clock.now += delay
            page(request)

        server.pages |= {urlsplit(url).path: late, "/missing.bin": lambda request: request.send_error(404)}
        store = server.store(tmp_path / f"{delay}")
        monkeypatch.setattr(submission_folder, "WeightsCache", lambda: store)
        clock.now = 1_700_000_100.0
        asked = order(assemble(blobs(weights(CONTENT, url=url)), SubmissionLimits()), world_of("CartPole-v1", 1), Limits())
        wanted = replace(asked, tier=Tier.OFFICIAL)
        evaluate_agent(wanted, SandboxKind.DOCKER, opener, lambda: datetime.now(UTC), lambda done: None)
        return clock.now

    ends = {ended_after(delay) for delay in (1.0, 7.0, 90.0)}

    assert (len(ends) == 1, {end % sandbox.START_SLOT_SECONDS for end in ends} == {0.0}) == (waits_for_slot, waits_for_slot)


@pytest.mark.attack(
    "weights_copy_changed", family="supply", outcome="the copy is refused and removed",
    tries="Changes the kept copy on the machine after it was checked, as an escaped agent might.",
)  # fmt: skip
def test_a_copy_that_was_changed_is_never_used(
    server: WeightsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pages["/net.bin"] = gives(CONTENT)
    store = server.store(tmp_path / "store")
    monkeypatch.setattr(submission_folder, "WeightsCache", lambda: store)
    store.fetch([MINE])
    store.path(MINE.sha256).write_bytes(b"\0" * len(CONTENT))
    room = tmp_path / "room"
    room.mkdir()

    with pytest.raises(AgentFault, match="damaged"):
        stage(assemble(blobs(MINE), SubmissionLimits()), room)

    stage(assemble(blobs(MINE), SubmissionLimits()), room)
    assert (room / "net.bin").read_bytes() == CONTENT


@pytest.mark.attack(
    "weights_address_that_deceives", family="supply", outcome="refused with the manifest's line",
    tries="Writes an address with a user, a port, a number, letters that look like others, a token, or no https.",
)  # fmt: skip
@pytest.mark.parametrize(
    "url",
    ["https://github.com@evil.example/x", "https://user:pass@models.example/x", "https://models.example:8443/x",
     "https://127.0.0.1/x", "https://2130706433/x", "https://[::1]/x", "https://localhost/x", "https://gıthub.com/x",
     "https://xn--gthub-n4a.com/x", "http://models.example/x", "file:///etc/passwd", "https://models.example/x#y",
     "https://models.example/x?X-Amz-Signature=1", "https://models.example/x?token=1", "https://models.example/x?jwt=1", "https://models.example\\@evil/x",
     "https://models.example/x\r\nHost: evil", "https://models.example/" + "x" * 1000, "HTTPS://models.example/x"],
)  # fmt: skip
def test_an_address_that_deceives_is_refused_with_its_line(url: str) -> None:
    with pytest.raises(LoadError) as caught:
        parse_submission(manifest({**MINE.model_dump(), "url": url}))

    assert caught.value.lines[0].startswith("submission.yml:")


@pytest.mark.attack(
    "weights_name_that_leaves", family="supply", outcome="refused in one line",
    tries="Gives a fetched file a name outside its folder, of git's own, of a file that lies there, or of code.",
)  # fmt: skip
@pytest.mark.parametrize(
    "name",
    ["../agent.py", "/etc/passwd", "a/../../b", ".git/config", "agent.py", "Agent.PY", "submission.yml", "agent.py/x",
     "data", "helper.py", "x.pyc", "con", "a\\b", "~root", "a/b/c/d/e/f/g"],
)  # fmt: skip
def test_a_name_that_is_not_the_files_own_is_refused(name: str) -> None:
    with pytest.raises(LoadError) as caught:
        assemble(blobs(weights(CONTENT, file=name), data__table=b"1"), SubmissionLimits())

    assert len(caught.value.lines) == 1


@pytest.mark.attack(
    "weights_twice_in_one_place", family="supply", outcome="refused in one line",
    tries="Names two fetched files that are one, so that the second replaces the first.",
)  # fmt: skip
@pytest.mark.parametrize("second", ["net.bin", "NET.bin", "net.bin/x"])
def test_two_fetched_files_in_one_place_are_refused(second: str) -> None:
    with pytest.raises(LoadError):
        assemble(blobs(MINE, weights(b"other", file=second)), SubmissionLimits())


@pytest.mark.attack(
    "weights_of_a_huge_size", family="supply", outcome="refused by the sum, nothing fetched",
    tries="Says that its files have more bytes than a machine holds, alone or together.",
)  # fmt: skip
def test_what_is_too_large_together_is_refused_before_it_is_fetched() -> None:
    half = [weights(CONTENT, file=f"net{index}", bytes=129 << 20) for index in range(2)]
    for wanted in ([weights(CONTENT, bytes=1 << 62)], half):
        with pytest.raises(LoadError, match=r"MiB of at most 256"):
            assemble(blobs(*wanted), SubmissionLimits())
    with pytest.raises(LoadError):
        parse_submission(manifest({**MINE.model_dump(), "bytes": 0}))
    with pytest.raises(LoadError, match="at most 0"):
        assemble(blobs(MINE), SubmissionLimits(weights_mib=0))


def test_the_digest_is_of_the_bytes_and_the_name_and_not_of_the_address() -> None:
    def digest(*files: WeightsFile) -> str:
        return assemble(blobs(*files), SubmissionLimits()).digest

    other = weights(b"other bytes", file="other.bin")

    assert digest(MINE) == digest(weights(CONTENT, path="/moved?to=2"))
    assert digest(MINE, other) == digest(other, MINE)
    assert len({digest(), digest(MINE), digest(weights(CONTENT, file="b")), digest(weights(b"x" + CONTENT))}) == 4
    # As it was before there were `weights`.
    assert digest() == "aa8a3ddf47ef446532e12f3222d59a37ef4aa97c7f5abc3e57d4f7d4dcd8c168"


@pytest.mark.attack(
    "weights_beyond_the_quota", family="supply", outcome="kept for versions that were measured, no others",
    tries="Brings hundreds of agents with large weights by one merge: copies of all fill the board's repository.",
)  # fmt: skip
def test_only_of_measured_versions_are_copies_kept(tmp_path: Path) -> None:
    files = {name: weights(name.encode()) for name in ("accepted", "recorded", "failed", "waiting", "late")}
    folders = [agent_files("mallory", name, manifest=manifest(one)) for name, one in files.items()]
    clone = make_board(tmp_path, {path: content for folder in folders for path, content in folder.items()})
    entries = {one.agent: one for one in read_entries(clone.repository, clone.head, parse_challenge(CHALLENGE))[0]}
    ours = make.result(entries["failed"], on=(task := make.task()), verdict="internal_error")
    before = [make.result(entries["recorded"], (1.0,), on=task), ours]
    names = [f"{before[0].path()}.json", f"{ours.path()}.try1.json"]
    with open_branches(clone.repository, "1") as branches:
        recorded = tuple((name, one.serialised()) for name, one in zip(names, before, strict=True))
        results_sha = branches.build(None, BranchCommit(message="record", files=recorded), datetime.now(UTC))
        branches.push({"results": results_sha})
    record_store(tmp_path).write(make.result(entries["accepted"], (1.0,), on=task), None)
    round_of = ShardAssignment(sha=clone.head, results_sha=results_sha, shards=1)

    kept = weights_to_keep(open_run(clone), round_of, tmp_path, entries.values())

    assert kept == [files["accepted"], files["recorded"]]
    assert weights_to_keep(open_run(clone), round_of, tmp_path, ()) == []


def test_copies_are_kept_of_what_stood_at_the_end_though_main_has_something_else_now(tmp_path: Path) -> None:
    """The final draws are of these versions, and are played again by anybody who verifies them."""
    clone = make_board(tmp_path, agent_files("mallory", manifest=manifest(MINE)))
    rules = CHALLENGE + b'final: "1"\n'
    clone.commit({"challenge.yml": rules})
    clone.commit(dict.fromkeys(agent_files("mallory")))

    (entry,) = evaluated_agents(clone.repository, clone.head, parse_challenge(rules))

    assert entry.submission.weights == (MINE,)
