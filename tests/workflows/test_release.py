"""A tag of the software's own repository becomes a release: files, attestations, and what GitHub's command is given."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.host.docker.engine import Engine
from tests.workflows.board import lay_out
from tests.workflows.engine import Expressions
from tests.workflows.files import ROOT
from tests.workflows.forge import Forge
from tests.workflows.remote import git
from tests.workflows.runner import Run

IMAGE = {"name": "registry.example/host/board/evaluator", "digest": "sha256:" + "d" * 64}
# Stands for `pullrank image pull`, since there is no registry of that name here: it writes the same outputs.
PULLED = "".join(
    f"{key}={json.dumps(value)}\n" for key, value in {"image": f"{IMAGE['name']}@{IMAGE['digest']}", **IMAGE}.items()
)
# Stands for GitHub's own command, which is on its machines: it keeps what it is given.
GH = """\
#!/bin/sh
printf '%s\\n' "$@" >"$KEPT/words"
for word; do [ -f "$word" ] && cp "$word" "$KEPT/"; done
[ -n "$GH_TOKEN" ] && [ "$GH_REPO" = host/board ]
"""


class Upstream(Forge):
    """The software's own repository, with a version in its changelog."""

    def tagged(self, tag: str) -> Run:
        """The run that a tag on main's tip starts."""
        git(self.remote.bare, "tag", "--force", tag, self.remote.tip())
        self.deliver("push", {"ref": f"refs/tags/{tag}"}, ref=f"refs/tags/{tag}")
        return self.last("release")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the stand-in keeps what it was given."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def upstream(
    expressions: Expressions, engine: Engine, kept: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Upstream]:
    place = tmp_path_factory.mktemp("release")
    files = lay_out(place / "files")
    (place / "bin").mkdir()
    for name, content in {"gh": GH, "pulled": f"#!/bin/sh\ncat >>\"$GITHUB_OUTPUT\" <<'END'\n{PULLED}END\n"}.items():
        (place / "bin" / name).write_text(content)
        (place / "bin" / name).chmod(0o755)
    workflow = files / ".github/workflows/release.yml"
    assert workflow.read_text().count(".venv/bin/pullrank image pull") == 1
    workflow.write_text(workflow.read_text().replace(".venv/bin/pullrank image pull", "pulled"))
    project = files / "pyproject.toml"
    project.write_text(project.read_text().replace('version = "0.1.0"', 'version = "7.1.0"'))
    (files / "CHANGELOG.md").write_text(
        "# Changelog\n\n## [Unreleased]\n\n## [7.1.0] - 2026-01-02\n\n- Something.\n\n## [7.0.0]\n\n- Old.\n"
    )
    base = {"BASE_IMAGE": os.environ["BASE_IMAGE"]} if "BASE_IMAGE" in os.environ else {}
    environment = {"PATH": f"{place / 'bin'}:{os.environ['PATH']}", "KEPT": str(kept), **base}
    made = Upstream(place, files, expressions, environment)
    made.runner.variables["PULLRANK_UPSTREAM"] = "true"
    yield made
    made.close()
    assert made.stand_in.calls == []


@pytest.mark.docker
def test_a_tag_is_released_with_source_image_components_and_hashes(upstream: Upstream, kept: Path) -> None:
    run = upstream.tagged("v7.1.0")
    words = (kept / "words").read_text().splitlines()
    named = [Path(word).name for word in words if word.startswith("/")]

    assert run.conclusion == "success", run.log()
    assert words[:6] == ["release", "create", "v7.1.0", "--verify-tag", "--title", "v7.1.0"]
    assert named == ["notes", "image.txt", "pullrank-7.1.0.tar.gz", "sbom.cdx.json", "SHA256SUMS"]
    assert (kept / "notes").read_text() == f"- Something.\n\nThe evaluator image is `{IMAGE['name']}@{IMAGE['digest']}`.\n"
    assert json.loads((kept / "sbom.cdx.json").read_text())["bomFormat"] == "CycloneDX"
    for line in (kept / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((kept / name).read_bytes()).hexdigest() == digest
    with tarfile.open(fileobj=io.BytesIO((kept / "pullrank-7.1.0.tar.gz").read_bytes())) as source:
        packed = source.extractfile("pullrank-7.1.0/evaluator/wire.py")
        assert packed is not None
        assert packed.read() == (ROOT / "evaluator" / "wire.py").read_bytes()


@pytest.mark.docker
def test_its_files_and_the_images_components_are_attested_first(upstream: Upstream, kept: Path) -> None:
    (files, components) = [inputs for job, inputs in upstream.actions.attested if job == "attest"]

    assert files["content"] == (kept / "SHA256SUMS").read_text()
    assert {line.split("  ")[1] for line in files["content"].splitlines()} == {
        "image.txt", "pullrank-7.1.0.tar.gz", "sbom.cdx.json",
    }  # fmt: skip
    assert (components["subject-name"], components["subject-digest"]) == (IMAGE["name"], IMAGE["digest"])
    assert Path(components["sbom-path"]).name == "sbom.cdx.json"
