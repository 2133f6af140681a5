"""Synthetic boards: agents of growing skill, each with a result on eight tasks, as files and as a repository."""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from bench import rank_bench
from evaluator.host.digests.runtime_digest import runtime_digest
from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.loading.yaml_loader import read_challenge
from evaluator.model import canonical_json
from evaluator.model.config.challenge import Challenge
from evaluator.model.measurement_version import MEASUREMENT_VERSION
from evaluator.model.records.result import RESULT_SCHEMA, Result, WantedResult, result_path
from leaderboard.core.store import RECORD_ENDING, TRACE_ENDING

ROOT = Path(__file__).parents[1]
SEED = 1
BASE = "sha256:" + "b" * 64
"""The identity of a base image that no engine has to have."""
MAIN = "refs/heads/main"
RULES = "challenge.yml"
# A small integer action for each of some 5,000 steps, packed.
TRACE_BYTES = 2_000


def write_board(place: Path, count: int) -> None:
    """A board with that many agents, each with a result on every task, as a checkout of it would lie on disk."""
    digests = _write_agents(place, count)
    for name in ("site", "mkdocs.yml"):
        (place / name).symlink_to(ROOT / name)
    _write_records(place, read_challenge(place / RULES), digests, dict.fromkeys(digests, "a" * 40))


def write_repository(place: Path, count: int) -> None:
    """The same as `place/clone`, the clone of a bare repository `place/origin` in which each agent came by a commit.

    Its results and traces lie in `place/accepted`, as the check of a round leaves them; no branch has them yet.
    """
    clone, origin = place / "clone", place / "origin"
    digests = _write_agents(clone, count)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(origin)], check=True)
    marks = place / "marks"
    importing = ["git", "fast-import", "--quiet", f"--export-marks={marks}"]
    with subprocess.Popen(importing, cwd=origin, stdin=subprocess.PIPE) as git:
        assert git.stdin is not None
        git.stdin.writelines(_commits(clone, list(digests)))
    shas = dict(line.split() for line in marks.read_text().splitlines())
    for command in (
        ["init", "-q", "-b", "main"],
        ["remote", "add", "origin", f"file://{origin}"],
        ["fetch", "-q", "origin"],
    ):
        subprocess.run(["git", *command], cwd=clone, check=True)
    subprocess.run(["git", "reset", "-q", "--hard", "origin/main"], cwd=clone, check=True)
    beacons = {login: shas[f":{2 + number}"] for number, login in enumerate(digests)}
    _write_records(place / "accepted", read_challenge(clone / RULES), digests, beacons)


def _write_agents(place: Path, count: int) -> dict[str, str]:
    """The digest of each login's agent."""
    place.mkdir(parents=True)
    rules = rank_bench.challenge()
    fields = {"id", "episodes", "score", "bounds", "random", "reference"}
    tasks = [task.model_dump(mode="json", include=fields) for task in rules.tasks]
    (place / RULES).write_text(yaml.safe_dump({"title": "Bench", "season": "1", "tasks": tasks}))
    challenge = read_challenge(place / RULES)
    return {
        f"user{number}": _write_agent(place / "submissions" / f"user{number}", number, challenge) for number in range(count)
    }


def _write_agent(owner: Path, number: int, challenge: Challenge) -> str:
    folder = owner / "agent"
    folder.mkdir(parents=True)
    (folder / "submission.yml").write_text(f"name: Agent {number}\nalgorithm: PPO variant {number % 40}\n")
    (folder / "agent.py").write_text(f"class Agent:\n    def act(self, observation):\n        return {number}\n")
    return read_folder(folder, challenge.submissions).digest


def _commits(clone: Path, logins: list[str]) -> Iterator[bytes]:
    """What fast-import takes: the rules, then a commit for each agent."""
    folders = [(login, sorted((clone / "submissions" / login / "agent").iterdir())) for login in logins]
    for mark, (subject, files) in enumerate([("rules", [clone / RULES]), *folders], 1):
        yield f"commit {MAIN}\nmark :{mark}\ncommitter Host <host@example.org> {1767225600 + mark} +0000\n".encode()
        yield f"data {len(subject)}\n{subject}\n".encode()
        for file in files:
            content = file.read_bytes()
            yield f"M 100644 inline {file.relative_to(clone)}\ndata {len(content)}\n".encode() + content + b"\n"


def _write_records(place: Path, challenge: Challenge, digests: dict[str, str], beacons: dict[str, str]) -> None:
    random = np.random.default_rng(SEED)
    form = {task.id: _document(challenge, task.id) for task in challenge.tasks}
    skills = random.uniform(0, 500, size=len(digests))
    for login_id, ((login, digest), skill) in enumerate(zip(digests.items(), skills, strict=True), 1):
        for task in challenge.tasks:
            returns = np.clip(random.normal(skill, 60, size=task.counted), 0, 500).round(2).tolist()
            inputs = {name: form[task.id][name] for name in ("task_digest", "runtime_digest", "season")}
            key = WantedResult(submission_digest=digest, beacon=beacons[login], **inputs).key()
            trace = hashlib.shake_256(key.encode()).digest(TRACE_BYTES)
            document = form[task.id] | {
                "key": key, "login": login, "login_id": login_id, "submission_digest": digest, "beacon": beacons[login],
                "seeds": [f"{i:032x}" for i in range(len(returns))],
                "returns": returns, "lengths": [round(value) for value in returns],
                "provenance": {"commit": "d" * 40, "run_url": None, "evaluated_at": _moment(int(key, 16))},
                "trace_sha256": hashlib.sha256(trace).hexdigest(),
            }  # fmt: skip
            del document["self_sha256"]
            document["self_sha256"] = canonical_json.digest(document)
            path = result_path(task.id, login, "agent", key)
            _write(place / "results" / (path + RECORD_ENDING), json.dumps(document, indent=1).encode() + b"\n")
            _write(place / "traces" / (path + TRACE_ENDING), trace)


def _document(challenge: Challenge, task_id: str) -> dict[str, Any]:
    """The fields that all results of a task share, in the order of a result's file."""
    task = challenge.task(task_id)
    assert task is not None
    fields = {
        "schema": RESULT_SCHEMA, "protocol": MEASUREMENT_VERSION, "key": "0" * 64, "class": "official", "task": task.id,
        "task_digest": task.digest(), "login": "user0", "login_id": 1, "agent": "agent", "submission_digest": "0" * 64,
        "season": "1", "beacon": "0" * 40, "beacon_verified": True, "sandbox": "docker",
        "runtime_digest": runtime_digest(BASE), "verdict": "ok", "seeds": ["0" * 32], "returns": [0], "lengths": [0],
        "limits": challenge.limits.model_dump(mode="json"), "cost": {"cpu_seconds": 1.5, "wall_seconds": 3.0, "steps": 9},
        "versions": {"python": "3.12.1", "numpy": "2.4.6"}, "platform": "linux x86_64", "trace_sha256": "c" * 64,
        "provenance": {"evaluated_at": _moment(0)},
    }  # fmt: skip
    return Result.with_self_hash(fields).document()


def _moment(number: int) -> str:
    return f"2026-{1 + number % 9:02}-{1 + number % 28:02}T{number % 24:02}:{number % 60:02}:{number % 59:02}Z"


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
