"""The runs that are disturbed: what is prepared for each, the command, and its records without what differs by nature."""

import atexit
import copy
import functools
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.github.api.client import GitHub
from scripts.github.official.round_work import PLANNED_BRANCH
from tests.github.server import GitHubStandIn
from tests.github.world import NAME, OWNER, REPOSITORY_ID, World
from tests.hostile.arena import base
from tests.scripts.checkouts import LEGAL, ROOT, game_board, submit
from tests.scripts.github.remotes import CHALLENGE, Clone, git, origin_branch
from tests.scripts.github.scenes import build
from tests.scripts.maintenance.test_close_season import OPEN, play

HOOK = Path(__file__).parent / "hook"
_DAY, _MINUTE = rb"\d{4}(?:-|&#45;)\d\d(?:-|&#45;)\d\d", rb"\d\d(?::|&#58;)\d\d(?::\d\d)?"
_TIMES = re.compile(
    _DAY
    + rb"(?:[T ]"
    + _MINUTE
    + rb"(?:Z| UTC|\+00:00)?)?|\w{3}, \d\d \w{3} \d{4} [\d:]+ \+0000|(?<=timestamp_seconds )[\d.]+"
)
AGENT = "class Agent:\n    def act(self, observation):\n        return 0\n"

Snapshot = dict[str, Any]


@dataclass
class Place:
    """Where a run is disturbed: a board, a temporary folder of its own, and what the machine is told."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)
    stops: list[Callable[[], None]] = field(default_factory=list)
    world: World | None = None
    words: list[str] = field(default_factory=list)
    """The command."""

    @property
    def board(self) -> Path:
        return self.root / "board"

    def environment(self) -> dict[str, str]:
        """All variables of the run."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PULLRANK_PINNED", "GITHUB_"))}
        temporary = self.root / "tmp"
        temporary.mkdir(exist_ok=True)
        return {
            **own, "PYTHONPATH": f"{HOOK}:{ROOT}", "TMPDIR": str(temporary), "PULLRANK_FAULT_ROOM": str(self.root),
            "BASE_IMAGE": base(), **self.variables,
        }  # fmt: skip

    def start(self, words: list[str], **more: str) -> subprocess.Popen[str]:
        """Start the command, in a session of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "scripts.cli", *words], cwd=self.board, env={**self.environment(), **more},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Run:
    """A command on a board."""

    words: Callable[[], list[str]]
    prepare: Callable[[Place], None]
    snapshot: Callable[[Place], Snapshot]
    needs_engine: bool = False
    own_engine: bool = False
    """Whether it needs an engine without the evaluator image."""


def without_times(document: Any) -> Any:
    """A record without what no two runs have in common: times, and what was measured of the machine.

    Also without `continued_after`: an evaluation beside the one that is killed is stopped by the end of its parent, writes
    down what it finished if it finished anything, and goes on from there in the run that follows.
    """
    if isinstance(document, dict):
        left_out = {
            "cpu_seconds", "wall_seconds", "peak_memory_bytes", "evaluated_at", "self_sha256", "milliseconds", "run_url",
            "continued_after",
        }  # fmt: skip
        return {name: without_times(value) for name, value in document.items() if name not in left_out or name == "limits"}
    if isinstance(document, list):
        return [without_times(value) for value in document]
    return document


def _record(path: str, content: bytes) -> Any:
    document = json.loads(content)
    if path.endswith(".trace.json"):
        return hashlib.sha256(content).hexdigest()
    limits = document.get("limits") if isinstance(document, dict) else None
    return {**without_times(document), "limits": limits} if limits is not None else without_times(document)


def stored(place: Place) -> Snapshot:
    """All that lies in results/ and traces/, hidden files included."""
    files: Snapshot = {}
    for name in ("results", "traces"):
        for path in sorted((place.board / name).rglob("*")):
            if path.is_file():
                shown = str(path.relative_to(place.board))
                files[shown] = _record(shown, path.read_bytes()) if path.suffix == ".json" else path.read_bytes()
    return files


def site(place: Place) -> Snapshot:
    """Hashes of the site's files without times, and whatever lies beside it."""
    built = place.board / "build" / "site"
    files = {str(p.relative_to(built)): _digest(p) for p in sorted(built.rglob("*")) if p.is_file()}
    beside = sorted(path.name for path in (place.board / "build").iterdir())
    return {**files, "beside": beside, **stored(place)}


def site_names(place: Place) -> Snapshot:
    """The names of the site's files, and the records: duels that are played anew take other times."""
    return {"site": sorted(name for name in site(place) if "/" in name), **stored(place)}


def _digest(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".html":  # a citation's time is escaped
        content = html.unescape(content.decode()).encode()
    return hashlib.sha256(_TIMES.sub(b"T", content)).hexdigest()


def closed(place: Place) -> Snapshot:
    """What closing a season leaves: pages, citation, the names in the archive, and season.json."""
    root = place.board
    pages = root / "site" / "pages" / "seasons"
    files = {
        str(p.relative_to(root)): _digest(p) for p in sorted(pages.rglob("*")) if p.is_file() and p.name != "summary.md"
    }
    season = json.loads((root / "results" / "season.json").read_text())["seasons"]
    facts = [(one["season"], one["closed"]["results"], one["closed"]["steps"]) for one in season]
    archives = sorted(path.name for path in (root / "build").glob("*.tar.gz"))
    return {**files, "citation": _digest(root / "CITATION.cff"), "closed": facts, "archives": archives}


def published(place: Place) -> Snapshot:
    """The data branches, how many commits they have, and what the repository says of itself."""
    origin = place.board.parent / "origin.git"
    clone = Clone(place.board)
    branches: Snapshot = {}
    for name in git(origin, "for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines():
        # The note that nothing is missing saves time only; a run that finds nothing to publish writes none.
        if name not in ("main", PLANNED_BRANCH):
            files = origin_branch(clone, name)
            branches[name] = {path: _record(path, content) for path, content in files.items() if "/" in path}
            branches[f"{name}: commits"] = git(origin, "rev-list", "--count", name)
    git(origin, "fsck", "--strict")
    branches["locks"] = sorted(path.name for path in origin.rglob("*.lock"))
    return branches


def images(place: Place) -> Snapshot:
    """The images that an engine has, by name, and its containers."""
    engine = ["docker", "--host", place.variables["DOCKER_HOST"]]
    listed = subprocess.run([*engine, "images", "--format", "{{.Repository}}"], check=True, capture_output=True, text=True)
    made = subprocess.run([*engine, "ps", "--all", "--quiet"], check=True, capture_output=True, text=True)
    return {"images": sorted(set(listed.stdout.split())), "containers": made.stdout.split()}


def handed_in(place: Place) -> Snapshot:
    """A shard's folder."""
    out = place.root / "shard-0"
    return {
        str(path.relative_to(out)): _record(path.name, path.read_bytes())
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


@functools.cache
def _templates() -> Path:
    """Where boards are prepared once; removed at the end."""
    place = Path(tempfile.mkdtemp(prefix="fault-boards-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


def _copied(make: Callable[[Path], None], name: str) -> Callable[[Place], None]:
    @functools.cache
    def template() -> Path:
        made = _templates() / name
        made.mkdir()
        make(made)
        return made

    def prepare(place: Place) -> None:
        shutil.copytree(template(), place.board, symlinks=True)

    return prepare


def _solo_board(root: Path) -> None:
    (root / "challenge.yml").write_bytes(CHALLENGE)
    submit(root, "a", AGENT, tasks="all")


def _game_board(root: Path) -> None:
    game_board(root)
    submit(root, "one", LEGAL)
    submit(root, "two", LEGAL + "\n# another\n", login="bob")


def _played_board(root: Path) -> None:
    _game_board(root)
    for words in (["evaluate", "example_agents/random"], ["tournament"]):
        command = [sys.executable, "-m", "scripts.cli", *words, "--sandbox", "process"]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PULLRANK_PINNED")}
        subprocess.run(command, cwd=root, env={**environment, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)


def _ended_board(root: Path) -> None:
    """A season whose submissions have ended and whose final draw is recorded."""
    shutil.copytree(ROOT / "site", root / "site")
    shutil.copy(ROOT / "mkdocs.yml", root / "mkdocs.yml")
    (root / "challenge.yml").write_text(OPEN.replace('"2026"\n', '"2026"\nfinal: "2026"\n'))
    agent = root / "submissions" / "alice" / "pole"
    agent.mkdir(parents=True)
    (agent / "agent.py").write_text(AGENT)
    (agent / "submission.yml").write_text("name: Pole\nalgorithm: none\n")
    (root / ".gitignore").write_text("results/\ntraces/\nbuild/\n")
    git(root, "init", "-q", "-b", "main", ".")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    play(root, root, git(root, "rev-parse", "HEAD"))


@functools.cache
def _merged_scene() -> tuple[Path, World, str, dict[str, str]]:
    """A board at GitHub with one merged agent, its round planned; the first shard is still to be played."""
    place = _templates() / "github"
    place.mkdir()
    stand_in = GitHubStandIn(World())
    for login, number in (("alice", 11), ("bob", 22), ("eve", 66)):
        stand_in.world.person(login, number)
    stand_in.start()
    try:
        scene = build(place, stand_in, GitHub("bot-token", stand_in.address, f"{OWNER}/{NAME}", pace=0))
        scene.bring(source=AGENT.encode())
        merged = scene.merge()
        scene.world.commits[merged] = [7]
        git(scene.clone.path, "checkout-index", "-f", "challenge.yml")
        whole = Place(place, variables=scene.environment() | {"GITHUB_OUTPUT": str(place / "output"), "PULLRANK_PACE": "0"})
        scene.clone.path.rename(whole.board)
        whole.variables["GITHUB_WORKSPACE"] = str(whole.board)
        _done(whole, ["bot", "plan"])
        outputs = dict(line.split("=", 1) for line in (place / "output").read_text().splitlines())
        for shard in json.loads(outputs["shards"]):
            _done(whole, [*shard_words(outputs, shard), "--out", str(place / "shards" / f"shard-{shard}")])
    finally:
        stand_in.stop()
    return place, stand_in.world, merged, outputs


def shard_words(outputs: Mapping[str, str], shard: int) -> list[str]:
    """The command of a shard's job."""
    count, sha = str(len(json.loads(outputs["shards"]))), json.loads(outputs["sha"])
    words = ["bot", "evaluate", "--shard", str(shard), "--shards", count, "--sha", sha]
    results = json.loads(outputs["results_sha"])
    return [*words, "--results-sha", results] if results else words


def _done(place: Place, words: list[str]) -> None:
    process = place.start(words)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output


def _at_github(place: Place) -> None:
    """A copy of the board, its origin and its shards, with a stand-in for GitHub of its own."""
    source, world, _, _ = _merged_scene()
    for name in ("board", "origin.git", "shards"):
        shutil.copytree(source / name, place.root / name, symlinks=True)
    git(place.board, "remote", "set-url", "origin", str(place.root / "origin.git"))
    stand_in = GitHubStandIn(copy.deepcopy(world))
    stand_in.start()
    place.stops.append(stand_in.stop)
    place.world = stand_in.world
    (place.root / "event.json").write_text("{}")
    place.variables |= {
        "GITHUB_EVENT_NAME": "schedule", "GITHUB_EVENT_PATH": str(place.root / "event.json"), "GITHUB_RUN_ID": "500",
        "GITHUB_REPOSITORY": f"{OWNER}/{NAME}", "GITHUB_REPOSITORY_ID": str(REPOSITORY_ID), "GITHUB_TOKEN": "bot-token",
        "GITHUB_SHA": git(place.board, "rev-parse", "HEAD"), "GITHUB_API_URL": stand_in.address,
        "GITHUB_WORKSPACE": str(place.board), "GITHUB_OUTPUT": str(place.root / "output"),
        "GITHUB_STEP_SUMMARY": str(place.root / "summary"), "PULLRANK_PACE": "0",
    }  # fmt: skip


def comments(place: Place) -> Snapshot:
    """What was said on the pull request, and its labels."""
    assert place.world is not None
    bodies = [comment.body for comment in place.world.comments.values()]
    return {"comments": bodies, "labels": sorted(place.world.labelled.get(7, ())), **published(place)}


def _publish_words() -> list[str]:
    """The command of the round's last job; the folders are the place's own."""
    _, _, _, outputs = _merged_scene()
    count, sha = str(len(json.loads(outputs["shards"]))), json.loads(outputs["sha"])
    return ["bot", "publish", "--in", "../shards", "--sha", sha, "--shards", count, "--accepted", "../accepted"]


def _published_board(place: Place) -> None:
    _at_github(place)
    _done(place, _publish_words())


def _words(*words: str) -> Callable[[], list[str]]:
    return lambda: list(words)


@functools.cache
def runs() -> dict[str, Run]:
    """Every run by its name."""
    solo = ("evaluate", "submissions/alice/a", "--task", "CartPole-v1", "--sandbox")
    tournament = ("tournament", "--game", "tictactoe", "--sandbox", "process", "--jobs")
    return {
        "docker": Run(
            words=_words(*solo, "docker"), prepare=_copied(_solo_board, "docker"), snapshot=stored, needs_engine=True
        ),
        "image": Run(
            words=_words("image", "ensure"), prepare=_copied(_solo_board, "image"), snapshot=images, own_engine=True
        ),
        "process": Run(words=_words(*solo, "process"), prepare=_copied(_solo_board, "process"), snapshot=stored),
        "tournament": Run(words=_words(*tournament, "1"), prepare=_copied(_game_board, "games"), snapshot=stored),
        "beside": Run(words=_words(*tournament, "2"), prepare=_copied(_game_board, "beside"), snapshot=stored),
        "demo": Run(
            words=_words("demo", "--sandbox", "process", "--jobs", "1"),
            prepare=_copied(_game_board, "demo"),
            snapshot=site_names,
        ),
        "site": Run(words=_words("site", "build"), prepare=_copied(_played_board, "played"), snapshot=site),
        "close": Run(words=_words("season", "close", "--by", "us"), prepare=_copied(_ended_board, "ended"), snapshot=closed),
        "shard": Run(
            words=lambda: [*shard_words(_merged_scene()[3], 0), "--out", "../shard-0"],
            prepare=_at_github,
            snapshot=handed_in,
        ),
        "publish": Run(words=_publish_words, prepare=_at_github, snapshot=published),
        "announce": Run(words=_words("bot", "announce"), prepare=_published_board, snapshot=comments),
        "reconcile": Run(words=_words("bot", "reconcile"), prepare=_published_board, snapshot=comments),
    }
