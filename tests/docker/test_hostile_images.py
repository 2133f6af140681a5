"""Images that mean harm: each ends in a clear verdict, soon, and leaves nothing behind."""

import dataclasses
import gzip
import io
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.host.docker import agent_image
from evaluator.host.docker.container_options import UIDS
from evaluator.host.docker.engine import Engine
from evaluator.host.duels.evaluate_duel import evaluate_duel
from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes import docker_sandbox
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from evaluator.host.usage import MIB
from evaluator.model.config.image_reference import parse_reference
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import ASKED_AGAIN, Tier
from evaluator.model.records.verdict import Verdict
from tests import evaluations
from tests.docker.hub import INDEX, Hub, layer, need, running
from tests.docker.test_image_agents import folder_of
from tests.hostile.arena import our_containers, over_standard_streams

pytestmark = pytest.mark.docker
LIMITS = Limits(memory_mib=64, cpu_seconds=10, start_seconds=60, log_kib=16)
HASTY = LIMITS.model_copy(update={"start_seconds": 2})
# It must have connected by then.
MUTE = LIMITS.model_copy(update={"start_seconds": 12})
TASK = Task(id="CartPole-v1", episodes=2)
MISFIT = Path(__file__).with_name("misfit.c")
GIB = 1 << 30


@pytest.fixture(scope="module")
def hub(engine: Engine) -> Iterator[Hub]:
    need("gcc")
    with running() as server:
        yield server
    agent_image.trim_images(engine, 0)


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


@pytest.fixture(scope="module")
def misfit(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    made = tmp_path_factory.mktemp("misfit") / "misfit"
    subprocess.run(["gcc", "-O1", "-static", "-w", "-o", str(made), str(MISFIT)], check=True)
    return layer(misfit=made.read_bytes())


def ended(entry: str, chosen: SelectedSandbox, limits: Limits = LIMITS, image_mib: int = 64, task: Task = TASK) -> Result:
    order = evaluations.order(folder_of(entry, image_mib=image_mib), task, limits=limits)
    return evaluations.evaluate(order, chosen).result


@pytest.mark.attack(
    "image_that_ignores_the_protocol",
    family="images",
    tries="Is an image whose entrypoint babbles, sleeps, stays mute, floods its output or leaves.",
    outcome="protocol_error, timeout, output_limit or crashed",
)
@pytest.mark.parametrize(
    ("does", "limits", "verdict", "message"),
    [
        ("babble", LIMITS, Verdict.PROTOCOL_ERROR, "the first frame has opcode"),
        ("sleep", HASTY, Verdict.TIMEOUT, "the image's entrypoint did not connect to PULLRANK_CHANNEL within 2 s"),
        ("mute", MUTE, Verdict.TIMEOUT, "the agent was not ready in time"),
        ("flood", LIMITS, Verdict.OUTPUT_LIMIT, "the agent printed more than 16 KiB"),
        ("leave", LIMITS, Verdict.CRASHED, "ended with exit code 4"),
    ],
)
@pytest.mark.parametrize("box", ["docker", "gvisor"])
def test_an_image_that_ignores_the_protocol(
    does: str, limits: Limits, verdict: Verdict, message: str, box: str, misfit: bytes, hub: Hub,
    engine: Engine, request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    entry = hub.image("mallory/misfit", [misfit], {"Entrypoint": ["/misfit", does]})
    begun = time.monotonic()

    result = ended(entry, request.getfixturevalue(box), limits)

    assert result.verdict is verdict, result.message
    assert message in result.message
    assert time.monotonic() - begun < 120
    assert our_containers(engine) == []


@pytest.mark.attack(
    "image_that_babbles_on_standard_output",
    family="images",
    tries="Is an image that prints where the channel is standard output.",
    outcome="protocol_error",
)
def test_babble_on_standard_output(misfit: bytes, hub: Hub, engine: Engine) -> None:
    entry = hub.image("mallory/misfit", [misfit], {"Entrypoint": ["/misfit", "flood"]})

    assert ended(entry, over_standard_streams(engine)).verdict is Verdict.PROTOCOL_ERROR


@pytest.mark.attack(
    "image_whose_registry_fails_when_the_next_is_to_start",
    family="images",
    tries="Lets its own registry fail in the second in which the next agent on the machine is to read the clock.",
    outcome="ends at a full multiple of ten minutes",
)
def test_a_registry_that_fails_does_not_choose_when_the_next_begins(
    docker: SelectedSandbox, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[None] = []
    monkeypatch.setattr(docker_sandbox, "wait_for_start_slot", lambda: waits.append(None))
    entry = hub.image("mallory/gone", [layer(file=b"x")], {"Entrypoint": ["/x"]}).partition("@")[0] + "@sha256:" + "1" * 64
    order = evaluations.order(folder_of(entry, image_mib=64), TASK, limits=LIMITS)

    assert evaluations.evaluate(order, docker).result.verdict is Verdict.INVALID
    assert waits == []
    assert evaluations.evaluate(dataclasses.replace(order, tier=Tier.OFFICIAL), docker).result.verdict is Verdict.INVALID
    assert waits == [None]


@pytest.mark.attack(
    "image_whose_files_tell_when_it_arrived",
    family="images",
    tries="Reads in the times of its image's files when its owner's registry gave them, to be told how to play.",
    outcome="unpacked after the wait",
)
def test_the_times_of_its_files_do_not_tell_an_image_when_it_arrived(
    docker: SelectedSandbox, engine: Engine, hub: Hub, misfit: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = hub.image("mallory/late", [misfit, layer(late=b"late")], {"Entrypoint": ["/misfit", "leave"]})
    here: list[str | None] = []
    name = agent_image.local_name(parse_reference(entry))
    monkeypatch.setattr(docker_sandbox, "wait_for_start_slot", lambda: here.append(engine.image_id(name)))
    order = dataclasses.replace(evaluations.order(folder_of(entry, image_mib=64), TASK, limits=LIMITS), tier=Tier.OFFICIAL)

    assert evaluations.evaluate(order, docker).result.verdict is Verdict.CRASHED
    assert here == [None]
    assert evaluations.evaluate(order, docker).result.verdict is Verdict.CRASHED  # it is here now
    assert here == [None]


@pytest.mark.attack(
    "image_without_a_program",
    family="images",
    tries="Is an image whose entrypoint does not exist or is no program.",
    outcome="crashed",
)
@pytest.mark.parametrize("box", ["docker", "gvisor"])
@pytest.mark.parametrize("entrypoint", [["/no/such/program"], ["relative"], ["/plain"]])
def test_an_entrypoint_that_cannot_be_run(entrypoint: list[str], box: str, hub: Hub, request: pytest.FixtureRequest) -> None:
    entry = hub.image("mallory/none", [layer(plain=b"\x00not a program")], {"Entrypoint": entrypoint})

    result = ended(entry, request.getfixturevalue(box))

    assert result.verdict is Verdict.CRASHED, result.message
    assert result.message.startswith("the image's entrypoint cannot be run (exit code 12"), result.message


@pytest.mark.attack(
    "image_that_asks_for_more",
    family="images",
    tries="Is an image whose configuration asks for root, volumes, health checks, ports and another channel.",
    outcome="crashed; nothing of it is given",
)
@pytest.mark.parametrize("box", ["docker", "gvisor"])
def test_what_a_configuration_asks_for_is_not_given(
    box: str, misfit: bytes, hub: Hub, engine: Engine, request: pytest.FixtureRequest
) -> None:
    extra = layer(
        data__here=b"", etc__passwd=b"root:x:0:0::/:\nnobody:x:65534:65534::/:\n",
        etc__group=b"root:x:0:nobody\ndocker:x:999:nobody\n",
    )  # fmt: skip
    config = {
        "Entrypoint": ["/misfit", "look"], "User": "0:0", "Volumes": {"/data": {}, "/x": {}}, "WorkingDir": "/work",
        "Env": ["PULLRANK_CHANNEL=/else", "HOME=/root", "OWN=kept", "LD_PRELOAD=/evil.so"],
        "Healthcheck": {"Test": ["CMD", "/misfit", "flood"], "Interval": 1000000},
        "Labels": {"org.pullrank.owner": "{}"}, "ExposedPorts": {"80/tcp": {}}, "StopSignal": "SIGKILL",
        "OnBuild": ["RUN x"],
    }  # fmt: skip
    result = ended(hub.image("mallory/asks", [misfit, extra], config), request.getfixturevalue(box))

    lines = result.log_tail.split("\n")
    assert (result.verdict, "exit code 3" in result.message) == (Verdict.CRASHED, True), result
    uid = lines[0].split()[1]
    assert int(uid) in UIDS
    assert [line.split() for line in lines[:4]] == [
        ["Uid:", *[uid] * 4], ["Gid:", *[uid] * 4], ["Groups:", uid], ["CapEff:", "0" * 16],
    ]  # fmt: skip
    assert lines[4] == "channel=/channel/agent.sock home=/tmp own=kept"
    assert lines[5:11] == [
        "/data/x refused", "/x refused", "/submission/x refused", "/channel/x refused", "/tmp/x WRITTEN", "in /work",
    ]  # fmt: skip


@pytest.mark.attack(
    "image_that_labels_itself",
    family="images",
    tries="Is an image that brings labels and volumes by which the evaluator knows its own containers.",
    outcome="the engine keeps only command, folder and environment",
)
def test_the_engine_keeps_nothing_of_their_configuration(misfit: bytes, hub: Hub, engine: Engine) -> None:
    entry = hub.image(
        "mallory/kept", [misfit], {"Cmd": ["/misfit"], "Volumes": {"/v": {}}, "User": "0", "Labels": {"a": "b"}}
    )

    config = engine._api.inspect_image(agent_image.ensure_agent_image(engine, parse_reference(entry), 64))["Config"]

    assert {name: value for name, value in config.items() if value} == {
        "Cmd": ["/misfit"], "WorkingDir": "/", **({"Env": config["Env"]} if config.get("Env") else {}),
    }  # fmt: skip


def refused(entry: str, chosen: SelectedSandbox, engine: Engine, **options: Any) -> str:
    """The message of an image that is not even unpacked."""
    begun = time.monotonic()
    result = ended(entry, chosen, **options)
    assert result.verdict is Verdict.INVALID, (result.verdict, result.message)
    assert time.monotonic() - begun < 100
    assert engine.image_id(agent_image.local_name(parse_reference(entry))) is None
    return result.message


@pytest.mark.attack(
    "image_of_20_gigabytes",
    family="images",
    tries="Is an image whose manifest announces 20 GB.",
    outcome="invalid; nothing is fetched",
)
def test_20_gb_by_the_manifest(hub: Hub, docker: SelectedSandbox, engine: Engine) -> None:
    def lie(config: Any, manifest: Any) -> None:
        manifest["layers"][0]["size"] = 20 * GIB

    entry = hub.image("mallory/large", [layer(a=b"a")], {"Cmd": ["/a"]}, lie)

    message = refused(entry, docker, engine, image_mib=4096)
    assert (
        message == "the image has 20480 MiB in its registry, the limit is 4096 MiB; leave out what the agent does not need"
    )


@pytest.mark.attack(
    "image_larger_than_announced",
    family="images",
    tries="Is an image with more bytes than its manifest announces.",
    outcome="invalid",
)
def test_a_manifest_that_announces_less_than_there_is(hub: Hub, docker: SelectedSandbox, engine: Engine) -> None:
    def lie(config: Any, manifest: Any) -> None:
        manifest["layers"][0]["size"] = 100

    entry = hub.image("mallory/small", [layer(a=os.urandom(5000))], {"Cmd": ["/a"]}, lie)

    assert "more bytes than the image's manifest announces" in refused(entry, docker, engine)


@pytest.mark.attack(
    "image_that_unpacks_to_more",
    family="images",
    tries="Is an image whose small layer unpacks to more than the limit.",
    outcome="invalid; nothing is unpacked",
)
def test_a_layer_that_unpacks_to_gigabytes(hub: Hub, docker: SelectedSandbox, engine: Engine) -> None:
    entry = hub.image("mallory/bomb", [layer(a=bytes(200 << 20))], {"Cmd": ["/a"]})

    message = refused(entry, docker, engine, image_mib=64)
    assert message == (
        "a layer of the image unpacks to more than the limit of the whole image; leave out what the agent does not need"
    )


def sparse(kind: str) -> bytes:
    """A file of 20 GiB without a byte in it."""
    member = tarfile.TarInfo("hole")
    if kind == "old":
        member.type = tarfile.GNUTYPE_SPARSE
        header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
        header[483:495] = b"%011o\0" % (20 * GIB)
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        return bytes(header) + bytes(1024)
    member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(20 * GIB)}
    return member.tobuf(tarfile.PAX_FORMAT) + bytes(1024)


@pytest.mark.attack(
    "image_with_a_sparse_file",
    family="images",
    tries="Is an image with a file of 20 GB that takes no bytes in its layer.",
    outcome="invalid",
)
@pytest.mark.parametrize("kind", ["old", "pax"])
def test_a_sparse_layer_of_20_gb(kind: str, hub: Hub, docker: SelectedSandbox, engine: Engine) -> None:
    entry = hub.image("mallory/sparse", [sparse(kind)], {"Cmd": ["/hole"]})

    assert "holds a sparse file" in refused(entry, docker, engine, image_mib=4096)


@pytest.mark.attack(
    "image_of_other_layers",
    family="images",
    tries="Is an image whose layers are others than its configuration names.",
    outcome="invalid",
)
def test_layers_that_are_not_what_the_configuration_says(hub: Hub, docker: SelectedSandbox, engine: Engine) -> None:
    def lie(config: Any, manifest: Any) -> None:
        config["rootfs"]["diff_ids"][0] = "sha256:" + "0" * 64

    entry = hub.image("mallory/liar", [layer(a=b"a")], {"Cmd": ["/a"]}, lie)

    assert "holds something else than the image's configuration says" in refused(entry, docker, engine)


@pytest.mark.attack(
    "image_of_another_platform",
    family="images",
    tries="Is an image for another processor.",
    outcome="invalid",
)
def test_another_platform(hub: Hub, docker: SelectedSandbox, engine: Engine) -> None:
    def other(config: Any, manifest: Any) -> None:
        config["architecture"] = "riscv64"

    entry = hub.image("mallory/risc", [layer(a=b"a")], {"Cmd": ["/a"]}, other)

    here = engine.platform
    message = f"the image is for linux/riscv64, and this board runs {here}; build it with '--platform {here}'"
    assert refused(entry, docker, engine) == message


def test_a_list_of_platforms_is_looked_up(hub: Hub, docker: SelectedSandbox, engine: Engine, misfit: bytes) -> None:
    inner = hub.image("mallory/many", [misfit], {"Entrypoint": ["/misfit", "leave"]})
    system, _, machine = engine.platform.partition("/")
    item = {
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "size": 1,
        "digest": inner.partition("@")[2],
    }
    entry = hub.manifest(
        "mallory/many", {"mediaType": INDEX, "manifests": [{**item, "platform": {"os": system, "architecture": machine}}]}
    )

    assert "exit code 4" in ended(entry, docker).message


@pytest.mark.attack(
    "image_of_an_odd_configuration",
    family="images",
    tries="Is an image whose command, environment or folder has another form than an engine expects.",
    outcome="invalid",
)
@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "neither ENTRYPOINT nor CMD"),
        ({"Cmd": "a string"}, "whose Cmd is not a list of words"),
        ({"Cmd": ["/a", 1]}, "whose Cmd is not a list of words"),
        ({"Cmd": ["/a"], "Env": ["x"]}, "an ENV without a name or a value"),
        ({"Cmd": ["/a"], "WorkingDir": "up"}, "a WORKDIR that is not an absolute path"),
        ({"Cmd": ["/a"], "WorkingDir": "/a" * 200}, "a WORKDIR of more than 255 bytes"),
    ],
)
def test_a_configuration_that_cannot_be_run(
    config: Any, message: str, hub: Hub, docker: SelectedSandbox, engine: Engine
) -> None:
    assert message in refused(hub.image("mallory/odd", [layer(a=b"a")], config), docker, engine)


@pytest.mark.attack(
    "image_of_countless_variables",
    family="images",
    tries="Is an image of so many variables that the engine, which compares each with all others, is busy for many minutes.",
    outcome="invalid",
)
def test_more_variables_than_an_engine_should_compare(hub: Hub, docker: SelectedSandbox, engine: Engine) -> None:
    config = {"Cmd": ["/a"], "Env": [f"{number}=" for number in range(90_000)]}

    assert "Env has 90000 words" in refused(hub.image("mallory/odd", [layer(a=b"a")], config), docker, engine)


def entries(*members: tuple[str, bytes, str]) -> bytes:
    """A layer of entries without content: name, kind and what they link to."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, target in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            tar.addfile(member)
    return buffer.getvalue()


@pytest.mark.attack(
    "image_whose_list_of_users_never_ends",
    family="images",
    tries="Is an image whose /etc/passwd is a pipe, a device or gigabytes: the engine reads it itself, and waits for ever.",
    outcome="never read: a list of ours lies above it",
)
@pytest.mark.parametrize("name", ["etc/passwd", "etc/group"])
@pytest.mark.parametrize("kind", [tarfile.DIRTYPE, tarfile.SYMTYPE])
@pytest.mark.parametrize("box", ["docker", "gvisor"])
def test_the_engine_reads_no_list_of_users_of_an_image(
    name: str, kind: bytes, box: str, misfit: bytes, hub: Hub, request: pytest.FixtureRequest
) -> None:
    # Not a pipe or a device: if this test failed, only a restart of the engine would end it.
    unreadable = entries((name, kind, f"/{name}" if kind == tarfile.SYMTYPE else ""))
    entry = hub.image("mallory/users", [misfit, unreadable], {"Entrypoint": ["/misfit", "leave"]})

    assert "ended with exit code 4" in ended(entry, request.getfixturevalue(box)).message


@pytest.mark.attack(
    "image_that_no_engine_unpacks",
    family="images",
    tries="Is an image with a link to nothing, a removal of the root or a folder that leads in circles, to be our failure.",
    outcome="invalid",
)
@pytest.mark.parametrize(
    ("upper", "where"),
    [
        (entries(("a", tarfile.LNKTYPE, "nothing")), "/"),
        (entries((".wh..", tarfile.REGTYPE, "")), "/"),
        (entries(("n" * 300, tarfile.DIRTYPE, "")), "/"),
        (entries(("circle", tarfile.SYMTYPE, "/circle")), "/circle"),
        (b"", "/submission/below"),
        (b"", "/sys/below"),
    ],
)
def test_what_cannot_be_unpacked_or_entered_is_the_images_fault(
    upper: bytes, where: str, misfit: bytes, hub: Hub, docker: SelectedSandbox, engine: Engine
) -> None:
    result = ended(hub.image("mallory/odd", [misfit, upper], {"Cmd": ["/misfit"], "WorkingDir": where}), docker)

    assert result.verdict is Verdict.INVALID, result.message
    assert "the image cannot be started" in result.message
    assert our_containers(engine) == []


def test_the_engine_unpacks_files_folders_and_links_only(hub: Hub, engine: Engine) -> None:
    special = entries(("console", tarfile.CHRTYPE, ""), ("pipe", tarfile.FIFOTYPE, ""), ("l", tarfile.SYMTYPE, "/a"))
    entry = hub.image("mallory/special", [layer(a=b"a", d__b=b"b"), special], {"Cmd": ["/a"]})

    container = engine._api.create_container(agent_image.ensure_agent_image(engine, parse_reference(entry), 64))
    try:
        with tarfile.open(fileobj=io.BytesIO(b"".join(engine._api.export(container)))) as tar:
            kinds = {member.name: member.type for member in tar}
    finally:
        engine._api.remove_container(container)
    expected = {"a": tarfile.REGTYPE, "d": tarfile.DIRTYPE, "d/b": tarfile.REGTYPE, "l": tarfile.SYMTYPE}
    assert expected.items() <= kinds.items()
    assert not {"console", "pipe"} & kinds.keys()


@pytest.mark.attack(
    "image_whose_folder_is_a_file",
    family="images",
    tries="Is an image whose working folder is a file or the channel.",
    outcome="invalid or crashed",
)
@pytest.mark.parametrize("config", [{"Cmd": ["/a"], "WorkingDir": "/a"}, {"Cmd": ["/a"], "WorkingDir": "/channel"}])
def test_a_place_that_is_something_else_is_the_images_fault(
    config: Any, hub: Hub, docker: SelectedSandbox, engine: Engine
) -> None:
    result = ended(hub.image("mallory/place", [layer(a=b"a")], config), docker)

    assert result.verdict in (Verdict.INVALID, Verdict.CRASHED), (result.verdict, result.message)
    assert our_containers(engine) == []


@pytest.mark.attack(
    "image_with_linked_mount_points",
    family="images",
    tries="Is an image in which the channel, the submission and /tmp are links to other places.",
    outcome="crashed or invalid; nothing outside is written",
)
def test_mount_points_that_lead_elsewhere(hub: Hub, docker: SelectedSandbox, misfit: bytes) -> None:
    targets = {"channel": "/../../../../tmp", "submission": "/proc/1/root", "tmp": "/etc"}
    links = entries(*((name, tarfile.SYMTYPE, target) for name, target in targets.items()))
    entry = hub.image("mallory/links", [misfit, links], {"Entrypoint": ["/misfit", "look"]})

    result = ended(entry, docker)

    assert result.verdict in (Verdict.CRASHED, Verdict.INVALID), (result.verdict, result.message)
    assert not Path("/tmp/agent.sock").exists()


@pytest.mark.attack(
    "image_with_pipes_at_mount_points",
    family="images",
    tries="Is an image with a pipe at the channel, the submission and /tmp, at which gVisor fails as if by itself.",
    outcome="never seen: folders of ours lie above them",
)
@pytest.mark.parametrize("box", ["docker", "gvisor"])
def test_folders_of_ours_lie_above_mount_points(box: str, hub: Hub, misfit: bytes, request: pytest.FixtureRequest) -> None:
    pipes = entries(*((name, tarfile.FIFOTYPE, "") for name in ("channel", "submission", "tmp")))
    entry = hub.image("mallory/pipes", [misfit, pipes], {"Entrypoint": ["/misfit", "leave"]})

    assert "ended with exit code 4" in ended(entry, request.getfixturevalue(box)).message


@pytest.mark.attack(
    "image_at_which_gvisor_fails",
    family="images",
    tries="Has a folder at /sbin/docker-init or /etc/hostname, or an open file as WORKDIR: gVisor fails as if by itself.",
    outcome="invalid, or forfeited by its owner in the third try",
)
@pytest.mark.parametrize(
    ("folder", "where"), [("sbin/docker-init", "/"), ("etc/hostname", "/"), ("folder", "/proc/self/fd/7")]
)
@pytest.mark.parametrize("box", ["docker", "gvisor"])
def test_where_only_its_own_image_fails_it_is_the_owners_fault(
    folder: str, where: str, box: str, hub: Hub, misfit: bytes, engine: Engine, request: pytest.FixtureRequest
) -> None:
    config = {"Entrypoint": ["/misfit", "leave"], "WorkingDir": where}
    entry = hub.image("mallory/folder", [misfit, entries((folder, tarfile.DIRTYPE, ""))], config)
    order = evaluations.order(folder_of(entry, image_mib=64), TASK, limits=LIMITS)
    chosen = request.getfixturevalue(box)

    result = evaluations.evaluate(order, chosen).result
    last = evaluations.evaluate(dataclasses.replace(order, owner_liable=True), chosen).result

    assert result.verdict is Verdict.INVALID or ASKED_AGAIN in result.message, result.message
    assert last.verdict in (Verdict.INVALID, Verdict.TIMEOUT), last.message
    assert "the image cannot be started" in last.message
    assert our_containers(engine) == []


def test_what_is_not_there_or_not_for_everybody(hub: Hub, docker: SelectedSandbox, engine: Engine) -> None:
    entry = f"{hub.address}/nobody/nothing@sha256:{'1' * 64}"

    assert "to nobody without an account, or has no such image" in refused(entry, docker, engine)


def test_a_registry_that_is_not_there_is_asked_again(docker: SelectedSandbox) -> None:
    result = ended(f"127.0.0.1:9/nobody/nothing@sha256:{'1' * 64}", docker)

    assert (result.verdict, result.message) == (
        Verdict.INTERNAL_ERROR,
        "the registry 127.0.0.1:9 does not answer as it should (ConnectionError); it is asked again later",
    )  # fmt: skip


def test_the_process_sandbox_says_that_it_cannot() -> None:
    result = ended(f"localhost:5000/a/b@sha256:{'1' * 64}", select_sandbox("process", "", lambda line: None))

    assert result.verdict is Verdict.INTERNAL_ERROR
    assert result.message == "the process sandbox cannot run an agent's own image; start Docker, or say --sandbox docker"


@pytest.mark.attack(
    "player_whose_image_is_gone",
    family="images",
    tries="Plays with an image that was removed, so that its duels cannot be lost.",
    outcome="every match is forfeited",
)
def test_a_player_whose_image_cannot_be_had_forfeits(hub: Hub, docker: SelectedSandbox) -> None:
    task = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=2)
    order = evaluations.duel_order(evaluations.FIRST_LEGAL, evaluations.FIRST_LEGAL, task, limits=LIMITS)

    def with_image(host: str) -> Duel:
        player = dataclasses.replace(order.contenders[0], folder=folder_of(f"{host}/a/b@sha256:{'1' * 64}"))
        wanted = dataclasses.replace(order, contenders=(player, order.contenders[1]))
        return evaluate_duel(wanted, docker.kind, docker.opener, lambda: datetime.now(UTC), lambda done: None)

    absent, silent = with_image(hub.address), with_image("localhost:9")

    assert (absent.verdict, absent.players[0].verdict) == (Verdict.OK, Verdict.INVALID)
    assert {(match.end, match.winner) for match in absent.matches} == {(MatchEnd.FORFEIT, 1)}
    assert silent.verdict is Verdict.INTERNAL_ERROR
    assert silent.message.startswith("the registry localhost:9 does not answer")


def test_an_official_image_of_its_owners_registry_waits_for_the_pace(
    hub: Hub, docker: SelectedSandbox, misfit: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = hub.image("mallory/paced", [misfit, layer(a=os.urandom(9))], {"Entrypoint": ["/misfit", "leave"]})
    waits: list[str] = []
    monkeypatch.setattr(docker_sandbox, "wait_for_start_slot", lambda: waits.append("once"))
    wanted = dataclasses.replace(evaluations.order(folder_of(entry), TASK, limits=LIMITS), tier=Tier.OFFICIAL)
    for _ in range(2):  # The second time it is on the machine.
        evaluations.evaluate(wanted, docker)

    assert waits == ["once"]


@pytest.mark.attack(
    "images_of_files_without_bytes",
    family="images",
    tries="Brings image after image of 300,000 empty files, which count as no bytes: all are kept until the disk is full.",
    outcome="sixteen are kept",
)
def test_images_beyond_the_bound_are_removed_longest_unused_first(hub: Hub, engine: Engine) -> None:
    agent_image.trim_images(engine, 0)
    entries = [hub.image(f"mallory/many{n}", [layer(**{f"a{n}": b""})], {"Cmd": ["/a"]}) for n in range(3)]
    names = [agent_image.local_name(parse_reference(entry)) for entry in entries]
    for entry in entries:
        agent_image.ensure_agent_image(engine, parse_reference(entry), 64)
    agent_image.ensure_agent_image(engine, parse_reference(entries[0]), 64)  # used once more

    assert agent_image.trim_images(engine, 2 * agent_image.LEAST_IMAGE_MIB) == [names[1]]
    assert [engine.image_id(name) is not None for name in names] == [True, False, True]


@pytest.mark.attack(
    "images_fetched_side_by_side",
    family="images",
    tries="Has an image of gigabytes for each of its tasks: they are fetched at once, until the disk of all is full.",
    outcome="is fetched while twice its size and a gibibyte are free",
)
@pytest.mark.parametrize("missing", [0, 1])
def test_an_image_leaves_room_on_the_disk(missing: int, hub: Hub, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    content = gzip.compress(layer(a=b"a"), 9, mtime=0)
    reference = parse_reference(hub.image("mallory/large", [layer(a=b"a")], {"Cmd": ["/a"]}))
    free = 2 * len(content) + agent_image.SPARE_DISK_MIB * MIB - missing
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    agent_image.trim_images(engine, 0)

    if missing:
        with pytest.raises(AgentFault, match="no room for the image") as caught:
            agent_image.ensure_agent_image(engine, reference, 64)
        assert caught.value.verdict is Verdict.INTERNAL_ERROR
    else:
        assert agent_image.ensure_agent_image(engine, reference, 64)


def test_a_recorded_image_that_is_too_large_for_a_new_limit_is_refused(
    hub: Hub, engine: Engine, docker: SelectedSandbox
) -> None:
    entry = hub.image("mallory/shrunk", [layer(a=os.urandom(3 << 20))], {"Cmd": ["/a"]})
    agent_image.ensure_agent_image(engine, parse_reference(entry), 64)

    assert "MiB unpacked, the limit is 1 MiB" in refused(entry, docker, engine, image_mib=1)
