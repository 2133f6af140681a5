"""Everything that reads what strangers wrote, as functions of bytes, each with the exceptions that it declares.

A function returns True where the input was taken, and checks then what must hold of what was read.
"""

import ast
import base64
import contextlib
import hashlib
import html
import io
import json
import math
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
from gymnasium import spaces

from evaluator import wire
from evaluator.host.docker.agent_image import read_config, read_manifest
from evaluator.host.docker.image_layers import check_layer
from evaluator.host.duels.connection import PlayerConnection
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.spaces import ActionDecoder, IllegalActionError
from evaluator.host.errors import AgentFault, SandboxClosed
from evaluator.host.loading.submission_folder import SubmissionFile, assemble, check_name
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge, parse_moderation, parse_submission
from evaluator.host.sandboxes.channel import clean_text, read_body
from evaluator.host.sandboxes.docker_sandbox import Demultiplexer
from evaluator.host.sandboxes.handshake import Ready
from evaluator.host.training_scripts.evaluate_script import FrameReader, ReportedScoreError, claimed_score
from evaluator.host.training_scripts.script_env_server import RemoteEnvServer, ScriptTask
from evaluator.model import canonical_json
from evaluator.model.config.source_header import HeaderError, find_header
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.identifiers import INVISIBLE
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_duel, parse_record, parse_result, parse_trace
from evaluator.model.records.result import Result
from evaluator.model.records.trace import EpisodeTrace, Trace, TraceLeaf
from leaderboard.comments.log_excerpt import (
    PREVIEW_LOG_BYTES,
    LogTail,
    log_excerpt,
    log_tails,
    neutralised,
    write_preview_log,
)
from leaderboard.text import escape_html, escape_markdown
from scripts.console import LINE_CHARACTERS, CommandError, escape_commands
from scripts.git import tree_diff
from scripts.git.git_repository import GitLimitError
from scripts.git.tree_diff import UnreadableError, tree_changes
from scripts.github.preview.preview_artifact import PREVIEW_FILE, ArtifactError, read_artifact
from scripts.github.pull_request.slash_commands import parse_command
from scripts.github.workflow import event as events
from tests.evaluator.host.docker.plain_layers import assert_plain
from tests.fuzz.mutate import mutated, varied
from tests.leaderboard.make import duel, entry, result
from tests.scripts.github.preview.test_preview_artifact import preview, zipped

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One reader."""

    read: Callable[[bytes], bool]
    declared: tuple[type[Exception], ...]
    """What it may raise."""
    seeds: Callable[[], tuple[bytes, ...]]
    """Inputs to begin with."""
    words: tuple[bytes, ...] = ()
    """Pieces that inputs are made of."""
    mend: Callable[[random.Random, Any], bytes] | None = None
    """Writes a changed document with hashes and packed numbers that fit, as a forger would; None where none has to."""

    def make(self, source: random.Random, seeds: Sequence[bytes]) -> bytes:
        """One input, made from examples."""
        if self.mend is None or source.random() < 0.2:
            return mutated(source, seeds, self.words)
        data = source.choice(seeds) if source.random() < 0.7 else mutated(source, seeds, self.words)
        with contextlib.suppress(ValueError, RecursionError, TypeError, LookupError, AttributeError, OverflowError):
            document = varied(source, json.loads(data), source.choice((0.01, 0.05, 0.2)))
            data = json.dumps(document).encode()
            return self.mend(source, document)
        return data


class _Bytes:
    """A sandbox that sends these bytes, in pieces, and hangs up."""

    def __init__(self, data: bytes) -> None:
        self.spin = 0.0
        self._data = memoryview(data)

    def send(self, data: bytes, deadline: float) -> None: ...

    def send_nowait(self, view: memoryview) -> int:
        return len(view)

    def fileno(self) -> int:
        return -1

    def fill(self, view: memoryview, minimum: int, deadline: float) -> int:
        if len(self._data) < minimum:
            raise SandboxClosed
        return self._take(view)

    def fill_nowait(self, view: memoryview) -> int:
        if not self._data:
            raise SandboxClosed
        return self._take(view[:7])

    def _take(self, view: memoryview) -> int:
        count = min(len(view), len(self._data))
        view[:count] = self._data[:count]
        self._data = self._data[count:]
        return count


def _frames(data: bytes) -> bool:
    how, body = data[:1], _Bytes(data[1:])
    if how < b"@":
        Ready.read(body, 0.0, 1.0, shared=None if how < b"0" else False)
    elif how < b"\x80":
        read_body(body, wire.Op.ACTIONS, len(data) % 64, 0.0)
    elif how < b"\xc0":
        frames = FrameReader(body, wire.ERROR_BYTES)
        while True:
            _, content = frames.next(0.0)
            assert len(content) <= wire.ERROR_BYTES
    else:
        player = PlayerConnection(body)
        player.ask(b"", 24)
        while player.read_answer() is None:
            pass
    return True


def _frame(op: int, body: bytes) -> bytes:
    return wire.HEADER.pack(len(body), op) + body


def _frame_seeds() -> tuple[bytes, ...]:
    ready = _frame(wire.Op.READY, b'{"protocol": 1, "shared": true, "lanes": 8, "ends": true}')
    trouble = _frame(wire.Op.ERROR, b'{"trouble": "crashed", "message": "it broke", "lane": 3}')
    actions = _frame(wire.Op.ACTIONS, bytes(24))
    return (
        b" " + ready, b" " + trouble, b"1" + ready, b"A" + actions, b"A" + trouble, b"\x80" + trouble + actions,
        b"\xf0" + actions, b"\xf0" + trouble,
    )  # fmt: skip


@cache
def _decoders() -> tuple[ActionDecoder, ...]:
    boxes = [
        (spaces.Box(-1, 1, (2,), np.float32), None), (spaces.Box(-1, 1, (2,), np.float32), 0.1),
        (spaces.Box(-np.inf, np.inf, (1,), np.float16), 0.5), (spaces.Box(-5, 5, (3,), np.float16), 1e-9),
        (spaces.Box(-np.inf, np.inf, (1,), np.float64), 1e-300), (spaces.Box(0, 255, (2, 2), np.uint8), None),
        (spaces.Discrete(5, start=-2), None), (spaces.MultiDiscrete([2, 3]), None), (spaces.MultiBinary(9), None),
        (spaces.Dict({"b": spaces.Discrete(3), "a": spaces.Tuple([spaces.Box(-1, 1, (1,), np.float32)])}), 0.3),
    ]  # fmt: skip
    return tuple(ActionDecoder(space, clip=clip, grid=grid) for space, grid in boxes for clip in (True, False))


def _actions(data: bytes) -> bool:
    decoder = _decoders()[data[0] % len(_decoders())] if data else _decoders()[0]
    count = 1 + (data[1] % 4 if len(data) > 1 else 0)
    size = wire.body_size(decoder.leaves, count)
    body = memoryview(bytearray((data[2:] + bytes(size))[:size]))
    actions, arrays = decoder.decode(body, count)
    assert len(actions) == count
    assert all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f")
    assert decoder.is_settled(arrays)
    leaves = [TraceLeaf.of(array) for array in arrays]
    assert all(np.array_equal(leaf.array(count), array) for leaf, array in zip(leaves, arrays, strict=True))
    return True


def _action_seeds() -> tuple[bytes, ...]:
    floats = np.array([0.5, -1.5, 1e30, 65504], "<f4").tobytes() + np.array([6e4, -0.1, 1e-7], "<f2").tobytes()
    return (*(bytes([which, rows]) + floats for which in range(20) for rows in (0, 3)), b"\x0c\x01" + bytes(64))


class _Ladder(gymnasium.Env[Any, Any]):
    """Ends after three steps."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 9, (1,), np.float32)
        self.action_space = spaces.Discrete(3)
        self._at = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._at = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._at += 1
        return np.full(1, self._at, np.float32), float(action), self._at == 3, False, {}


@cache
def _offer() -> ScriptTask:
    gymnasium.register("Ladder-v0", _Ladder)
    task = Task.model_validate({"id": "Ladder-v0", "reusable": True, "max_episode_steps": 5, "script": {"worst": 0}})
    rules = ScriptRules(steps=30, last=2, worst=0)
    return ScriptTask(gym_task=load_gym_task(task), rules=rules, seed_of=lambda index, _: f"{index:032x}")


def _script(data: bytes) -> bool:
    server = RemoteEnvServer(_offer())
    frames = FrameReader(_Bytes(data), server.longest)
    try:
        while True:
            op, body = frames.next(0.0)
            answer = server.answer(op, body)
            assert wire.HEADER.unpack_from(answer)[0] == len(answer) - wire.HEADER.size
            assert server.steps <= 30
    finally:
        episodes = server.finish()
        assert [episode.index for episode in episodes] == list(range(len(episodes)))


def _script_seeds() -> tuple[bytes, ...]:
    make = _frame(wire.Op.MAKE, wire.COUNT.pack(1, 0))
    one = wire.COUNT.pack(1, 0) + bytes(8)
    steps = [_frame(wire.Op.STEP, one + bytes(8) + bytes([action, *bytes(7)])) for action in (0, 1, 2, 3)]
    reset, release = _frame(wire.Op.RESET, one), _frame(wire.Op.RELEASE, one)
    two = wire.COUNT.pack(2, 0) + b"\0\0\0\0\1\0\0\0"
    both = [
        _frame(wire.Op.MAKE, wire.COUNT.pack(2, 0)), _frame(wire.Op.RESET, two),
        _frame(wire.Op.STEP, two + bytes(8) + bytes(16)), _frame(wire.Op.STEP, two + b"\1" + bytes(7) + bytes(16)),
    ]  # fmt: skip
    return (
        make + reset + steps[0] + steps[1] + steps[2] + reset + steps[0] * 4, make + reset + steps[1] * 3 + release,
        b"".join(both), b"".join(both) + both[3] * 3, make + steps[0], make + reset + steps[3],
    )  # fmt: skip


def _packed(source: random.Random, leaf: dict[str, Any], steps: int) -> None:
    """Give a leaf as many numbers as the lengths beside it ask for."""
    count = int(steps) * math.prod(map(int, leaf["shape"])) * int(leaf["dtype"][-1:])
    if 0 <= count < 1 << 16:
        leaf["data"] = base64.b64encode(zlib.compress(source.randbytes(count), 1)).decode()


def _mended_record(source: random.Random, document: Any) -> bytes:
    model = Duel if document.get("kind") == "duel" else Result
    if model is Duel:
        steps = sum(match["plies"] for match in document["matches"])
        for name in ("moves", "milliseconds"):
            if document[name] is not None:
                _packed(source, document[name], steps)
    document["self_sha256"] = "0" * 64
    draft = model.model_validate(document)
    return draft.model_copy(update={"self_sha256": draft.self_hash()}).serialised()


def _mended_trace(source: random.Random, document: Any) -> bytes:
    steps = sum(episode["length"] for episode in document["episodes"])
    for leaf in document["actions"]:
        _packed(source, leaf, steps)
    return canonical_json.canonical(document) + b"\n"


def _results(data: bytes) -> bool:
    record = parse_result(data, quick=True)
    written = record.serialised()
    record.path()
    again = Result.with_self_hash({**json.loads(written), "self_sha256": "0" * 64})
    assert parse_result(again.serialised()) == again
    return parse_record(data) == parse_result(data)


def _result_seeds() -> tuple[bytes, ...]:
    who = entry("alice")
    results = [
        result(who, [1.0, 2.5]), result(who), result(who, **{"class": "preview"}, message="a\nb", log_tail="| x\n"),
        result(who, [1e100], schema=2, protocol=2, metrics={"clipped_actions": 1.0}, versions={"numpy": "2"}),
    ]  # fmt: skip
    return tuple(one.serialised() for one in results)


def _duels(data: bytes) -> bool:
    record = parse_duel(data, quick=True)
    again = Duel.with_self_hash({**json.loads(record.serialised()), "self_sha256": "0" * 64})
    assert parse_duel(again.serialised()) == again
    record.path()
    if record.moves is not None:
        moves, times = record.match_moves(), record.match_milliseconds()
        assert [len(match) for match in moves] == [len(match) for match in times]
    return parse_record(data) == parse_duel(data)


def _duel_seeds() -> tuple[bytes, ...]:
    alice, bob = entry("alice"), entry("bob")
    return tuple(
        one.serialised()
        for one in (
            duel(alice, bob, "wl"),
            duel(alice, bob, "iOfb"),
            duel(alice),
            duel(alice, bob, ""),
            duel(bob, alice, "dt"),
        )
    )


def _traces(data: bytes) -> bool:
    trace = Trace.model_validate(canonical_json.parse_strict(data))
    trace.sha256()
    for leaf in trace.actions:
        values = leaf.array(trace.steps())
        assert len(values) == trace.steps()
    return parse_trace(data) == trace


def _trace_seeds() -> tuple[bytes, ...]:
    leaves = [
        (TraceLeaf.of(np.arange(6)),), (TraceLeaf.of(np.zeros((6, 2, 2), np.float32)), TraceLeaf.of(np.full(6, -9))),
        (TraceLeaf(dtype="<f4", shape=(100,), data=TraceLeaf.of(np.zeros(10**6, np.float32)).data),),
    ]  # fmt: skip
    episodes = (EpisodeTrace(length=2, checksum="0" * 32), EpisodeTrace(length=4, checksum="f" * 32))
    return tuple(Trace(schema=1, key="a" * 64, episodes=episodes, actions=one).serialised() for one in leaves)


def _manifest(data: bytes) -> bool:
    submission = parse_submission(data)
    assert not INVISIBLE.search(submission.name + submission.algorithm)
    return True


def _header(data: bytes) -> bool:
    if (header := find_header(data)) is None:
        return False
    # What is cut out is nothing but comments and blank lines.
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        assert ast.dump(ast.parse(data)) == ast.dump(ast.parse(header.rest.decode()))
    return _manifest(header.yaml)


def _header_seeds() -> tuple[bytes, ...]:
    code = b"class Agent:\n    def act(self, observation):\n        return 0\n"
    heads = [b"".join(b"# " + line + b"\n" for line in seed.splitlines()) for seed in _manifest_seeds()]
    return tuple(b"# /// pullrank\n" + head + b"# ///\n" + code for head in heads)


def _manifest_seeds() -> tuple[bytes, ...]:
    places = sorted(ROOT.glob("example_agents/*/submission.yml"))
    full = (
        b"name: Mine\nalgorithm: PPO\nadapter: sb3\nkind: agent\nentry: model.zip\ndescription: |\n  two\n  lines\n"
        b"paper: https://example.org/a\ntasks: [CartPole-v1]\nauthors:\n- name: A\n"
    )
    image = b"name: Mine\nalgorithm: PPO\nkind: image\nentry: ghcr.io/a/b@sha256:" + b"a" * 64 + b"\n"
    return (full, image, *(place.read_bytes() for place in places))


def _folder(data: bytes) -> bool:
    """Files, each as `path NUL mode content NUL NUL`."""
    files = []
    for part in data.split(b"\0\0"):
        path, _, content = part.partition(b"\0")
        try:
            name = path.decode("utf-8", "surrogateescape")
            check_name(name)
        except LoadError:
            continue
        files.append(SubmissionFile(path=name, executable=content[:1] == b"x", content=content[1:]))
    folder = assemble(tuple(files), SubmissionLimits(files=20, kib=8))
    assert len(folder.digest) == 64
    assert folder.image is None or folder.image.reference.digest
    return True


def _folder_seeds() -> tuple[bytes, ...]:
    manifest = b"submission.yml\0-name: A\nalgorithm: x\n"
    return (
        manifest + b"\0\0agent.py\0-class Agent: pass\n", manifest + b"entry: b/c.py\n\0\0b/c.py\0x1\0\0B/c.py\0-2",
        manifest + b"kind: image\nentry: ghcr.io/a/b@sha256:" + b"a" * 64, manifest + b"\0\0agent.py\0-\xff\xfe",
        manifest + b"\0\0agent.py\0-version https://git-lfs.github.com/spec/v1\noid",
    )  # fmt: skip


def _challenge(data: bytes) -> bool:
    challenge = parse_challenge(data)
    for task in challenge.tasks:
        assert len(task.digest()) == 64
    return True


def _challenge_seeds() -> tuple[bytes, ...]:
    places = [ROOT / "challenge.yml", *sorted((ROOT / "evaluator/environments").glob("*.yml"))]
    return (
        *(place.read_bytes() for place in places),
        b"title: T\nseason: '1'\ntasks:\n- id: CartPole-v1\n  episodes: 5\n  bounds: [0, 500]\n  grid: 0.1\n",
        b"title: T\nseason: '1'\ntasks:\n- id: g\n  game: pettingzoo.classic.tictactoe_v3\n  matches: 4\n",
        b"title: T\nseason: '1'\nphases:\n- name: a\n  from: 2026-01-01\n  to: 2026-02-01\ntasks:\n- id: CartPole-v1\n",
    )


def _moderation(data: bytes) -> bool:
    moderation = parse_moderation(data)
    moderation.exclusion_of("alice", "agent"), moderation.verified_entry("alice", "agent", 64 * "0")
    moderation.rehearsed_digests("alice", "agent")
    return True


def _moderation_seeds() -> tuple[bytes, ...]:
    one = b"\n- {login: alice, agent: agent, since: '2026-05-01', who: bob, why: copied, link: 'https://example.org/1'}\n"
    rehearsal = b"\n- {login: alice, agent: agent, digest: " + b"a" * 64 + b", since: '2026-05-01'}\n"
    return (
        b"exclusions:" + one, b"verified:" + one, b"exclusions: []\nverified: []\nrehearsals:" + rehearsal,
        (ROOT / "moderation.yml").read_bytes(),
    )  # fmt: skip


def _artifact(data: bytes) -> bool:
    """A zip file, or the preview in one."""
    if data.startswith(b"{"):
        data = zipped((PREVIEW_FILE, data), method=0)
    checked, log = read_artifact(data)
    assert all(one.self_hash() == one.self_sha256 for agent in checked.agents for one in agent.results)
    log_tails(log)
    return True


def _artifact_seeds() -> tuple[bytes, ...]:
    who = entry("alice")
    document = preview()
    document["agents"][0]["duels"] = [duel(who, **{"class": "preview"}).document()]
    small, large = json.dumps(preview()).encode(), json.dumps(document).encode()
    log = write_preview_log([LogTail(who="alice/agent on task", verdict="ok", text="hello\n")])
    return (small, large, zipped((PREVIEW_FILE, small), ("preview.log", log)), zipped((PREVIEW_FILE, b"{}"), method=0))


def _logs(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    for line in (*text.split("\n"), *text.splitlines()):
        assert not neutralised(line).lstrip().startswith("::")
        assert "##[" not in neutralised(line)
    tails = [LogTail(who=f"alice/agent on task{n}", verdict="ok", text=part) for n, part in enumerate(text.split("\f"))]
    written = write_preview_log(tails, 4096)
    assert len(written) <= 4096 < PREVIEW_LOG_BYTES
    for line in written.decode().splitlines():
        assert line.startswith("| ")
        assert "##[" not in line
    assert set(log_tails(written.decode())) <= {tail.who for tail in tails}
    for excerpt in (*log_tails(text).values(), text):
        assert len(log_excerpt(excerpt).split("\n")) <= 25
    shown = escape_commands(text)
    assert len(shown) <= LINE_CHARACTERS
    assert shown.isprintable() or not INVISIBLE.search(shown)
    assert len(shown.splitlines()) <= 1
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown
    assert len(clean_text(text)) <= 1000
    return True


def _log_seeds() -> tuple[bytes, ...]:
    return (
        b"| == alice/agent on task: ok\n| > hello\n", b"::error::x\n ##[group]y\n\x1b[2Jz",
        b"a\rb\x85c\xe2\x80\xa8d\fe\x0bf",
        b":::add-mask::x\n####[[command]]", b"episode 1\nepisode 2\n" * 40,
    )  # fmt: skip


_REFERENCED = re.compile(r"(?:[\w ]|&#\d+;)*")
_FENCE = re.compile(r"\s{0,3}(`{3,})")


def _markdown(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    shown = escape_markdown.escape(text)
    assert _REFERENCED.fullmatch(shown)
    assert "_" not in re.sub(r"&#\d+;", "", shown)
    assert html.unescape(shown) == " ".join(escape_markdown.visible(text).split())
    code = str(escape_markdown.code(text))
    assert len(code.splitlines()) <= 1
    ticks = len(code) - len(code.lstrip("`"))
    assert code == "(empty)" or code.endswith("`" * ticks)
    assert code == "(empty)" or "`" * ticks not in re.sub(f"`{{{ticks + 1},}}", "", code[ticks:-ticks])
    assert "|" not in escape_markdown.cell(text)
    block = str(escape_markdown.fenced(text)).split("\n")
    fence = re.match("`+", block[0])
    assert fence is not None
    for line in "\n".join(block[1:-1]).splitlines():
        inner = _FENCE.match(line)
        assert inner is None or len(inner[1]) < len(fence[0])
    for part in (escape_markdown.preformatted(text), escape_markdown.paragraphs(text), escape_markdown.link(text, text)):
        bare = re.sub(r'</?(pre|code|p)( class="pr-log" tabindex="0")?>', "", part)
        assert "<" not in re.sub(r'<a href="https[^"<>]*" rel="nofollow ugc noopener">|</a>', "", bare)
    return True


def _html(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    for part in (escape_html.escape_line(text), escape_html.command_line(text), escape_html.linked_line(text, text)):
        bare = re.sub(r'<div class="highlight"><pre tabindex="0"><code>|</code></pre></div>', "", part)
        bare = re.sub(r'<a href="https://[^"<>\s]*" rel="nofollow ugc noopener">|</a>', "", bare)
        assert not re.search("[<>\"']", bare)
        assert not INVISIBLE.search(bare)
        part.encode()
    return True


def _text_seeds() -> tuple[bytes, ...]:
    return (
        b"Hello *world* <b>x</b> @all #12 `code` ```\nfence\n~~~", b"https://example.org/a?b=c#d",
        b"https://a.b:80/\"onclick='x'",
        "Ä́ 😀 \N{RIGHT-TO-LEFT OVERRIDE}x\U000e0101".encode(), b"{{ 7*7 }} {% raw %} [a](javascript:x) ![i](y)",
        b"| a | b |\n|-|-|",
    )  # fmt: skip


def _events(data: bytes) -> bool:
    value = canonical_json.parse_strict(data)
    if not isinstance(value, dict):
        return False
    environment = events.WorkflowEnvironment(
        event_name="x", event=value, repository="a/b", repository_id=1, sha="a" * 40, run_id=1, api_url="",
        graphql_url="", server_url="", token="", summary_path=None, output_path=None, workspace=Path(),
    )  # fmt: skip
    taken = 0
    for read in (events.pull_event, events.comment_event, events.merge_group, events.workflow_run_id):
        try:
            event = read(environment)
        except CommandError:
            continue
        taken += 1
        if isinstance(event, events.CommentEvent):
            parse_command(event.body)
    events.dispatch_input(environment, "sha")
    return bool(taken)


def _event_seeds() -> tuple[bytes, ...]:
    repo = {"id": 5}
    side = {"sha": "a" * 40, "ref": "main", "repo": repo}
    pull = {"pull_request": {"number": 1, "user": {"login": "a", "id": 2}, "head": side, "base": side}}
    comment = {
        "action": "created", "comment": {"id": 1, "body": "/evaluate abc", "user": {"login": "a", "id": 2, "type": "User"}},
        "issue": {"number": 3, "pull_request": {}},
    }  # fmt: skip
    group = {"merge_group": {"head_sha": "b" * 40, "head_ref": "x", "base_ref": "main"}, "inputs": {"sha": "c"}}
    return tuple(json.dumps(one).encode() for one in (pull, comment, group, {"workflow_run": {"id": 7}}))


def _commands(data: bytes) -> bool:
    text = data.decode("utf-8", "surrogateescape")
    command = parse_command(text)
    if command is None:
        return False
    assert command.name in ("retry", "evaluate", "rank", "help")
    assert len(command.argument) <= 100
    assert not re.search(r"\s", command.argument)
    return True


@dataclass
class _Trees:
    """Git's answers about trees that may hold one another many times."""

    trees: list[list[tuple[str, bytes, int]]]
    printed: int = 0
    visited: int = 0

    def merge_bases(self, base: str, head: str, *, seconds: float) -> list[str]:
        return [f"{len(self.trees) - 1:040x}"]

    def run(self, *form: str, at_most: int, seconds: float) -> bytes:
        out = bytearray()
        for line in self._lines(int(form[-1], 16), b"", recursive="-r" in form):
            out += line
            if len(out) > at_most:
                raise GitLimitError("ls-tree", "too long")
        self.printed += len(out)
        return bytes(out)

    def _lines(self, tree: int, prefix: bytes, *, recursive: bool) -> Iterator[bytes]:
        for mode, name, target in self.trees[tree]:
            self.visited += 1
            if self.visited > VISITS:  # git prints nothing for empty trees: time stops it
                raise GitLimitError("ls-tree", "too late")
            if mode == "040000" and recursive:
                yield from self._lines(target, prefix + name + b"/", recursive=True)
            else:
                kind = "tree" if mode == "040000" else "commit" if mode == "160000" else "blob"
                yield f"{mode} {kind} {target:040x}\t".encode() + prefix + name + b"\0"


VISITS = 2000
_MODES = ("100644", "100755", "120000", "160000", "040000")
_NAMES = (b"submissions", b"alice", b"Alice", b"agent", b"submission.yml", b".", b"..", b"a/b", b"", b"\xff", b"x")


def _trees(data: bytes) -> bool:
    """Trees, each ended by byte 255; an entry is a mode, a name and a target."""
    trees: list[list[tuple[str, bytes, int]]] = [[]]
    for part in data[:2000].split(b"\xff")[:14]:
        rows = [part[at : at + 3] for at in range(0, len(part) - 2, 3)]
        entries = []
        for mode, name, target in rows:
            kind = _MODES[mode % len(_MODES)]
            points = target % len(trees) if kind == "040000" else target
            entries.append((kind, _NAMES[name % len(_NAMES)] if name < 128 else b"n%d" % name, points))
        trees.append(entries)
    repository: Any = _Trees(trees)
    head = (data[-1] if data else 0) % len(trees)
    with patch.multiple(tree_diff, LIST_BYTES=1 << 12, ALL_BYTES=1 << 14):  # a bomb is cut at these, and quickly
        changes = tree_changes(repository, "0" * 40, f"{head:040x}", "alice")
    assert repository.printed <= 1 << 14
    assert [change.path for change in changes] == sorted({change.path for change in changes})
    return True


def _tree_seeds() -> tuple[bytes, ...]:
    bomb = b"\xff".join(b"".join(bytes([4, 128 + name, level]) for name in range(8)) for level in range(9))
    owner = b"\0\4\1\xff\4\3\1\xff\4\1\2\xff\4\0\3"
    return (bomb, owner, bomb + b"\xff\4\1\x09\xff\4\0\x0a", b"\0\4\1\0\4\2\xff\1\1\1\xff\4\0\2\xff", b"")


class _Layer:
    """A layer's file."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def open(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._data)


def _layers(data: bytes) -> bool:
    path: Any = _Layer(data)
    raw = data
    if data.startswith(b"\x1f\x8b"):
        with contextlib.suppress(zlib.error):
            raw = zlib.decompressobj(31).decompress(data, 1 << 21)
    layer = check_layer(path, hashlib.sha256(raw).hexdigest(), 1 << 20, 50)
    assert layer.unpacked <= 1 << 20
    assert layer.entries <= 50
    assert_plain(layer)
    return True


def _layer_seeds() -> tuple[bytes, ...]:
    import tarfile

    seeds = []
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
            for name in ("a", "b" * 90 + "/" + "c" * 60):
                member = tarfile.TarInfo(name)
                member.size = 700
                archive.addfile(member, io.BytesIO(bytes(700)))
        seeds += [buffer.getvalue(), zlib.compress(buffer.getvalue(), wbits=31)]
    return (*seeds, zlib.compress(bytes(4 << 20), wbits=31))


def _images(data: bytes) -> bool:
    with contextlib.suppress(AgentFault):
        read_manifest(data, "linux/amd64", lambda digest: data, 100)
    config = read_config(data, "linux/amd64", 1)
    assert json.loads(config.document([]))["os"] == "linux"
    return True


def _image_seeds() -> tuple[bytes, ...]:
    digest = "sha256:" + "a" * 64
    blob = {"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": digest, "size": 10}
    listed = {"mediaType": "x", "digest": digest, "platform": {"os": "linux", "architecture": "amd64"}}
    documents = [
        {"schemaVersion": 2, "config": blob, "layers": [blob, blob]}, {"schemaVersion": 2, "manifests": [listed]},
        {"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": [digest]},
         "config": {"Cmd": ["a"], "Entrypoint": None, "Env": ["A=b"], "WorkingDir": "/x"}},
    ]  # fmt: skip
    return tuple(json.dumps(one).encode() for one in documents)


def _stream(data: bytes) -> bool:
    streams = Demultiplexer()
    pieces = b"".join(piece for start in range(0, len(data), 5) for _, piece in streams.feed(data[start : start + 5]))
    assert len(pieces) <= len(data)
    whole = b"".join(piece for _, piece in Demultiplexer().feed(data))
    return pieces == whole


def _claims(data: bytes) -> bool:
    assert abs(claimed_score(data.decode("utf-8", "surrogateescape"))) < float("inf")
    return True


READERS = {
    "frames": Reader(read=_frames, declared=(AgentFault, SandboxClosed), seeds=_frame_seeds),
    "script": Reader(read=_script, declared=(AgentFault, SandboxClosed), seeds=_script_seeds),
    "actions": Reader(read=_actions, declared=(IllegalActionError,), seeds=_action_seeds),
    "results": Reader(read=_results, declared=(ValueError,), seeds=_result_seeds, mend=_mended_record),
    "duels": Reader(read=_duels, declared=(ValueError,), seeds=_duel_seeds, mend=_mended_record),
    "traces": Reader(read=_traces, declared=(ValueError,), seeds=_trace_seeds, mend=_mended_trace),
    "manifest": Reader(read=_manifest, declared=(LoadError,), seeds=_manifest_seeds),
    "header": Reader(read=_header, declared=(HeaderError, LoadError), seeds=_header_seeds,
                     words=(b"# /// pullrank\n", b"# ///\n", b"\n# ", b"\r", b"\x0c", b"# coding: utf-7\n", b'"""')),
    "folder": Reader(read=_folder, declared=(LoadError,), seeds=_folder_seeds,
                     words=(b"\0\0submission.yml\0-", b"\0\0a\0-")),
    "challenge": Reader(read=_challenge, declared=(LoadError,), seeds=_challenge_seeds),
    "moderation": Reader(read=_moderation, declared=(LoadError,), seeds=_moderation_seeds),
    "artifact": Reader(read=_artifact, declared=(ArtifactError,), seeds=_artifact_seeds,
                       words=(b"PK\1\2", b"PK\5\6", b"PK\6\6")),
    "logs": Reader(read=_logs, declared=(), seeds=_log_seeds),
    "markdown": Reader(read=_markdown, declared=(), seeds=_text_seeds),
    "html": Reader(read=_html, declared=(), seeds=_text_seeds),
    "events": Reader(read=_events, declared=(ValueError,), seeds=_event_seeds),
    "commands": Reader(read=_commands, declared=(), seeds=lambda: (b"/evaluate abc\nx", b"/retry", b"/rank ", b"/help\r\n"),
                       words=(b"/retry", b"/rank", b"\xc2\x85", b"\xe3\x80\x80")),
    "trees": Reader(read=_trees, declared=(UnreadableError,), seeds=_tree_seeds),
    "layers": Reader(read=_layers, declared=(AgentFault,), seeds=_layer_seeds),
    "images": Reader(read=_images, declared=(AgentFault,), seeds=_image_seeds),
    "stream": Reader(read=_stream, declared=(),
                     seeds=lambda: (b"\1\0\0\0\0\0\0\3abc\2\0\0\0\0\0\0\1x", b"\1\0\0\0\xff\xff\xff\xffa")),
    "claims": Reader(read=_claims, declared=(ReportedScoreError,),
                     seeds=lambda: (b'x\n{"score": 21.5}\n', b'{"score": "a"}', b'{"score": 1e400}',
                                    b'{"a": {"score": 1}}')),
}  # fmt: skip


def attempt(reader: Reader, data: bytes) -> bool:
    """Read an input; False where it was refused as declared. Raises anything else."""
    try:
        return reader.read(data)
    except reader.declared:
        return False
