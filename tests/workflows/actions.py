"""What the actions that we use do, done on this machine."""

import fnmatch
import io
import json
import shutil
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any

from tests.forked_command import forked_pullrank
from tests.github.world import World
from tests.workflows.remote import Remote, git
from tests.workflows.runner import Action, Machine, StepFailedError

# No more than 1,024 subjects at the same time, says the documentation of actions/attest, and its code takes no larger file.
SUBJECTS = 1024
SUBJECT_BYTES = 512 * SUBJECTS


class Actions:
    """The actions over one remote and one stand-in."""

    def __init__(self, remote: Remote, world: World, place: Path) -> None:
        """Artifacts go to the stand-in's runs, the deployed site below `place`."""
        self.remote = remote
        self.world = world
        self.place = place
        self.attested: list[tuple[str, dict[str, Any]]] = []
        self.deployed: list[Path] = []
        self.uploaded: list[tuple[int, str]] = []
        self.checkouts: list[Path] = []

    def table(self) -> dict[str, Action]:
        """Action to what does it here."""
        return {
            "actions/checkout": self.checkout,
            "actions/setup-python": self.setup_python,
            "actions/upload-artifact": self.upload,
            "actions/download-artifact": self.download,
            "actions/attest": self.attest,
            "actions/upload-pages-artifact": self.upload_pages,
            "actions/deploy-pages": self.deploy_pages,
        }

    def checkout(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """Fetch and check out a branch or a commit, as deep as told: 0 is every branch and tag, as in the real action."""
        place = machine.workspace / inputs.get("path", ".")
        place.mkdir(exist_ok=True)
        ref = inputs.get("ref") or machine.github["sha"]
        sha = ref if len(ref) == 40 else self.remote.tip(f"refs/heads/{ref}")
        git(place, "init", "--quiet")
        git(place, "remote", "add", "origin", self.remote.url)
        depth = int(inputs.get("fetch-depth", 1))
        if depth == 0:
            everything = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
            git(place, "fetch", "--quiet", "--no-tags", "origin", *everything)
            git(place, "fetch", "--quiet", "--no-tags", "origin", sha)
        else:
            git(place, "fetch", "--quiet", "--no-tags", f"--depth={depth}", "origin", sha)
        git(place, "checkout", "--quiet", "--detach", sha)
        self.checkouts.append(place)
        return {}

    def setup_python(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """A `.venv` that has everything already, over the sources of this checkout; uv has nothing left to do."""
        place = machine.workspace / ".venv"
        (place / "bin").mkdir(parents=True)
        command = place / "bin" / "pullrank"
        command.write_text(forked_pullrank(machine.workspace))
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        (place / "bin" / "python").symlink_to(sys.executable)
        uv = machine.workspace / "build" / "uv" / "bin" / "uv"
        uv.parent.mkdir(parents=True)
        uv.touch()
        (place / "runtime.done").touch()
        return {}

    def upload(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """A zip at the stand-in."""
        place = Path(inputs["path"])
        files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
        hidden = (any(part.startswith(".") for part in path.relative_to(place).parts) for path in files)
        files = [path for path, is_hidden in zip(files, hidden, strict=True) if path.is_file() and not is_hidden]
        if not files:
            raise StepFailedError(f"No files were found with the provided path: {place}")
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in files:
                packed.write(path, path.relative_to(place if place.is_dir() else place.parent))
        self.world.runs[machine.github["run_id"]].artifacts[inputs["name"]] = buffer.getvalue()
        self.uploaded.append((machine.github["run_id"], inputs["name"]))
        return {"artifact-id": str(len(self.uploaded))}

    def download(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """Unpack artifacts of this run: one that is named, or is the only one, into `path`, else each into a folder."""
        artifacts = self.world.runs[machine.github["run_id"]].artifacts
        assert not {"run-id", "repository", "github-token", "skip-decompress"} & set(inputs), "not done here"
        target = Path(inputs["path"])
        name, ids, pattern = (inputs.get(key, "") for key in ("name", "artifact-ids", "pattern"))
        if name and ids:
            raise StepFailedError("Inputs 'name' and 'artifact-ids' cannot be used together. Please specify only one.")
        if name:
            chosen = [name] if name in artifacts else []
        elif ids:
            known = dict(enumerate(self.uploaded, 1))
            named = [known.get(int(number)) for number in str(ids).split(",")]
            chosen = [one[1] for one in named if one and one[0] == machine.github["run_id"] and one[1] in artifacts]
        else:
            chosen = fnmatch.filter(artifacts, pattern or "*")
        if (name or ids) and not chosen:
            raise StepFailedError(f"Unable to download artifact(s): Artifact not found: {name or ids}")
        straight = len(chosen) == 1 or inputs.get("merge-multiple") in (True, "true")
        for one in chosen:
            with zipfile.ZipFile(io.BytesIO(artifacts[one])) as packed:
                packed.extractall(target if straight else target / one)
        return {"download-path": str(target)}

    def attest(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """Note what was attested, and by which job; refuse what the action or its documentation does."""
        given = [inputs[key] for key in ("subject-path", "subject-checksums", "subject-digest") if inputs.get(key)]
        if len(given) != 1:
            raise StepFailedError("Only one of subject-path, subject-digest, or subject-checksums may be provided")
        if path := inputs.get("subject-path") or inputs.get("subject-checksums"):
            if not Path(path).is_file():
                raise StepFailedError(f"Could not find subject at path {path}")
            inputs = {**inputs, "content": Path(path).read_text()}
        if inputs.get("subject-checksums"):
            if len(inputs["content"].encode()) > SUBJECT_BYTES:
                raise StepFailedError(f"subject checksums file exceeds maximum allowed size: {SUBJECT_BYTES} bytes")
            subjects = {line for line in inputs["content"].splitlines() if " " in line}
            if not subjects:
                raise StepFailedError("there is no subject in the checksums file")
            if len(subjects) > SUBJECTS:
                raise StepFailedError(
                    f"Too many subjects specified (>{SUBJECTS}). The maximum number of subjects is {SUBJECTS}."
                )
        if path := inputs.get("sbom-path"):
            components = json.loads(Path(path).read_text())
            if not all(components.get(key) for key in ("bomFormat", "serialNumber", "specVersion")):
                raise StepFailedError("Unsupported SBOM format. Must be valid SPDX or CycloneDX JSON.")
        self.attested.append((machine.github["job"], inputs))
        return {}

    def upload_pages(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """Keep the built site with the run."""
        source = machine.workspace / inputs["path"]
        if not (source / "index.html").is_file():
            raise StepFailedError(f"there is no site in {source}")
        shutil.copytree(source, self.place / f"pages-{machine.github['run_id']}", dirs_exist_ok=True)
        return {}

    def deploy_pages(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """The site of this run is the one that people see."""
        self.deployed.append(self.place / f"pages-{machine.github['run_id']}")
        return {"page_url": "https://host.github.io/board/"}
