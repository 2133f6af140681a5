"""Scripts in containers: the same episodes as in processes, over either kind of channel, and their hostile kin."""

import pytest

from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.verdict import Verdict
from tests.evaluator.script_runs import LAKE, POLE, script

pytestmark = pytest.mark.docker
HONEST = 'print("training")\nprint(json.dumps({"score": sum(play(train(gym.make(sys.argv[1])), 10)) / 10}))'
SOCKET = """
import os, stat, struct
env = gym.make(sys.argv[1])
env.reset()
for fd in range(3, 64):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode) or stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.write(fd, {bytes})
    except OSError:
        pass
env.step(0)
print('{{"score": 1e9}}')
"""
STEPPED = 'struct.pack("<IB", 48, 13) + bytes(16) + struct.pack("<d", 1e9) + bytes(24)'


def test_a_script_in_a_container_plays_what_it_plays_in_a_process(either_channel: SelectedSandbox) -> None:
    done = script(HONEST, LAKE, either_channel)

    assert (done.result.verdict, done.result.message) == (Verdict.OK, "")
    assert done.result.returns == script(HONEST).result.returns
    assert (
        verify_result("x", done.result.serialised(), done.trace, load_gym_task(LAKE)).status is VerificationStatus.VERIFIED
    )


def test_a_hosts_own_metric_is_measured_of_a_script_in_a_container(docker: SelectedSandbox) -> None:
    """The host's function sees the recorded episodes that count; what the script claims is nothing to it."""
    here = "tests.evaluator.own_metrics"
    metrics = [
        {"name": "own", "kind": f"{here}:replayed_return", "direction": "higher"},
        {"name": "downs", "kind": f"{here}:share_of_lefts", "direction": "lower"},
    ]
    task = Task.model_validate({**LAKE.model_dump(exclude_none=True, exclude={"score"}), "metrics": metrics})

    done = script(HONEST, task, docker)

    result = done.result
    assert (result.verdict, result.message) == (Verdict.OK, "")
    assert result.metrics[f"{here}:replayed_return"] == sum(result.returns) / len(result.returns)
    assert result.metrics[f"{here}:share_of_lefts"] == 0  # it always goes down
    assert verify_result("x", result.serialised(), done.trace, load_gym_task(task)).status is VerificationStatus.VERIFIED


def test_exit_codes_and_limits_are_told_from_outside(either_channel: SelectedSandbox) -> None:
    limits = Limits(memory_mib=128, cpu_seconds=20)
    ends = {
        "sys.exit(3)": Verdict.CRASHED,
        "import os; os._exit(4)": Verdict.CRASHED,
        "play(gym.make(sys.argv[1]), 1)\nprint('{\"score\": 1}', flush=True)\nimport os; os._exit(0)": Verdict.OK,
        "x = [bytes(10**6) + b'1' for _ in range(10**4)]": Verdict.OUT_OF_MEMORY,
    }
    for source, verdict in ends.items():
        result = script(source, LAKE, either_channel, limits=limits).result
        assert (result.verdict, source) == (verdict, source), result.message
        if verdict is not Verdict.CRASHED:  # what ends at once can be over before it is read
            assert (result.cost.cpu_seconds or 0) > 0.05, source  # Python starts and loads the environment's library
            assert result.cost.peak_memory_bytes, source


@pytest.mark.parametrize("forged", ["b'nonsense' * 9", STEPPED, 'struct.pack("<IB", 8, 8) + bytes(8)'])
def test_writing_to_the_socket_oneself_earns_nothing(docker: SelectedSandbox, forged: str) -> None:
    result = script(SOCKET.format(bytes=forged), POLE, docker).result

    assert result.verdict is Verdict.PROTOCOL_ERROR
    assert not result.returns


def test_forged_returns_are_a_claim_and_no_more(docker: SelectedSandbox) -> None:
    source = """
    from evaluator.sandbox import remote_env
    step = remote_env.RemoteEnv.step
    remote_env.RemoteEnv.step = lambda self, action: (*(step(self, action)[:1]), 1e9, True, False, {})
    env = gym.make(sys.argv[1])
    env.reset(), env.step(0), env.reset(), env.step(0)
    print('{"score": 1000000000.0}')
    """
    result = script(source, POLE, docker).result

    assert result.script is not None
    assert (result.verdict, result.script.claimed, set(result.returns)) == (Verdict.OK, 1e9, {0.0})


def test_ten_million_environments_are_not_made(docker: SelectedSandbox) -> None:
    source = """
    kept = []
    try:
        for _ in range(10**7):
            kept.append(gym.make(sys.argv[1]))
    except gym.error.Error as error:
        sys.exit(f"{len(kept)}: {error}")
    """
    result = script(source, POLE, docker).result

    assert "1024: at most 1024 environments" in result.log_tail


def test_there_is_nothing_of_the_referee_to_be_found(docker: SelectedSandbox) -> None:
    source = """
    import os, importlib.util
    print(importlib.util.find_spec("evaluator.host"), os.path.exists("/repository"), sorted(os.environ))
    open("/tmp/model", "w").write("x")
    try:
        open("model", "w")
    except OSError as error:
        print(error)
    sys.exit(1)
    """
    log = script(source, POLE, docker).result.log_tail

    assert log.startswith("None False")
    assert "Read-only" in log
