"""The image's list of components: by CycloneDX's own schema, against what the image and the locks say."""

import importlib.resources
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT7

from evaluator.host.digests.image_files import image_lock, locked_hashes, pins
from evaluator.host.docker import evaluator_image
from evaluator.host.docker.bill_of_materials import document, installed_files
from evaluator.host.docker.engine import OWNER_LABEL, Engine, this_process
from scripts.commands import image as command
from tests.hostile.arena import base

SCHEMAS = importlib.resources.files("cyclonedx.schema._res")
DIGEST = "sha256:" + "a" * 64
DPKG = """\
Package: libc6
Status: install ok installed
Architecture: amd64
Source: glibc (2.36)
Version: 2.36-9+deb12u10
Description: GNU C Library
 Version: a line of the description, which begins with a space

Package: removed
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: held
Status: hold ok installed
Architecture: all
Version: 1:2~rc+3
"""
NUMPY = "Metadata-Version: 2.4\nName: NumPy\nVersion: 2.4.6\n\nName: of the description\n"
LOCK = "numpy==2.4.6 ; python_version >= '3.11' \\\n    --hash=sha256:{} \\\n    --hash=sha256:{}\n".format(
    "1" * 64, "2" * 64
)


def archive(files: dict[str, str]) -> tarfile.TarFile:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return tarfile.open(fileobj=io.BytesIO(buffer.getvalue()), mode="r|")


def made(files: dict[str, str], python: str = "", lock: str = LOCK) -> dict[str, Any]:
    return document(DIGEST, installed_files(archive(files)), python, locked_hashes(lock))


@pytest.fixture(scope="module")
def schema() -> jsonschema.Draft7Validator:
    """That of CycloneDX 1.6, with the two that it refers to."""
    named = {
        name: json.loads((SCHEMAS / f"{name}.SNAPSHOT.schema.json").read_text()) for name in ("bom-1.6", "spdx", "jsf-0.82")
    }
    registry = Registry().with_resources([(one["$id"], DRAFT7.create_resource(one)) for one in named.values()])
    return jsonschema.Draft7Validator(named["bom-1.6"], registry=registry)


FILES = {
    "etc/os-release": 'ID=debian\nVERSION_ID="12"\n',
    "var/lib/dpkg/status": DPKG,
    "opt/venv/lib/python3.12/site-packages/numpy-2.4.6.dist-info/METADATA": NUMPY,
    "opt/venv/lib/python3.12/site-packages/numpy/METADATA": "Name: nobody\nVersion: 1\n",
}


def test_it_lists_what_is_installed_and_by_which_hashes(schema: jsonschema.Draft7Validator) -> None:
    bill = made(FILES, "3.12.11")

    schema.validate(bill)
    assert [component["bom-ref"] for component in bill["components"]] == [
        "os:debian@12",
        "pkg:deb/debian/held@1%3A2~rc%2B3?arch=all&distro=debian-12",
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64&distro=debian-12",
        "pkg:generic/python@3.12.11",
        "pkg:pypi/numpy@2.4.6",
    ]
    (files,) = bill["components"][-1]["externalReferences"]
    assert [one["content"] for one in files["hashes"]] == ["1" * 64, "2" * 64]
    assert bill["metadata"]["component"]["version"] == DIGEST


def test_its_serial_number_is_of_the_image_and_its_contents() -> None:
    other = {**FILES, "var/lib/dpkg/status": DPKG.replace("u10", "u11")}
    numbers = {made(FILES)["serialNumber"], made(FILES)["serialNumber"], made(other)["serialNumber"]}

    assert len(numbers) == 2
    assert all(number.startswith("urn:uuid:") for number in numbers)


def test_a_package_of_another_version_than_locked_has_no_hashes() -> None:
    bill = made({"x/numpy-2.4.5.dist-info/METADATA": NUMPY.replace("2.4.6", "2.4.5")})

    assert [component for component in bill["components"] if "externalReferences" in component] == []


@pytest.fixture(scope="module")
def bill(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out: Path = tmp_path_factory.mktemp("sbom") / "new" / "sbom.json"
    assert command.sbom(out=out) == 0
    bill: dict[str, Any] = json.loads(out.read_text())
    return bill


@pytest.mark.docker
def test_the_images_own_list_is_complete(engine: Engine, bill: dict[str, Any], schema: jsonschema.Draft7Validator) -> None:
    name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base()))
    ask = [
        "docker",
        "run",
        "--rm",
        "--network=none",
        name,
        "dpkg-query",
        "-W",
        "-f",
        "${db:Status-Status} ${Package} ${Version}\n",
    ]
    by_dpkg = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.splitlines()
    listed = {(one["name"], one["version"], "externalReferences" in one) for one in bill["components"]}

    schema.validate(bill)
    assert bill["metadata"]["component"]["version"] == engine.image_id(name)
    assert {one.removeprefix("installed ") for one in by_dpkg if one.startswith("installed ")} == {
        f"{one['name']} {one['version']}" for one in bill["components"] if one["bom-ref"].startswith("pkg:deb/")
    }
    assert {pin.partition(" ;")[0] for pin in pins(image_lock())} == {f"{n}=={v}" for n, v, locked in listed if locked}


@pytest.mark.docker
def test_reading_the_image_leaves_no_container(engine: Engine, bill: dict[str, Any]) -> None:
    ours = f"{OWNER_LABEL}={json.dumps(vars(this_process()), sort_keys=True)}"

    assert [one["Image"] for one in engine._api.containers(all=True, filters={"label": ours, "status": "created"})] == []
