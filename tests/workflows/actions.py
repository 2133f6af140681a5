"""What the actions that we use do, done on this machine."""

import fnmatch
import io
import shutil
import stat
import sys
import zipfile
from pathlib import Path
from typing import Any

from tests.github.world import World
from tests.workflows.remote import Remote, git
from tests.workflows.runner import Action, Machine, StepFailedError

COMMAND = """\
#!/bin/sh
PYTHONPATH="{workspace}" exec "{python}" -m scripts.cli "$@"
"""


class Actions:
    """The actions over one remote and one stand-in."""

    def __init__(self, remote: Remote, world: World, place: Path) -> None:
        """Artifacts go to the stand-in's runs, the deployed site below `place`."""
        self.remote = remote
        self.world = world
        self.place = place
        self.attested: list[tuple[str, dict[str, Any]]] = []
        self.deployed: list[Path] = []

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
        """Fetch and check out a branch or a commit, shallow unless told otherwise."""
        place = machine.workspace / inputs.get("path", ".")
        place.mkdir(exist_ok=True)
        ref = inputs.get("ref") or machine.github["sha"]
        sha = ref if len(ref) == 40 else self.remote.tip(f"refs/heads/{ref}")
        git(place, "init", "--quiet")
        git(place, "remote", "add", "origin", self.remote.url)
        if inputs.get("fetch-depth") == 0:
            git(place, "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*")
            git(place, "fetch", "--quiet", "origin", sha)
        else:
            git(place, "fetch", "--quiet", "--depth=1", "origin", sha)
        git(place, "checkout", "--quiet", "--detach", sha)
        return {}

    def setup_python(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """A `.venv` that has everything already, over the sources of this checkout."""
        place = machine.workspace / ".venv"
        (place / "bin").mkdir(parents=True)
        command = place / "bin" / "pullrank"
        command.write_text(COMMAND.format(workspace=machine.workspace, python=sys.executable))
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        (place / "bin" / "python").symlink_to(sys.executable)
        (place / "runtime.done").touch()
        return {}

    def upload(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """A zip at the stand-in."""
        place = Path(inputs["path"])
        files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
        files = [path for path in files if path.is_file() and not path.name.startswith(".")]
        if not files:
            raise StepFailedError(f"No files were found with the provided path: {place}")
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in files:
                packed.write(path, path.relative_to(place if place.is_dir() else place.parent))
        self.world.runs[machine.github["run_id"]].artifacts[inputs["name"]] = buffer.getvalue()
        return {}

    def download(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """Unpack artifacts of this run, each into a folder of its name."""
        artifacts = self.world.runs[machine.github["run_id"]].artifacts
        target = Path(inputs["path"])
        target.mkdir(parents=True, exist_ok=True)
        for name in fnmatch.filter(artifacts, inputs["pattern"]):
            with zipfile.ZipFile(io.BytesIO(artifacts[name])) as packed:
                packed.extractall(target / name)
        return {}

    def attest(self, machine: Machine, inputs: dict[str, Any]) -> dict[str, str]:
        """Note what was attested, and by which job."""
        if path := inputs.get("subject-path") or inputs.get("subject-checksums"):
            if not Path(path).is_file():
                raise StepFailedError(f"Could not find subject at path {path}")
            inputs = {**inputs, "content": Path(path).read_text()}
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
