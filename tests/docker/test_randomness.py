"""Agents that draw from common generators, in real containers: the same choices again, over either kind of channel."""

from datetime import UTC, datetime

import pytest

from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.solo.evaluate_agent import Evaluation, evaluate_agent
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.limits import Limits
from evaluator.model.records.parse import parse_trace
from evaluator.model.records.verdict import Verdict
from tests.evaluations import duelled, evaluated, folder, order
from tests.evaluator import foreign_agents
from tests.evaluator.sandbox.test_seeding import AGENT, CHOICES, PLAYER, POLE, SCRIPT, TICTACTOE, UNEVEN, actions, agent
from tests.evaluator.script_runs import script

pytestmark = pytest.mark.docker
URANDOM = AGENT.format(imports="import os", choice="os.urandom(1)[0] % 2", kind="")
# The platform's template, a process for each episode, at random.
EVALAI = foreign_agents.EVALAI.replace("import time", "import time, random", 1).replace(
    'int(base["feedback"][0][2] > 0)', "random.choice([0, 1])"
)
PATIENT = Limits(answer_seconds=60, start_seconds=300)


@pytest.fixture(params=["docker", "standard_streams", "gvisor"])
def box(request: pytest.FixtureRequest) -> SelectedSandbox:
    """Both container sandboxes, and both kinds of channel."""
    selected: SelectedSandbox = request.getfixturevalue(request.param)
    return selected


@pytest.mark.parametrize("name", CHOICES)
def test_an_agent_that_draws_chooses_the_same_again(box: SelectedSandbox, name: str) -> None:
    one, other = (evaluated(agent(name), POLE, box) for _ in range(2))

    assert actions(one) == actions(other)


def test_a_player_and_a_script_that_draw_do_the_same_again(box: SelectedSandbox) -> None:
    duels = [duelled(PLAYER, UNEVEN, TICTACTOE, box) for _ in range(2)]
    scripts = [script(SCRIPT, chosen=box) for _ in range(2)]

    assert [duel.verdict for duel in duels] == [Verdict.OK] * 2
    assert duels[0].match_moves() == duels[1].match_moves()
    assert actions(scripts[0]) == actions(scripts[1])


def test_entropy_of_the_machine_stays_its_own_and_the_record_fits(box: SelectedSandbox) -> None:
    one, other = (evaluated(URANDOM, POLE, box) for _ in range(2))

    assert actions(one) != actions(other)
    finding = verify_result("x", one.result.serialised(), one.trace, load_gym_task(POLE))
    assert finding.status is VerificationStatus.VERIFIED


def test_every_process_of_an_agent_of_evalai_draws_by_its_own_episodes_seed(docker: SelectedSandbox) -> None:
    submission = folder(EVALAI, foreign_agents.manifest("evalai-grpc"))

    def played() -> Evaluation:
        wanted = order(submission, POLE.model_copy(update={"episodes": 4}), limits=PATIENT)
        return evaluate_agent(
            wanted, docker.kind, docker.opener, lambda: datetime(2026, 1, 2, tzinfo=UTC), lambda done: None
        )

    one, other = played(), played()

    assert actions(one) == actions(other)
    trace = parse_trace(one.trace or b"")
    chosen = trace.actions[0].array(trace.steps()).tolist()
    begins = [sum(episode.length for episode in trace.episodes[:index]) for index in range(4)]
    assert len({tuple(chosen[begin : begin + 8]) for begin in begins}) == 4
