"""Both ends of the remote environment, joined without a process between them; and whatever else may be sent instead."""

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator import wire
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.spaces import describe
from evaluator.host.errors import AgentFault
from evaluator.host.sandboxes.channel import SocketStream
from evaluator.host.training_scripts.evaluate_script import ScriptOutcome, ScriptSession, serve_script
from evaluator.host.training_scripts.script_env_server import MAX_HELD_STEPS, RemoteEnvServer, ScriptTask
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import MAX_OPEN_ENVIRONMENTS, ScriptRules
from evaluator.model.records.verdict import Verdict
from evaluator.sandbox.remote_env import BudgetOver, RefereeLink, RemoteEnv, handles_body, step_head
from evaluator.sandbox.remote_vector_env import RemoteVectorEnv

POLE = Task.model_validate({"id": "CartPole-v1", "reusable": True, "script": {"worst": 0}})
LAKE = Task.model_validate({"id": "FrozenLake-v1", "reusable": True, "script": {"worst": 0}})

LAST = 1


def offer(task: Task = POLE, steps: int = 1000) -> ScriptTask:
    """What a script may play."""
    return ScriptTask(
        gym_task=load_gym_task(task),
        rules=ScriptRules(steps=steps, last=LAST, worst=0),
        seed_of=lambda index, _: f"{index:032x}",
    )


class Wire:
    """The sandbox's stream, answered at once."""

    def __init__(self, desk: RemoteEnvServer) -> None:
        self.desk = desk
        self.answer = b""

    def send(self, data: bytes) -> None:
        size, op = wire.HEADER.unpack_from(data)
        assert len(data) == wire.HEADER.size + size
        self.answer = self.desk.answer(op, memoryview(data)[wire.HEADER.size :])

    def receive(self) -> tuple[int, memoryview]:
        _, op = wire.HEADER.unpack_from(self.answer)
        return op, memoryview(bytearray(self.answer[wire.HEADER.size :]))


def joined(task: Task = POLE, steps: int = 1000) -> tuple[RefereeLink, RemoteEnvServer]:
    """A script's end and the referee's."""
    what = offer(task, steps)
    desk, world = RemoteEnvServer(what), what.gym_task
    hello = {
        "task_id": task.id, "env_id": task.env_id, "kwargs": {}, "max_episode_steps": world.time_limit,
        "observation_space": describe(world.observation_space), "action_space": describe(world.action_space),
    }  # fmt: skip
    return RefereeLink(Wire(desk), hello), desk


def test_one_environment_shows_what_the_real_one_does() -> None:
    link, desk = joined()
    remote, real = RemoteEnv(link), gymnasium.make("CartPole-v1")
    totals = []
    for index in range(5):
        seen, its = remote.reset()[0], real.reset(seed=index)[0]
        assert np.array_equal(seen, its)
        total, over = 0.0, False
        while not over:
            action = int(seen[2] > 0)
            seen, reward, terminated, truncated, _ = remote.step(action)
            its, *numbers, _ = real.step(action)
            assert np.array_equal(seen, its)
            assert [reward, terminated, truncated] == numbers
            total, over = total + reward, terminated or truncated
        totals.append(total)
    remote.close()

    episodes = desk.finish()
    assert [one.total for one in episodes] == totals
    assert all(one.finished for one in episodes)
    assert [len(one.actions[0]) for one in episodes] == [one.length for one in episodes]


def test_what_a_script_was_shown_is_its_own() -> None:
    link, _ = joined()
    env = RemoteEnv(link)
    first = env.reset()[0]
    kept = first.copy()
    first += 1
    second = env.step(0)[0]
    second[:] = 9
    env.step(1)

    assert np.array_equal(first, kept + 1)
    assert (second == 9).all()
    assert env.spec.reward_threshold == 475
    assert env.spec.max_episode_steps == 500


def steps(envs: RemoteVectorEnv, observations: Any) -> Iterator[tuple[Any, Any, list[bool], dict[str, Any]]]:
    """Steps until the run has ended."""
    while True:
        try:
            observations, rewards, terminated, truncated, info = envs.step((observations[:, 2] > 0).astype(int))
        except BudgetOver:
            return
        yield observations, rewards, (terminated | truncated).tolist(), info


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_vector_resets_as_its_mode_says_and_every_return_is_kept(mode: AutoresetMode) -> None:
    link, desk = joined(POLE.model_copy(update={"max_episode_steps": 100}), steps=600)
    envs = RemoteVectorEnv(link, 2, mode)
    observations, _ = envs.reset()
    totals, live, ended = [], [0.0] * 2, [False] * 2
    for _, rewards, over, info in steps(envs, observations):
        for lane in range(2):
            if ended[lane] and mode is AutoresetMode.NEXT_STEP:
                assert (rewards[lane], over[lane]) == (0, False)
                continue
            live[lane] += rewards[lane]
            if over[lane]:
                totals.append(live[lane])
                live[lane] = 0.0
        if mode is AutoresetMode.SAME_STEP and any(over):
            assert info["_final_obs"].tolist() == over
            assert [final is not None for final in info["final_obs"]] == over
        ended = over

    episodes = desk.finish()
    assert sorted(one.total for one in episodes if one.finished) == sorted(totals)
    assert all(one.finished for one in episodes[desk.counts_from :][:LAST])
    assert desk.exhausted
    assert desk.steps <= 600


def test_masks_reset_only_what_they_name() -> None:
    link, desk = joined()
    envs = RemoteVectorEnv(link, 3, AutoresetMode.DISABLED)
    before, _ = envs.reset()
    after, _ = envs.reset(options={"reset_mask": np.array([False, True, False])})

    assert [np.array_equal(a, b) for a, b in zip(before, after, strict=True)] == [True, False, True]
    for mask in (np.array([1, 0, 0]), np.zeros(3, bool), np.ones(2, bool)):
        with pytest.raises(gymnasium.error.Error, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    envs.close()
    assert len(desk.finish()) == 4


def test_long_episodes_are_folded_on_the_way() -> None:
    task = Task.model_validate(
        {"id": "Pendulum-v1", "max_episode_steps": 3 * MAX_HELD_STEPS, "script": {"last": 1, "worst": 0}}
    )
    link, desk = joined(task, 10**6)
    env = RemoteEnv(link)
    env.reset()
    rewards = [env.step(np.array([0.1], np.float32))[1] for _ in range(2 * MAX_HELD_STEPS + 7)]

    episode = desk.finish()[0]
    total = 0.0
    for reward in rewards:
        total += reward
    assert (episode.total, episode.length, episode.finished) == (total, len(rewards), False)
    assert episode.actions[0].shape == (len(rewards), 1)


def test_more_environments_than_may_live_are_refused_but_nothing_is_lost() -> None:
    link, desk = joined()
    env = RemoteEnv(link)
    for count in (MAX_OPEN_ENVIRONMENTS, 10**7):
        with pytest.raises(gymnasium.error.Error, match="at most 1024"):
            link.make(count)
    env.reset()

    assert len(desk.finish()) == 1


def test_an_interrupted_question_is_never_answered_by_the_next_ones_answer() -> None:
    link, _ = joined()
    env = RemoteEnv(link)
    env.reset()

    def interrupted() -> Any:
        raise KeyboardInterrupt

    link._stream.receive = interrupted
    with pytest.raises(KeyboardInterrupt):
        env.step(0)
    with pytest.raises(gymnasium.error.Error, match="interrupted"):
        env.step(0)


BEGIN = [(wire.Op.MAKE, wire.COUNT.pack(2, 0)), (wire.Op.RESET, handles_body([0, 1]))]
ACTIONS = struct.pack("<qq", 0, 1)
NONSENSE = {
    "an unknown opcode": [(99, bytes(8))],
    "the referee's own opcode": [(wire.Op.MADE, bytes(8))],
    "a body that is too short": [(wire.Op.MAKE, b"1234")],
    "no environments": [(wire.Op.MAKE, wire.COUNT.pack(0, 0))],
    "a reset of none": [(wire.Op.RESET, handles_body([]))],
    "a reset of what is not open": [(wire.Op.RESET, handles_body([7]))],
    "a reset of too many": [(wire.Op.RESET, wire.COUNT.pack(1 << 31, 0))],
    "one twice": [*BEGIN, (wire.Op.RESET, handles_body([0, 0]))],
    "a step before the reset": [BEGIN[0], (wire.Op.STEP, step_head([0, 1], [False] * 2) + ACTIONS)],
    "a step of what was released": [
        *BEGIN, (wire.Op.STEP, step_head([0, 1], [False] * 2) + ACTIONS), (wire.Op.RELEASE, handles_body([1])),
        (wire.Op.STEP, step_head([0, 1], [False] * 2) + ACTIONS),
    ],
    "an action outside the space": [*BEGIN, (wire.Op.STEP, step_head([0, 1], [False] * 2) + struct.pack("<qq", 0, 2))],
    "too few actions": [*BEGIN, (wire.Op.STEP, step_head([0, 1], [False] * 2) + ACTIONS[:8])],
    "a released one released": [*BEGIN, (wire.Op.RELEASE, handles_body([1])), (wire.Op.RELEASE, handles_body([1]))],
}  # fmt: skip


@pytest.mark.parametrize("frames", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_a_protocol_error(frames: list[tuple[int, bytes]]) -> None:
    desk = RemoteEnvServer(offer())
    for op, body in frames[:-1]:
        desk.answer(op, memoryview(body))

    with pytest.raises(AgentFault) as caught:
        desk.answer(frames[-1][0], memoryview(frames[-1][1]))

    assert caught.value.verdict is Verdict.PROTOCOL_ERROR
    desk.finish()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([8, 10, 12, 14, 9, 255]), st.binary(max_size=64)), max_size=6))
def test_whatever_is_sent_is_answered_or_a_fault(frames: list[tuple[int, bytes]]) -> None:
    desk = RemoteEnvServer(OFFER)
    with contextlib.suppress(AgentFault):
        for op, body in [*BEGIN, *frames]:
            desk.answer(op, memoryview(body))
    assert len(desk.finish()) >= 2


OFFER = offer(LAKE)


def served(script: bytes, *, shut: bool = True, cpu_seconds: float = 6) -> ScriptOutcome:
    """What comes of bytes in place of a script's frames, after the handshake."""
    ours, theirs = socket.socketpair()
    stream = SocketStream(ours)
    ready = wire.frame(wire.Op.READY, json.dumps({"protocol": wire.PROTOCOL_VERSION}).encode())

    def speak() -> None:
        theirs.sendall(ready)
        theirs.recv(1 << 16)
        theirs.sendall(script)
        if shut:
            theirs.shutdown(socket.SHUT_WR)
        while theirs.recv(1 << 16):
            pass

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    service = ScriptSession(offer=OFFER, agent_seed=1, limits=Limits(cpu_seconds=cpu_seconds), progress=lambda done: None)
    outcome = serve_script(service, stream)
    stream.close()
    speaker.join(5)
    return outcome


def done(report: object) -> bytes:
    """A DONE frame."""
    return wire.frame(wire.Op.DONE, json.dumps(report).encode())


def test_a_script_that_says_it_is_done_is_believed_in_its_exit_code_alone() -> None:
    outcome = served(done({"exit_code": 0, "notices": ["a" * 9999, 3, "\x1b[2J"] + ["b"] * 99, "returns": [1e9]}))

    assert (outcome.exit_code, outcome.fault, outcome.episodes) == (0, None, ())
    assert len(outcome.notices) == 19
    assert max(map(len, outcome.notices)) == 300
    assert "\x1b" not in "".join(outcome.notices)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (wire.HEADER.pack(1 << 31, wire.Op.STEP), "a frame of 2147483648 bytes"),
        (wire.frame(wire.Op.MAKE, wire.COUNT.pack(1, 0)) * 2, "second question"),
        (done([1]), "JSON object"),
        (wire.frame(wire.Op.DONE, b"[" * 8000), "JSON object"),
        (wire.frame(wire.Op.ERROR, b"{}"), "without a reason"),
        (b"\x00" * 5, "opcode 0"),
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of"),
    ],
)
def test_writing_to_the_socket_oneself_is_a_protocol_error(script: bytes, words: str) -> None:
    fault = served(script).fault

    assert fault is not None
    assert fault.verdict is Verdict.PROTOCOL_ERROR
    assert words in str(fault)


def test_odd_exit_codes_are_no_success() -> None:
    assert [served(done({"exit_code": code})).exit_code for code in ("0", None, 2.5, 3, 10**30)] == [1, 1, 1, 3, 0]


def test_hanging_up_and_silence_are_told_apart() -> None:
    assert served(b"").hung_up
    assert served(wire.HEADER.pack(8, wire.Op.MAKE)).hung_up
    silent = served(b"", shut=False, cpu_seconds=0.05)
    assert silent.fault is not None
    assert silent.fault.verdict is Verdict.TIMEOUT


def test_it_is_recorded_when_each_episode_ended() -> None:
    link, desk = joined()
    first, second = RemoteEnv(link), RemoteEnv(link)
    first.reset()
    second.reset()
    first.step(0)
    over = False
    while not over:
        *_, over, _, _ = second.step(0)
    ended = desk.steps
    first.step(0)
    one, other = desk.finish()

    assert (other.length, other.ended_at, other.finished) == (ended - 1, ended, True)
    assert (one.length, one.ended_at, one.finished) == (2, ended + 1, False)
