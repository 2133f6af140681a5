"""Agents of the other systems in whole duels: through the adapters, in sandboxes."""

import pytest

from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import MatchEnd
from evaluator.model.records.verdict import Verdict
from tests.duels import RANDOM, duelled
from tests.evaluations import process
from tests.evaluator.sandbox.test_adapters import ALWAYS, GAMES, KAGGLE, PLAYER, task

WITH_FILE = """
from pathlib import Path
import agent as myself  # noqa

WORDS = open("agent.py").read()
"""


@pytest.mark.parametrize("name", GAMES)
def test_arena_player_plays_a_whole_duel_in_its_sandbox(name: str) -> None:
    source = WITH_FILE + PLAYER.replace("self.calls.append((how", "assert self.calls is not None; (lambda x: None)((how")

    tally = duelled((source, RANDOM), task(name), process(), adapters=("rl-arena", None))

    assert tally.faults == (None, None)
    assert {match.end for match in tally.matches} == {MatchEnd.PLAYED}


def test_kaggle_agent_plays_a_whole_duel_each_match_with_globals_of_its_own() -> None:
    counts = "    COUNTED['step'] = max(COUNTED['step'], observation.step)\n    assert COUNTED['step'] == observation.step\n"
    source = WITH_FILE + KAGGLE.replace('    COUNTED["moves"] += 1\n', counts)

    tally = duelled((source, source), task("connect_four"), process(), adapters=("kaggle-connectx",) * 2)

    assert tally.faults == (None, None)
    assert {match.end for match in tally.matches} <= {MatchEnd.PLAYED, MatchEnd.ILLEGAL}
    assert MatchEnd.PLAYED in {match.end for match in tally.matches}


@pytest.mark.parametrize(
    ("answer", "end", "refused"),
    [
        ("None", MatchEnd.MALFORMED, None),
        ("'x'", MatchEnd.MALFORMED, None),
        ("10 ** 40", MatchEnd.MALFORMED, None),
        ("-2", MatchEnd.ILLEGAL, -2),
    ],
)
@pytest.mark.parametrize("adapter", ["rl-arena", "kaggle-connectx"])
def test_wrong_answer_through_an_adapter_loses_the_match_only(
    answer: str, end: MatchEnd, refused: int | None, adapter: str
) -> None:
    source = ALWAYS.format(answer) + f"def agent(observation, configuration):\n    return {answer}\n"

    tally = duelled((source, RANDOM), task("connect_four"), process(), adapters=(adapter, None))

    assert tally.faults == (None, None)
    assert {(match.end, match.winner, match.refused) for match in tally.matches} == {(end, 1, refused)}


def test_game_of_neither_forfeits_with_the_reason() -> None:
    tally = duelled((PLAYER, RANDOM), Task(id="rps", game="pettingzoo.classic.rps_v2", kwargs={"max_cycles": 3}, opening=0,
                    matches=4), process(), adapters=("rl-arena", None))  # fmt: skip

    assert tally.faults[0] is not None
    assert tally.faults[0].verdict is Verdict.INVALID
    assert "the adapter rl-arena plays" in str(tally.faults[0])
