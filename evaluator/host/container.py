"""The one owner of the container engine: connecting, building, running locked down, measuring, reaping."""

import contextlib
import io
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests.exceptions
from docker.types import LogConfig, Ulimit
from docker.utils import kwargs_from_env

from evaluator.host.sandbox import Usage
from evaluator.host.usage import peak_from_cgroup, read_usage
from evaluator.model.challenge import Limits

LABEL = "org.pullrank.owner"
CGROUP = Path("/sys/fs/cgroup")
_ENGINE_ERRORS = (docker.errors.DockerException, requests.exceptions.RequestException, OSError)
_MIB = 1 << 20
# Not found, or its removal is under way: another evaluator reaps the same orphan.
_GONE = (404, 409)
# gVisor's own kernel is a process of the same cgroup: with 50 it dies at start when its runtime wants another thread.
GVISOR_THREADS = 200
# By how much the news of a kill for memory may come after that of the end: one in ten did under load.
LATE_SECONDS = 0.3
ULIMITS = {"nofile": 1024, "core": 0, "msgqueue": 0}


class EngineError(Exception):
    """The container engine does not answer or refuses; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Owner:
    """Which process a container belongs to; a number alone may be another process tomorrow."""

    pid: int
    start: str
    boot: str
    namespace: str


def this_process() -> Owner:
    """The owner that this process is."""
    return Owner(pid=os.getpid(), start=_start_time(os.getpid()), boot=_read("/proc/sys/kernel/random/boot_id"),
                 namespace=_namespace())  # fmt: skip


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """Field 22 of /proc/PID/stat, counted after the process name; empty when there is none, or only its zombie."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


class Engine:
    """A connection to the container engine."""

    def __init__(self, timeout: int = 60) -> None:
        self._timeout = timeout
        self._of_thread = threading.local()
        try:
            self._version = self._api.version()["ApiVersion"]
        except _ENGINE_ERRORS as error:
            advice = "start Docker or use --sandbox process"
            raise EngineError(f"no container engine answers ({_short(error)}); {advice}") from error

    @property
    def _api(self) -> docker.APIClient:
        """This thread's own client: a client's connections are not safe to share."""
        client: docker.APIClient | None = getattr(self._of_thread, "client", None)
        if client is None:
            settings = kwargs_from_env()
            client = docker.APIClient(version="auto", timeout=self._timeout, **settings)
            self._of_thread.client = client
        return client

    @property
    def is_local(self) -> bool:
        """Whether the engine shares this machine's file system, so that a mounted Unix socket reaches it."""
        return sys.platform == "linux" and self._api.base_url.startswith("http+docker")

    def runtimes(self) -> frozenset[str]:
        """Names of the runtimes the engine knows."""
        with _translated("ask the engine for its runtimes"):
            return frozenset(self._api.info().get("Runtimes", {}))

    def image_id(self, reference: str) -> str | None:
        """The id of a local image; None where there is none."""
        with _translated(f"look at image {reference}"):
            try:
                return str(self._api.inspect_image(reference)["Id"])  # type: ignore[no-untyped-call]
            except docker.errors.ImageNotFound:
                return None

    def build(self, context: bytes, tag: str, arguments: dict[str, str], tell: Callable[[str], None]) -> None:
        """Build an image from a tar archive.

        Raises:
            EngineError: the build failed; the message ends with its last lines.
        """
        with _translated("build the evaluator image"):
            stream = self._api.build(
                fileobj=io.BytesIO(context), custom_context=True, tag=tag, buildargs=arguments, rm=True, forcerm=True,
                network_mode="host", decode=True,
            )  # fmt: skip
            last = ""
            for event in stream:
                last = (event.get("stream") or event.get("status") or "").strip() or last
                tell(last)
                if "error" in event:
                    raise EngineError(_build_failure(arguments, last, event["error"]))

    def fetch(self, reference: str, name: str, credentials: dict[str, str] | None) -> str:
        """Pull an image and call it `name` here; returns its digest."""
        with _translated(f"fetch {reference}"):
            self._api.pull(reference, auth_config=credentials)
            self._name(reference, name)
            found = self._api.inspect_image(reference)["RepoDigests"]  # type: ignore[no-untyped-call]
        return str(found[0]).partition("@")[2]

    def push(self, name: str, target: str, credentials: dict[str, str] | None) -> str:
        """Push an image as `target`; returns its digest."""
        with _translated(f"push {target}"):
            self._name(name, target)
            said = list(self._api.push(target, stream=True, decode=True, auth_config=credentials))
        for event in said:
            if digest := event.get("aux", {}).get("Digest"):
                return str(digest)
        raise EngineError(f"could not push {target}: {next((e['error'] for e in said if 'error' in e), 'no digest')}"[:300])

    def _name(self, image: str, name: str) -> None:
        repository, _, tag = name.rpartition(":")
        self._api.tag(image, repository, tag)

    def create(self, image: str, command: list[str], limits: Limits, options: dict[str, Any]) -> str:
        """A locked-down container, not yet started. `options`: environment, binds, runtime, stdin."""
        owner = this_process()
        with _translated("create the sandbox container"):
            made = self._api.create_container(
                image,
                command,
                user="65534:65534",
                environment=options["environment"],
                hostname="sandbox",
                stdin_open=options["stdin"],
                network_disabled=True,
                working_dir="/opt/pullrank",
                labels={LABEL: json.dumps(vars(owner), sort_keys=True)},
                host_config=self._api.create_host_config(
                    **locked_down(limits, options["runtime"]), binds=options["binds"], runtime=options["runtime"]
                ),
            )
        return str(made["Id"])

    def attach(self, container: str, *, stdin: bool) -> Any:
        """The raw socket of the container's standard streams; output is multiplexed."""
        with _translated("attach to the sandbox"):
            parameters = {"stdin": int(stdin), "stdout": 1, "stderr": 1, "stream": 1}
            wrapped = self._api.attach_socket(container, parameters)
            return getattr(wrapped, "_sock", wrapped)

    def start(self, container: str) -> None:
        """Start it."""
        with _translated("start the sandbox"):
            self._api.start(container)

    def pin(self, container: str, processor: int) -> None:
        """Keep it on one processor; an engine that cannot leaves it as it was."""
        with contextlib.suppress(*_ENGINE_ERRORS):
            self._api.update_container(container, cpuset_cpus=str(processor))

    def state(self, container: str) -> dict[str, Any]:
        """The engine's account of its state."""
        with _translated("look at the sandbox"):
            return dict(self._api.inspect_container(container)["State"])

    def ran_out_of_memory(self, container: str) -> bool:
        """Whether the kernel killed in it for lack of memory; told late, only the engine's events know."""
        with _translated("ask why the sandbox ended"):
            wanted = {"container": container, "event": "oom"}
            until = math.ceil(time.time() + LATE_SECONDS)
            return any(True for _ in self._api.events(since=1, until=until, filters=wanted, decode=True))

    def usage(self, container: str) -> Usage:
        """What it used so far, from the engine's statistics and, for peak memory under cgroup v2, from the cgroup."""
        with _translated("measure the sandbox"):
            payload = self._api.stats(container, stream=False, one_shot=True)
        usage = read_usage(payload)
        if usage.peak_memory_bytes is None:
            return Usage(cpu_seconds=usage.cpu_seconds, peak_memory_bytes=peak_from_cgroup(CGROUP, container))
        return usage

    def kill(self, container: str) -> None:
        """Kill it if it runs."""
        with contextlib.suppress(*_ENGINE_ERRORS):
            self._api.kill(container)

    def remove(self, container: str) -> None:
        """Kill and remove it if it is there."""
        with _translated("remove the sandbox"):
            try:
                self._api.remove_container(container, force=True, v=True)
            except docker.errors.APIError as error:
                if error.status_code not in _GONE:
                    raise

    def reap(self) -> int:
        """Remove containers whose evaluator is gone; a living neighbour's are left alone. Returns how many."""
        with _translated("look for orphans"):
            mine = self._api.containers(all=True, filters={"label": LABEL})
        orphans = [c["Id"] for c in mine if _is_orphan(c["Labels"].get(LABEL, ""), running=c["State"] == "running")]
        for container in orphans:
            self.remove(container)
        return len(orphans)

    def close(self) -> None:
        """Close the connection."""
        self._api.close()


def locked_down(limits: Limits, runtime: str | None = None) -> dict[str, Any]:
    """The engine's settings for an untrusted container."""
    kernel_threads = GVISOR_THREADS if runtime == "runsc" else 0
    memory = limits.memory_mib * _MIB
    return {
        "network_mode": "none",
        "mem_limit": memory,
        "memswap_limit": memory,
        "nano_cpus": int(limits.cpus * 1e9),
        "pids_limit": limits.pids + kernel_threads,
        "read_only": True,
        "tmpfs": {"/tmp": f"rw,noexec,nosuid,nodev,size={limits.tmpfs_mib}m,mode=1777"},
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "init": True,
        "ipc_mode": "none",
        "log_config": LogConfig(type="none"),
        # Docker mounts a writable /dev/mqueue whatever the IPC mode: no bytes for queues is what closes it.
        "ulimits": [Ulimit(name=name, soft=most, hard=most) for name, most in ULIMITS.items()],
    }


def _build_failure(arguments: dict[str, str], last: str, error: str) -> str:
    if " FROM " in last:
        base = arguments.get("BASE_IMAGE", "")[:60]
        return f"the base image {base} cannot be had here; name one that can with BASE_IMAGE=…"
    return f"the evaluator image cannot be built (at '{last[:60]}'): {' '.join(error.split())[:200]}"


def _is_orphan(label: str, *, running: bool) -> bool:
    try:
        owner = Owner(**json.loads(label))
    except (ValueError, TypeError):
        return False
    if owner.boot != _read("/proc/sys/kernel/random/boot_id"):
        return not running
    if owner.namespace != _namespace():
        return False
    return _start_time(owner.pid) != owner.start


@contextlib.contextmanager
def _translated(doing: str) -> Iterator[None]:
    try:
        yield
    except _ENGINE_ERRORS as error:
        raise EngineError(f"could not {doing}: {_short(error)}") from error


def _short(error: BaseException) -> str:
    text = " ".join(str(getattr(error, "explanation", None) or error).split())
    return text[:300]
