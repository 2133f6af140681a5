"""What container engines really answer when an image is pushed and fetched, written to engine_answers.json beside this file.

`python -m tests.docker.engine_answers` asks the engine that DOCKER_HOST names, with Debian's docker-registry beside it, and
puts its answers in the place of those of the same version and store. An engine that keeps its images in containerd's
store can run beside the usual one: a containerd of its own, and `dockerd --containerd … --data-root … --exec-root …
--pidfile … --bridge=none --iptables=false --config-file …`, where the file says
{"features": {"containerd-snapshotter": true}}.
"""

import io
import json
import platform
import sys
import tarfile
from pathlib import Path
from typing import Any

import docker
import requests
from docker.utils import kwargs_from_env

from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from tests.docker.hub import INDEX, MANIFEST, Hub, layer, running

ANSWERS = Path(__file__).with_name("engine_answers.json")
REGISTRY = "registry.example:5000"
"""Stands in the answers for the address of this machine's registry."""
KEPT = ("Id", "RepoTags", "RepoDigests", "Descriptor")
NAME, TAG = "engine-answers", "0123456789abcdef"
OCI = ("application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json")


class Listening(docker.APIClient):
    """A client that keeps what the engine answers to what we read."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.inspected: list[dict[str, Any]] = []
        self.pushed: list[dict[str, Any]] = []

    def inspect_image(self, image: str) -> Any:
        """Keep the answer, of it what names the image."""
        answer = super().inspect_image(image)
        self.inspected.append({key: answer[key] for key in KEPT if key in answer})
        return answer

    def push(self, *arguments: Any, **options: Any) -> Any:
        """Keep the events, without those that show how far a layer is."""
        events = list(super().push(*arguments, **options))
        self.pushed = [event for event in events if "id" not in event]
        return iter(events)


def context() -> bytes:
    """What an image is built from that needs no other."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in {"Dockerfile": b"FROM scratch\nCOPY file /file\n", "file": b"something\n"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def at_registry(hub: Hub, name: str, reference: str) -> str:
    """The digest by which the registry itself has an image, whatever the engine says."""
    accepted = {"Accept": ", ".join((INDEX, MANIFEST, *OCI))}
    answer = requests.head(f"http://{hub.address}/v2/{name}/manifests/{reference}", headers=accepted, timeout=30)
    answer.raise_for_status()
    return answer.headers["Docker-Content-Digest"]


def two_platforms(hub: Hub, name: str) -> str:
    """Push an index of two platforms of which only this machine's is there; returns the reference by digest."""
    ours = hub.image(name, [layer(file=b"something\n")], {})
    digest = ours.partition("@")[2]
    size = len(requests.get(f"http://{hub.address}/v2/{name}/manifests/{digest}", timeout=30).content)
    other = hub.image(name, [layer(file=b"another\n")], {}, lambda config, _: config.update(architecture="arm64"))
    listed = [
        {"mediaType": MANIFEST, "size": size, "digest": one.partition("@")[2],
         "platform": {"os": "linux", "architecture": architecture}}
        for one, architecture in ((ours, "amd64"), (other, "arm64"))
    ]  # fmt: skip
    return hub.manifest(name, {"mediaType": INDEX, "manifests": listed})


def refused(engine: Engine, client: Listening) -> dict[str, Any]:
    """What is answered where no registry is."""
    engine.build(context(), f"{NAME}:{TAG}", {}, lambda line: None)
    nobody = f"127.0.0.1:1/{NAME}/evaluator:{TAG}"
    try:
        engine.push(f"{NAME}:{TAG}", nobody, None)
    except EngineError:
        return {"reference": nobody, "registry": None, "inspected": [], "pushed": client.pushed}
    finally:
        engine.remove_image(nobody), engine.remove_image(f"{NAME}:{TAG}")
    raise AssertionError("a push to nobody was no error")


def record(hub: Hub) -> dict[str, Any]:
    """Push and fetch as `pullrank image` does, and return what the engine answered."""
    engine, client = Engine(), Listening(version="auto", timeout=120, **kwargs_from_env())
    engine._of_thread.client = client
    cases: dict[str, dict[str, Any]] = {}

    def keep(case: str, reference: str, digest: str, registry: str) -> None:
        cases[case] = {"reference": reference, "registry": registry, "inspected": client.inspected, "pushed": client.pushed}
        assert digest == registry, f"{case}: {digest} was read, the registry has {registry}"
        client.inspected, client.pushed = [], []

    local, target = f"{NAME}:{TAG}", f"{hub.address}/{NAME}/evaluator:{TAG}"
    engine.build(context(), local, {}, lambda line: None)
    digest = engine.push(local, target, None)
    engine.image_id(local)
    keep("push", target, digest, at_registry(hub, f"{NAME}/evaluator", TAG))
    for case, reference in (("fetch", target), ("fetch by digest", f"{target.rpartition(':')[0]}@{digest}")):
        engine.remove_image(target), engine.remove_image(local)
        keep(case, reference, engine.pull(reference, local, None), at_registry(hub, f"{NAME}/evaluator", digest))
    engine.remove_image(reference), engine.remove_image(local)
    index = two_platforms(hub, f"{NAME}/index")
    keep("fetch an index", index, engine.pull(index, local, None), index.partition("@")[2])
    again = f"{hub.address}/{NAME}/again:{TAG}"
    keep("push of an index", again, engine.push(local, again, None), at_registry(hub, f"{NAME}/again", TAG))
    for name in (index, again, local):
        engine.remove_image(name)
    cases["push to nobody"] = refused(engine, client)
    about = client.version()
    return {"version": about["Version"], "api": about["ApiVersion"], "store": client.info()["Driver"], "cases": cases}


def main() -> int:
    """Renew the answers of one engine."""
    if platform.machine() != "x86_64":
        sys.exit("the images made here are for x86_64")
    with running() as hub:
        new = json.loads(json.dumps(record(hub)).replace(hub.address, REGISTRY))
    known = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else []
    others = [one for one in known if (one["version"], one["store"]) != (new["version"], new["store"])]
    sorted_all = sorted([*others, new], key=lambda one: (one["version"], one["store"]))
    ANSWERS.write_text(json.dumps(sorted_all, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
