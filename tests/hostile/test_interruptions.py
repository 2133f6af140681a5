"""Evaluations that are interrupted and continued: no second draw for who lost, and no result of two machines."""

import dataclasses
import json
from pathlib import Path

import pytest

from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo import evaluate_agent as module
from evaluator.host.solo.partial_record import PartialFolder
from evaluator.model.config.limits import Limits
from evaluator.model.records.stored_record import Devices
from evaluator.model.records.verdict import Verdict
from evaluator.model.sealed_fields import sealed_beacon
from tests.evaluations import ANGLE_RULE, folder, order
from tests.evaluator.host.solo.test_partial_record import CARTPOLE, interrupted, kept, partials, played

__all__ = ["partials"]

# Plays badly while a file says so, and well once it is gone: it knows which attempt it is in.
TURNCOAT = """
import os
LOST = os.path.exists({path!r})
class Agent:
    def act(self, observation):
        if LOST:
            return 0
        return int(observation[2] + observation[3] > 0)
"""
STALLS = """
import os, time
LOST = os.path.exists({path!r})
class Agent:
    def __init__(self):
        self.seen = 0
    def act(self, observation):
        self.seen += 1
        if not LOST and self.seen > 3:
            time.sleep(1000)
        return int(observation[2] + observation[3] > 0)
"""


@pytest.mark.attack(
    "interrupted_turncoat",
    family="cheating",
    tries="Loses its first episodes, is interrupted, knows that it is played again, and plays well.",
    outcome="the recorded episodes stay lost, and the result says that it was continued",
)
def test_lost_episodes_stay_lost(partials: PartialFolder, tmp_path: Path) -> None:
    sign = tmp_path / "lost"
    sign.touch()
    wanted = order(folder(TURNCOAT.format(path=str(sign))), CARTPOLE)
    interrupted(wanted, partials, 5)
    before = {line["episode"]: line["total"] for line in kept(partials)}
    sign.unlink()

    result = played(wanted, partials).result

    assert {number: result.returns[number] for number in before} == before
    assert max(before.values()) < 15 < max(result.returns)
    assert result.continued_after == (len(before),)


@pytest.mark.attack(
    "interrupted_then_stalls",
    family="cheating",
    tries="Stalls after an interruption, to be continued once more from where it stood.",
    outcome="timeout: a verdict ends the evaluation, and its record is gone",
)
def test_a_verdict_ends_what_could_be_continued(partials: PartialFolder, tmp_path: Path) -> None:
    sign = tmp_path / "lost"
    sign.touch()
    wanted = order(folder(STALLS.format(path=str(sign))), CARTPOLE, limits=Limits(answer_seconds=0.5))
    interrupted(wanted, partials, 3)
    sign.unlink()

    result = played(wanted, partials).result

    assert (result.verdict, result.returns) == (Verdict.TIMEOUT, ())
    assert not list(partials.folder.iterdir())


@pytest.mark.parametrize("changed", ["machine", "code", "run", "image", "cards", "commit", "limits", "sandbox"])
def test_nothing_is_continued_under_other_circumstances(
    changed: str, partials: PartialFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    interrupted(wanted, partials, 4)
    before = module._belongs_to
    monkeypatch.setattr(module, "_belongs_to", lambda request, sandbox: {**before(request, sandbox), changed: "another"})

    result = played(wanted, partials).result

    assert (result.verdict, result.continued_after) == (Verdict.OK, None)


@pytest.mark.attack(
    "interrupted_other_machine",
    family="cheating",
    tries="Copies the record of a fast machine to another one, so that a result is of two.",
    outcome="all episodes are played anew, and the result names no continuation",
)
def test_a_record_of_another_machine_is_not_continued(partials: PartialFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    interrupted(wanted, partials, 4)
    monkeypatch.setattr(module, "machine_digest", lambda: "f" * 64)

    assert played(wanted, partials).result.continued_after is None


@pytest.mark.attack(
    "interrupted_other_cards",
    family="cheating",
    tries="Begins on processors and continues on graphics cards.",
    outcome="all episodes are played anew, and the result names no continuation",
)
def test_a_record_without_cards_is_not_continued_with_them(partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    interrupted(wanted, partials, 4)

    result = played(dataclasses.replace(wanted, gpus=Devices(wanted=1)), partials).result

    assert (result.verdict, result.continued_after) == (Verdict.OK, None)


@pytest.mark.attack(
    "interrupted_other_run",
    family="cheating",
    tries="Lets a later run of the workflow continue what an earlier one began.",
    outcome="all episodes are played anew, and the result names no continuation",
)
def test_another_run_does_not_continue(partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE, run_url="https://example.org/runs/1")
    interrupted(wanted, partials, 4)

    result = played(dataclasses.replace(wanted, run_url="https://example.org/runs/2"), partials).result

    assert (result.verdict, result.continued_after) == (Verdict.OK, None)


@pytest.mark.attack(
    "interrupted_other_version",
    family="cheating",
    tries="Changes the agent after an interruption and keeps the good episodes of the version before.",
    outcome="all episodes are played anew: the version is part of the key",
)
def test_another_version_does_not_continue(partials: PartialFolder) -> None:
    interrupted(order(folder(ANGLE_RULE), CARTPOLE), partials, 4)

    result = played(order(folder(ANGLE_RULE + "\n# better\n"), CARTPOLE), partials).result

    assert (result.verdict, result.continued_after) == (Verdict.OK, None)


def _doubled_return(lines: list[bytes]) -> list[bytes]:
    line = json.loads(lines[1])
    return [lines[0], json.dumps({**line, "total": line["total"] + 1}, separators=(",", ":")).encode(), *lines[2:]]


def _dropped_episode(lines: list[bytes]) -> list[bytes]:
    return [lines[0], *lines[2:]]


def _repeated_episode(lines: list[bytes]) -> list[bytes]:
    return [*lines, lines[1]]


def _no_beginning(lines: list[bytes]) -> list[bytes]:
    return lines[1:]


def _bomb(lines: list[bytes]) -> list[bytes]:
    line = json.loads(lines[-1])
    line["actions"][0]["shape"] = [1 << 20, 1 << 20]
    return [*lines[:-1], json.dumps(line).encode()]


@pytest.mark.attack(
    "interrupted_edited_record",
    family="cheating",
    tries="Edits, drops, repeats or swells lines of the record of finished episodes.",
    outcome="internal_error that names the file: nothing is played until a person removes it",
)
@pytest.mark.parametrize("edit", [_doubled_return, _dropped_episode, _repeated_episode, _no_beginning, _bomb])
def test_an_edited_record_is_refused(edit: object, partials: PartialFolder) -> None:
    wanted = order(folder(ANGLE_RULE), CARTPOLE)
    interrupted(wanted, partials, 4)
    (path,) = partials.folder.iterdir()
    changed = b"\n".join(edit(path.read_bytes().splitlines())) + b"\n"  # type: ignore[operator]
    path.write_bytes(changed)

    result = played(wanted, partials).result

    assert result.verdict is Verdict.INTERNAL_ERROR
    assert f"{path} is damaged" in result.message
    assert "remove it to play all of them anew" in result.message
    assert path.read_bytes() == changed


@pytest.mark.attack(
    "interrupted_sealed_season",
    family="cheating",
    tries="Reads a sealed season's episodes from the record that an interruption leaves on the disk.",
    outcome="in a sealed season no such record is written",
)
def test_a_sealed_season_leaves_nothing_on_the_disk(partials: PartialFolder) -> None:
    secret = SeasonSecret(b"s" * 32)
    wanted = order(folder(ANGLE_RULE), CARTPOLE, secret=secret, beacon=sealed_beacon(secret.sha256))
    interrupted(wanted, partials, 4)

    assert not partials.folder.exists()
    assert played(wanted, partials).result.continued_after is None
