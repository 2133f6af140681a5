"""Every folder under agents/, but for games, is an attack; each must get the verdict it deserves and harm nobody.

The attacks run a few at a time: each may have half a processor only, and most of their time is waiting.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from evaluator.host.docker.engine import Engine
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from evaluator.host.solo.evaluate_agent import Evaluation
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import VerificationStatus
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import INVISIBLE
from tests.hostile.arena import (
    Attack,
    attacks,
    base,
    order_of,
    our_containers,
    our_leftovers,
    over_standard_streams,
    play,
    sandboxes_for,
    write_agent,
)
from tests.needs import without_gvisor

pytestmark = pytest.mark.docker
AT_ONCE = 3
CASES = [(attack.inside(how), how) for attack in attacks() for how in sandboxes_for(attack.also)]
HONEST = """
class Agent:
    def act(self, observation):
        return int(observation[2] + 0.02 * observation[3] > 0)
"""


class Arena:
    """The sandboxes, and an honest agent's returns from before the attacks."""

    def __init__(self, engine: Engine, gvisor: bool, honest: Path) -> None:
        wanted = {"docker": lambda: select_sandbox("docker", base(), lambda line: None, over_socket=True)}
        wanted["stdio"] = lambda: over_standard_streams(engine)
        wanted["process"] = lambda: select_sandbox("process", "", lambda line: None)
        if gvisor:
            wanted["gvisor"] = lambda: select_sandbox("gvisor", base(), lambda line: None)
        self.chosen: dict[str, SelectedSandbox] = {name: open_it() for name, open_it in wanted.items()}
        self.honest = order_of(honest)
        self.before = play(self.honest, self.chosen["docker"]).result.returns

    def attempt(self, attack: Attack, how: str) -> Evaluation:
        return play(attack.order(), self.chosen[how])


@pytest.fixture(scope="module")
def arena(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    """With a temporary directory of its own, so that what is left there is ours."""
    honest = write_agent(tmp_path_factory.mktemp("honest") / "agent", HONEST)
    with tempfile.TemporaryDirectory() as room, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", room)
        yield Arena(engine, "runsc" in engine.runtimes(), honest)


@pytest.fixture(scope="module")
def outcomes(arena: Arena, request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Evaluation]]]:
    """The attacks that were asked for, all on their way."""
    calls = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    chosen = {call.id for call in calls if call is not None}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = {
            name_of(attack, how): pool.submit(arena.attempt, attack, how)
            for attack, how in CASES
            if name_of(attack, how) in chosen and how in arena.chosen
        }
        try:
            yield started
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C nobody waits for the rest


def name_of(attack: Attack, how: str) -> str:
    return f"{attack.name}-{how}"


@pytest.mark.parametrize(("attack", "how"), CASES, ids=[name_of(*case) for case in CASES])
def test_attack_gets_the_verdict_it_deserves(
    attack: Attack, how: str, outcomes: dict[str, Future[Evaluation]], record_property: Callable[[str, object], None]
) -> None:
    if name_of(attack, how) not in outcomes:
        without_gvisor()

    evaluation = outcomes[name_of(attack, how)].result()

    result = evaluation.result
    record_property("outcome", f"{result.verdict} ({attack.note})" if attack.note else str(result.verdict))
    assert result.verdict in attack.verdicts, (result.message, result.log_tail)
    for words in attack.messages:
        assert words in result.message
    assert attack.log in result.log_tail
    assert bool(result.message) is (result.verdict is not Verdict.OK)
    assert not INVISIBLE.search(result.message)
    assert not INVISIBLE.search(result.log_tail)
    assert len(result.message) <= 1000
    assert "Traceback" not in result.message


@pytest.mark.parametrize(("attack", "how"), CASES, ids=[name_of(*case) for case in CASES])
def test_attack_gains_nothing_that_its_actions_do_not_give(
    attack: Attack, how: str, outcomes: dict[str, Future[Evaluation]]
) -> None:
    if name_of(attack, how) not in outcomes:
        without_gvisor()

    evaluation = outcomes[name_of(attack, how)].result()

    finding = verify_result("it", evaluation.result.serialised(), evaluation.trace, attack.order().gym_task)
    assert (finding.status, finding.faults) == (VerificationStatus.VERIFIED, ())


def test_nothing_is_left_behind(arena: Arena, engine: Engine, outcomes: dict[str, Future[Evaluation]]) -> None:
    for outcome in outcomes.values():
        outcome.result()

    assert our_containers(engine) == []
    assert our_leftovers() == []
    assert processes_named(b"pullrank-left-behind", within=60) == []
    # What pickles and archives would make wherever they are opened.
    assert [path for folder in ("/", "/tmp", "/var/tmp") for path in Path(folder).glob("pullrank-owned*")] == []


def test_honest_agent_is_measured_as_before(arena: Arena, outcomes: dict[str, Future[Evaluation]]) -> None:
    for outcome in outcomes.values():
        outcome.result()

    after = play(arena.honest, arena.chosen["docker"]).result

    assert (after.verdict, after.returns) == (Verdict.OK, arena.before)


def processes_named(words: bytes, within: float) -> list[bytes]:
    """Command lines on the host that hold the words, once they had the time to end."""
    until = time.monotonic() + within
    while lines := [line for line in command_lines() if words in line]:
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return lines


def command_lines() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes()
        except OSError:
            continue
