"""What the evaluator image is made of, in CycloneDX 1.6: Debian's packages, Python's packages, and Python itself.

The image's own files say what is installed, and the locks say by which hashes. The document holds no time: the same image
has the same document.
"""

import email.parser
import email.policy
import json
import re
import tarfile
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from evaluator.host.digests.image_files import locked_hashes
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.evaluator_image import EVALUATOR_REPOSITORY, image_digest

_NAMESPACE = uuid.UUID("6ba7b812-9dad-11d1-80b4-00c04fd430c8")  # of object identifiers, RFC 9562
_DPKG = re.compile(r"var/lib/dpkg/(status|status\.d/[^/]+)")
_METADATA = re.compile(r"(.*/)?[^/]+\.(dist-info/METADATA|egg-info/PKG-INFO|egg-info)")
_RELEASE = ("etc/os-release", "usr/lib/os-release")
# Images that build Python themselves say its version so.
_PYTHON = "PYTHON_VERSION="


@dataclass(frozen=True, kw_only=True)
class InstalledFiles:
    """The files of an image that say what is installed."""

    dpkg: tuple[str, ...]
    metadata: tuple[str, ...]
    release: Mapping[str, str]
    """Of `os-release`: `ID`, `VERSION_ID` and so on."""


def bill_of_materials(engine: Engine, reference: str, locks: Iterable[str]) -> dict[str, Any]:
    """The document of a local image.

    `locks`: the texts of the locks that it was made from.

    Raises:
        EngineError: the image cannot be read.
    """
    with engine.exported(reference) as tar:
        files = installed_files(tar)
    python = next(
        (value for value in engine.inspect_image(reference)["Config"].get("Env") or () if value.startswith(_PYTHON)), ""
    )
    hashes = {key: value for lock in locks for key, value in locked_hashes(lock).items()}
    return document(image_digest(engine, reference), files, python.removeprefix(_PYTHON), hashes)


def installed_files(tar: tarfile.TarFile) -> InstalledFiles:
    """Pick them out of an archive of a whole file system, which is read once and forwards."""
    dpkg: list[str] = []
    metadata: list[str] = []
    release: dict[str, str] = {}
    for member in tar:
        name = member.name.removeprefix("./")
        kind = dpkg if _DPKG.fullmatch(name) else metadata if _METADATA.fullmatch(name) else None
        if not member.isfile() or (kind is None and name not in _RELEASE):
            continue
        file = tar.extractfile(member)
        text = file.read().decode("utf-8", "replace") if file else ""
        if kind is not None:
            kind.append(text)
        else:
            release |= dict(re.findall(r'^([A-Z_]+)="?([^"\n]*)"?$', text, re.MULTILINE))
    return InstalledFiles(dpkg=tuple(dpkg), metadata=tuple(metadata), release=release)


def document(
    digest: str, files: InstalledFiles, python: str, hashes: Mapping[tuple[str, str], tuple[str, ...]]
) -> dict[str, Any]:
    """The document of an image.

    `python`: the version of a Python that no package holds, or "". `hashes`: name and version of a locked package to the
    SHA-256 of its files.
    """
    system, version = files.release.get("ID", "linux"), files.release.get("VERSION_ID", "")
    components = [
        *_debian(files.dpkg, system, version),
        *_python_packages(files.metadata, hashes),
        *([_component("application", "python", python, f"pkg:generic/python@{quote(python)}")] if python else []),
        {"type": "operating-system", "bom-ref": f"os:{system}@{version}", "name": system, "version": version},
    ]
    by_reference = {component["bom-ref"]: component for component in components}
    listed = [by_reference[reference] for reference in sorted(by_reference)]
    seed = json.dumps([digest, listed], sort_keys=True)
    image = _component("container", EVALUATOR_REPOSITORY, digest, f"pkg:oci/{EVALUATOR_REPOSITORY}@{quote(digest)}")
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, seed)}",
        "version": 1,
        "metadata": {"component": image},
        "components": listed,
    }


def _component(kind: str, name: str, version: str, purl: str) -> dict[str, Any]:
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _debian(texts: Iterable[str], system: str, release: str) -> Iterator[dict[str, Any]]:
    """Packages that dpkg has installed; one that was removed and left its settings is not there."""
    for paragraph in (part for text in texts for part in re.split(r"\n\s*\n", text)):
        fields = dict(re.findall(r"^([A-Za-z-]+): *(.*)$", paragraph, re.MULTILINE))
        if "Package" in fields and fields.get("Status", "install ok installed").endswith(" installed"):
            name, version = fields["Package"], fields.get("Version", "")
            about = f"arch={quote(fields.get('Architecture', ''))}&distro={quote(f'{system}-{release}')}"
            yield _component("library", name, version, f"pkg:deb/{quote(system)}/{quote(name)}@{quote(version)}?{about}")


def _python_packages(texts: Iterable[str], hashes: Mapping[tuple[str, str], tuple[str, ...]]) -> Iterator[dict[str, Any]]:
    parser = email.parser.HeaderParser(policy=email.policy.compat32)
    for text in texts:
        fields = parser.parsestr(text)
        name = re.sub(r"[-_.]+", "-", str(fields["Name"] or "")).lower()
        version = str(fields["Version"] or "")
        if not name:
            continue
        component = _component("library", name, version, f"pkg:pypi/{quote(name)}@{quote(version)}")
        if allowed := hashes.get((name, version)):
            component["externalReferences"] = [
                {
                    "type": "distribution",
                    "url": component["purl"],
                    "comment": "One of these files was installed; pip checked its hash.",
                    "hashes": [{"alg": "SHA-256", "content": sha256} for sha256 in allowed],
                }
            ]
        yield component
