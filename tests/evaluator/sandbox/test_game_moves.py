"""On the player's side: what is no integer is told apart for each position, and an adapter stands between file and agent."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from evaluator import wire
from evaluator.sandbox import load_agent
from evaluator.sandbox.main import MAX_COMPLAINT_LINES, MoveEncoder

BAD = wire.MALFORMED


class Seven:
    def __index__(self) -> int:
        return 7


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ([1, True, Seven(), np.int8(3)], [1, 1, 7, 3]),
        ([1, None, 2.0, "3"], [1, BAD, BAD, BAD]),
        ([2**63, -(2**63) - 1, 2**63 - 1, 10**400], [BAD, BAD, 2**63 - 1, BAD]),
        ([np.array([1]), np.float32(1), [1], 5], [BAD, BAD, BAD, 5]),
    ],
)
def test_each_move_is_judged_alone(moves: list[Any], expected: list[int]) -> None:
    for body in (MoveEncoder().singles(moves), MoveEncoder().stacked(moves, 4), MoveEncoder().stacked(tuple(moves), 4)):
        assert np.frombuffer(body, "<i8").tolist() == expected


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        (np.array([1, 2], np.uint8), [1, 2]),
        (np.array([1, 2**63], np.uint64), [1, BAD]),
        (np.array([1.0, 2.0]), [BAD, BAD]),
        (np.array([[1], [2]]), [BAD, BAD]),
        (np.array([1, 2, 3]), [BAD, BAD]),
        (7, [BAD, BAD]),
        (None, [BAD, BAD]),
    ],
)
def test_a_batch_is_one_move_for_each_position(moves: Any, expected: list[int]) -> None:
    assert np.frombuffer(MoveEncoder().stacked(moves, 2), "<i8").tolist() == expected


def test_complaints_do_not_fill_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    MoveEncoder().singles([None] * 500)

    assert capfd.readouterr().out.count("act returned None; a move is one integer") == MAX_COMPLAINT_LINES


def test_an_adapter_makes_the_agent_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, adapter = ModuleType("evaluator.sandbox.adapters"), ModuleType("evaluator.sandbox.adapters.other_system")
    vars(adapter)["agent"] = lambda module: module.Player
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setitem(sys.modules, adapter.__name__, adapter)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "player.py").write_text("class Player:\n    name = 'old'\n")

    assert load_agent.load_agent(tmp_path, "player.py", "other-system").name == "old"  # type: ignore[attr-defined]
    with pytest.raises(load_agent.AgentError, match=r"defines no class Agent .*observation\)$"):
        load_agent.load_agent(tmp_path, "player.py")
    (tmp_path / "player.py").write_text("class Net:\n    pass\nclass Mine:\n    def act(self, observation): ...\n")
    with pytest.raises(load_agent.AgentError, match=r"observation\); rename Mine to Agent$"):
        load_agent.load_agent(tmp_path, "player.py")
