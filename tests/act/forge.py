"""The forge of tests/workflows with act in its runner's place: GitHub's events and filters, real actions, git over HTTP."""

import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.act import places
from tests.act.artifacts import ArtifactService
from tests.act.githttp import GitServer
from tests.act.runner import ActRunner
from tests.github.world import NAME, OWNER
from tests.workflows.engine import Expressions
from tests.workflows.forge import Forge
from tests.workflows.remote import git
from tests.workflows.runner import Run


class ActForge(Forge):
    """One board's repository, alive, its workflows run by act."""

    def __init__(self, place: Path, files: Path, expressions: Expressions, *, private: bool) -> None:
        """Begin with `files` on main; a private repository's git asks for a token before it tells anything."""
        super().__init__(place, files, expressions)
        served = place / "served" / OWNER
        served.mkdir(parents=True)
        (served / NAME).symlink_to(self.remote.bare)
        git(self.remote.bare, "config", "http.receivepack", "true")
        self.server = GitServer(served.parent, self.world.tokens, private=private)
        self.artifacts = ArtifactService(self._stored)
        self.left_out: set[str] = set()
        """Workflow files that no event starts, for what they do is beside the point."""
        self.runner: ActRunner = ActRunner(  # type: ignore[assignment]
            remote=self.remote, server=self.server, artifacts=self.artifacts, root=place, tokens=self.world.tokens,
            finished=self._finished,
        )  # fmt: skip

    def _workflows(self, sha: str) -> list[str]:
        return [path for path in super()._workflows(sha) if path not in self.left_out]

    def close(self) -> None:
        """Stop the servers."""
        self.server.stop()
        self.artifacts.stop()
        super().close()

    def _stored(self, number: int, name: str, content: bytes) -> None:
        """The API has an artifact while its run goes on."""
        self.world.runs[number].artifacts[name] = content

    def _finished(self, number: int, run: Run) -> None:
        """The site of a run that has deployed one."""
        if "deploy" in run.jobs and run.jobs["deploy"].result == "success":
            self.actions.deployed.append(self._unpacked(number))

    def _unpacked(self, run: int) -> Path:
        """The site that upload-pages-artifact left with a run."""
        with zipfile.ZipFile(io.BytesIO(self.artifacts.of(run)["github-pages"])) as packed:
            content = packed.read("artifact.tar")
        place = self.place / f"pages-{run}"
        with tarfile.open(fileobj=io.BytesIO(content)) as site:
            site.extractall(place, filter="data")
        return place

    @contextmanager
    def measured(self, occasion: str) -> Iterator[None]:
        """What runs meanwhile is written down under a name, for the table that minutes.py makes."""
        self.runner.occasion = occasion
        yield
        self.runner.occasion = ""

    def write_minutes(self, chapter: str) -> None:
        """Job durations of this forge into build/act/, for whoever counts minutes."""
        jobs = [{**vars(job), "billed_minutes": job.billed} for job in self.runner.jobs]
        content = {"chapter": chapter, "billed_minutes": sum(job.billed for job in self.runner.jobs), "jobs": jobs}
        places.BUILD.mkdir(parents=True, exist_ok=True)
        (places.BUILD / f"minutes-{chapter}.json").write_text(json.dumps(content, indent=1) + "\n")
