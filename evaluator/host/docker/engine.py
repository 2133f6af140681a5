"""The container engine's client: building images, running locked-down containers, measuring and removing them."""

import collections
import contextlib
import functools
import io
import json
import math
import os
import socket
import struct
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import docker
import docker.errors
import requests
import requests.exceptions
from docker.utils import kwargs_from_env

from evaluator.host.docker.container_options import (
    CPU_PERIOD,
    ContainerOptions,
    cpu_quota,
    random_user,
    untrusted_host_config,
)
from evaluator.host.docker.engine_errors import (
    EngineError,
    StoredImage,
    build_failure,
    digest_of,
    engine_warnings,
    is_image_fault,
    no_answer,
    pushed_digest,
)
from evaluator.host.docker.gvisor_runtime import GVISOR_RUNTIME, gpus_fault, runtime_fault
from evaluator.host.docker.hidden_files import hidden_paths
from evaluator.host.process_owner import ProcessOwner, current_boot, start_time, this_process
from evaluator.host.usage import CONTROL_GROUPS, CONTROLLERS, Usage, group_usage, sockets_in_network
from evaluator.model.config.limits import Limits


def is_orphan(label: str, *, running: bool) -> bool:
    """Whether the owner in a container's label has ended."""
    try:
        owner = ProcessOwner(**json.loads(label))
    except (ValueError, TypeError):
        return False
    return owner.has_ended or (owner.boot != current_boot() and not running)


def _owner_label() -> dict[str, str]:
    return {OWNER_LABEL: json.dumps(vars(this_process()), sort_keys=True)}


OWNER_LABEL = "org.pullrank.owner"
_USUAL_ADDRESS, _PID_FILE = "unix:///var/run/docker.sock", Path("/var/run/docker.pid")
# The kernel's struct ucred: the process id, then user and group.
_PEER = struct.Struct("i8x")
_ENGINE_ERRORS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)
# Not found, or being removed: another evaluator removes the same orphan.
_REMOVED_STATUS = (404, 409)
# The event of a kill for memory may come later than the end: under load one in ten did, and 0.3 s were too short for one in
# a run of all attacks. Of a signal sent through the engine the event comes first.
OOM_EVENT_SECONDS = 3.0
STOP_EVENT_SECONDS = 0.3
# A build step may print nothing for this long: fetching and compiling large packages takes minutes.
BUILD_SECONDS = 1800
# What reads every file of an image that an agent could, but for what is mounted over it.
READ_WHOLE = """
import os
for top, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if not os.path.ismount(os.path.join(top, name))]
    for path in (os.path.join(top, name) for name in files):
        if os.path.isfile(path) and not os.path.islink(path) and os.access(path, os.R_OK):
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass
"""
READ_WHOLE_MIB, READ_WHOLE_SECONDS = 65536, 300.0


class _Pieces(io.RawIOBase):
    """Bytes that come in pieces, as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and (piece := next(self._pieces, None)) is not None:
            self._rest = piece
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


class Engine:
    """A connection to the container engine."""

    def __init__(self, timeout: int = 60) -> None:
        self._timeout = timeout
        self._of_thread = threading.local()
        self._version = "auto"
        try:
            self._version = self._api.version()["ApiVersion"]
        except _ENGINE_ERRORS as error:
            raise EngineError(no_answer(_short(error))) from error

    @property
    def _api(self) -> docker.APIClient:
        """This thread's client; clients cannot be shared between threads or processes."""
        pid, client = getattr(self._of_thread, "client", (0, None))
        if pid != os.getpid():  # a fork must not use its parent's connections
            client = docker.APIClient(version=self._version, timeout=self._timeout, **kwargs_from_env())
            self._of_thread.client = os.getpid(), client
        return cast("docker.APIClient", client)

    @property
    def is_local(self) -> bool:
        """Whether the engine shares this machine's file system, so that a mounted Unix socket reaches it."""
        return sys.platform == "linux" and self._api.base_url.startswith("http+docker")

    def runtimes(self) -> dict[str, Any]:
        """The engine's runtimes, by name."""
        with _engine_errors("ask the engine for its runtimes"):
            return self._api.info().get("Runtimes") or {}

    def gvisor_fault(self) -> str | None:
        """What is wrong with the engine's gVisor, in one line; None if it can be used."""
        return runtime_fault(self.runtimes())

    def gpus_fault(self, image: str, gpus: int, runtime: str | None) -> str | None:
        """Why a container cannot be handed that many graphics cards, in one line; None if one was just started with them."""
        if runtime == GVISOR_RUNTIME and (fault := gpus_fault(self.runtimes())):
            return fault
        return self.start_fault(image, Limits(), ContainerOptions(runtime=runtime, gpus=gpus))

    def start_fault(self, image: str, limits: Limits, options: ContainerOptions) -> str | None:
        """Why a container of an evaluator image cannot be started, in one line; None if one was just started."""
        container = None
        try:
            container = self.create(image, ["true"], limits, options)
            self.start(container)
        except EngineError as error:
            return str(error)
        finally:
            if container:
                self.remove(container)
        return None

    def read_whole(self, image: str) -> None:
        """Bring all files of an evaluator image into the machine's memory, in which containers share them.

        Raises:
            EngineError: it cannot be started, or did not end in time.
        """
        limits = Limits(memory_mib=READ_WHOLE_MIB)  # what it reads counts as its memory
        container = self.create(image, ["/opt/venv/bin/python", "-c", READ_WHOLE], limits, ContainerOptions(runtime=None))
        try:
            self.start(container)
            until = time.monotonic() + READ_WHOLE_SECONDS
            while (state := self.state(container))["Running"]:
                if time.monotonic() > until:
                    raise EngineError(f"the files of {image} were not read within {READ_WHOLE_SECONDS:g} s")
                time.sleep(0.1)
            if state["ExitCode"]:
                raise EngineError(f"the files of {image} could not be read (exit code {state['ExitCode']})")
        finally:
            self.remove(container)

    def engine_warnings(self) -> list[str]:
        """Faults of the engine itself, such as an old version, one line each."""
        with _engine_errors("ask the engine how old it is"):
            return engine_warnings(self._api.version(), self._api.info())

    def image_id(self, reference: str) -> str | None:
        """The id of a local image; None where there is none."""
        image = self._find_image(reference)
        return str(image["Id"]) if image else None

    def inspect_image(self, reference: str) -> dict[str, Any]:
        """What the engine says of a local image; raises EngineError where there is none."""
        if (image := self._find_image(reference)) is None:
            raise EngineError(f"there is no image {reference} here")
        return image

    def _find_image(self, reference: str) -> dict[str, Any] | None:
        with _engine_errors(f"look at image {reference}"):
            try:
                return dict(self._api.inspect_image(reference))  # type: ignore[no-untyped-call]
            except docker.errors.ImageNotFound:
                return None

    @contextlib.contextmanager
    def exported(self, image: str) -> Iterator[tarfile.TarFile]:
        """Every file of an image as an archive that is read forwards, by way of a container that never starts."""
        with _engine_errors(f"read image {image}"):
            container = self._api.create_container(image, ["true"], network_disabled=True, labels=_owner_label())["Id"]
            try:
                pieces: Iterator[bytes] = self._api.export(container)
                with tarfile.open(fileobj=io.BufferedReader(_Pieces(pieces)), mode="r|") as tar:
                    yield tar
            finally:
                self._api.remove_container(container, force=True)

    @property
    def platform(self) -> str:
        """The platform of images that it runs, such as `linux/amd64`."""
        with _engine_errors("ask the engine what it runs"):
            version = self._api.version()
        return f"{version['Os']}/{version['Arch']}"

    def load(self, archive: Iterable[bytes], name: str, seconds: int) -> str:
        """Load an archive with one image, named `name` in it; returns its id."""
        client = docker.APIClient(version="auto", timeout=seconds, **kwargs_from_env())
        with _engine_errors("unpack the image"), contextlib.closing(client):
            for event in client.load_image(archive, quiet=True):  # type: ignore[no-untyped-call]
                if reason := event.get("error") or event.get("message"):
                    words = " ".join(str(reason).split())
                    raise EngineError(f"could not unpack the image: {words[:200]}", refused=is_image_fault(words))
        image_id = self.image_id(name)
        if image_id is None:
            raise EngineError("could not unpack the image: the engine took it and does not have it")
        return image_id

    def stored(self, repository: str) -> list[StoredImage]:
        """The images of a repository, the longest unused one first."""
        with _engine_errors("look at the images"):
            names = [name for image in self._api.images(repository) for name in image["RepoTags"] or ()]
        images = [(name, image) for name in names if (image := self._find_image(name)) is not None]
        stored = [
            StoredImage(name=name, size=int(image["Size"]), used=str(image.get("Metadata", {}).get("LastTagTime", "")))
            for name, image in images
        ]
        return sorted(stored, key=lambda image: (image.used, image.name))

    def tag(self, image: str, name: str) -> None:
        """Name an image, which also marks it as used now."""
        with _engine_errors("name an image"):
            self._name(image, name)

    def remove_image(self, name: str) -> None:
        """Remove an image, unless a container uses it."""
        with _engine_errors("remove an image", but=_REMOVED_STATUS):
            self._api.remove_image(name)

    def build(
        self, context: bytes, tag: str, arguments: dict[str, str], tell: Callable[[str], None], *, cached: bool = True
    ) -> None:
        """Build an image from a tar archive; `tell` gets each line of the output. Not `cached`: every step is done anew.

        Raises:
            EngineError: the build failed; the message ends with its last lines.
        """
        with _engine_errors("build the evaluator image"):
            stream = self._api.build(
                fileobj=io.BytesIO(context), custom_context=True, tag=tag, buildargs=arguments, rm=True, forcerm=True,
                network_mode="host", decode=True, timeout=BUILD_SECONDS, nocache=not cached,
            )  # fmt: skip
            output: collections.deque[str] = collections.deque(maxlen=40)
            for event in stream:
                if line := (event.get("stream") or event.get("status") or "").strip():
                    output.append(line)
                    tell(line)
                if "error" in event:
                    raise EngineError(build_failure(arguments, output, event["error"]))

    def pull(self, reference: str, name: str, credentials: dict[str, str] | None) -> str:
        """Pull an image and name it `name`; returns its digest."""
        with _engine_errors(f"fetch {reference}"):
            self._api.pull(reference, auth_config=credentials)
            self._name(reference, name)
            digests = self._api.inspect_image(reference).get("RepoDigests") or ()  # type: ignore[no-untyped-call]
        return digest_of(reference, digests)

    def push(self, name: str, target: str, credentials: dict[str, str] | None) -> str:
        """Push an image as `target`; returns its digest."""
        with _engine_errors(f"push {target}"):
            self._name(name, target)
            events = list(self._api.push(target, stream=True, decode=True, auth_config=credentials))
        return pushed_digest(target, events)

    def _name(self, image: str, name: str) -> None:
        repository, _, tag = name.rpartition(":")
        self._api.tag(image, repository, tag)

    def create(self, image: str, command: list[str] | None, limits: Limits, options: ContainerOptions) -> str:
        """Create a locked-down container without starting it; without a command it runs the image's own."""
        host_config = self._api.create_host_config(**untrusted_host_config(limits, options))
        if options.runtime != GVISOR_RUNTIME:
            # docker-py has no argument for it. This replaces the engine's own list, which is shorter.
            host_config["MaskedPaths"] = hidden_paths()
        with _engine_errors("create the sandbox container"):
            made = self._api.create_container(
                image,
                command,
                user=random_user(is_mapped=self._is_mapped),
                environment=dict(options.environment),
                hostname="sandbox",
                stdin_open=options.stdin,
                network_disabled=True,
                working_dir=options.working_dir,
                labels=_owner_label(),
                host_config=host_config,
            )
        return str(made["Id"])

    @functools.cached_property
    def _is_mapped(self) -> bool:
        """Whether the engine gives containers a user namespace, which has only the first 65,536 ids."""
        with _engine_errors("ask the engine for its security options"):
            options = self._api.info().get("SecurityOptions") or ()
        return any(option.startswith(("name=userns", "name=rootless")) for option in options)

    def attach(self, container: str, *, stdin: bool) -> Any:
        """The raw socket of the container's standard streams; its output is multiplexed."""
        with _engine_errors("attach to the sandbox"):
            parameters = {"stdin": int(stdin), "stdout": 1, "stderr": 1, "stream": 1}
            wrapped = self._api.attach_socket(container, parameters)
            return getattr(wrapped, "_sock", wrapped)

    def start(self, container: str) -> None:
        """Start a container."""
        with _engine_errors("start the sandbox"):
            self._api.start(container)

    def pin(self, container: str, processor: int) -> None:
        """Keep it on one processor, if the engine can."""
        with contextlib.suppress(*_ENGINE_ERRORS):
            self._api.update_container(container, cpuset_cpus=str(processor))

    def limit_share(self, container: str, cpus: float) -> None:
        """Set its share of processor time while it runs."""
        with _engine_errors("set the sandbox's share of processor time"):
            self._api.update_container(container, cpu_period=CPU_PERIOD, cpu_quota=cpu_quota(cpus))

    def state(self, container: str) -> dict[str, Any]:
        """Its state, as the engine reports it."""
        with _engine_errors("look at the sandbox"):
            return dict(self._api.inspect_container(container)["State"])

    def ran_out_of_memory(self, container: str) -> bool:
        """Whether the kernel killed it for lack of memory; only the engine's events say so, and late."""
        return self._has_event(container, "oom", OOM_EVENT_SECONDS)

    def was_stopped(self, container: str) -> bool:
        """Whether it was sent a signal through the engine; a signal from inside is no such event."""
        return self._has_event(container, "kill", STOP_EVENT_SECONDS)

    def _has_event(self, container: str, event: str, seconds: float) -> bool:
        with _engine_errors("ask why the sandbox ended"):
            filters = {"container": container, "event": event}
            until = math.ceil(time.time() + seconds)
            return any(True for _ in self._api.events(since=1, until=until, filters=filters, decode=True))

    def incarnation(self) -> tuple[int, str]:
        """The engine's process and its start time, which change with a restart; zero where it cannot be seen from here."""
        address = kwargs_from_env().get("base_url", _USUAL_ADDRESS)
        if not address.startswith("unix://") or not hasattr(socket, "SO_PEERCRED"):
            return 0, ""
        with contextlib.suppress(OSError, ValueError), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(address.removeprefix("unix://"))
            (pid,) = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
            if pid == 1:  # the service manager listens for it
                pid = int(_PID_FILE.read_text())
            return pid, start_time(pid)
        return 0, ""

    def usage(self, container: str) -> Usage:
        """The resources it used, from its control group; where that cannot be read, from the engine's statistics.

        The engine's are a second old: it collects them once a second, and forgets them when the container ends.
        """
        usage = container_usage(CONTROL_GROUPS, container)
        if usage.cpu_seconds is not None:
            return usage
        with _engine_errors("measure the sandbox"):
            payload = self._api.stats(container, stream=False, one_shot=True)
        return read_usage(payload)

    def kill(self, container: str) -> None:
        """Kill it if it runs."""
        with contextlib.suppress(*_ENGINE_ERRORS):
            self._api.kill(container)

    def remove(self, container: str) -> None:
        """Kill and remove it, if it exists."""
        with _engine_errors("remove the sandbox", but=_REMOVED_STATUS):
            self._api.remove_container(container, force=True, v=True)

    def remove_orphans(self) -> int:
        """Remove the containers of evaluators that have ended; returns how many."""
        with _engine_errors("look for orphans"):
            mine = self._api.containers(all=True, filters={"label": OWNER_LABEL})
        orphans = [c["Id"] for c in mine if is_orphan(c["Labels"].get(OWNER_LABEL, ""), running=c["State"] == "running")]
        for container in orphans:
            self.remove(container)
        return len(orphans)

    def close(self) -> None:
        """Close the connection."""
        self._api.close()


@contextlib.contextmanager
def _engine_errors(doing: str, but: tuple[int, ...] = ()) -> Iterator[None]:
    """Translate the client's errors; answers with a status in `but` are none."""
    try:
        yield
    except _ENGINE_ERRORS as error:
        status = error.status_code if isinstance(error, docker.errors.APIError) else None
        if status in but:
            return
        refused = status == requests.codes.bad_request or is_image_fault(str(error))
        raise EngineError(f"could not {doing}: {_short(error)}", refused=refused) from error


def _short(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "explanation", None) or error).split())
    return text[:300]


def read_usage(payload: dict[str, Any]) -> Usage:
    """Usage from the engine's statistics; only cgroup v1 reports the peak memory (`max_usage`)."""
    cpu = payload.get("cpu_stats", {}).get("cpu_usage", {}).get("total_usage")
    peak = payload.get("memory_stats", {}).get("max_usage")
    return Usage(cpu_seconds=cpu / 1e9 if cpu else None, peak_memory_bytes=int(peak) if peak else None)


def container_usage(root: Path, container: str) -> Usage:
    """What a container's control group says, in either version and with either driver; nothing where it cannot be read."""
    for place in (f"system.slice/docker-{container}.scope", f"docker/{container}"):
        for folders in (dict.fromkeys(CONTROLLERS, root / place), {c: root / c / place for c in CONTROLLERS}):
            usage = group_usage(folders)
            if usage.cpu_seconds is not None:
                return replace(usage, sockets=sockets_in_network(folders["pids"]))
    return Usage()
