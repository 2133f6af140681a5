"""Running of an unmodified training script, `python -u <file> <environment>`, with environments at the referee."""

import atexit
import contextlib
import json
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from evaluator import wire
from evaluator.sandbox import load_agent as agents
from evaluator.sandbox.remote_env import BudgetOver, RefereeLink, RemoteEnv
from evaluator.sandbox.remote_vector_env import RemoteVectorEnv

# Allowed arguments of `make` and `make_vec` besides the id; others would change the task.
_MAKE = ("render_mode", "max_episode_steps", "disable_env_checker")
_MAKE_VEC = (*_MAKE, "num_envs", "vectorization_mode", "vector_kwargs", "wrappers")
# A vector's arguments about processes and arrays, which have no effect here.
_IGNORED_VECTOR_ARGUMENTS = ("copy", "observation_mode", "shared_memory", "context", "daemon", "worker")
MAX_NOTICES = 20


def serve(stream: Any, folder: Path, main_file: str, hello: dict[str, Any]) -> None:
    """Run the script to its end and report how it ended."""
    path = folder / main_file
    if not path.is_file():
        raise agents.AgentError(
            wire.ErrorReason.INVALID, f"the file {main_file} does not exist; write it or correct 'entry'"
        )
    # One pipe for both streams, so that the log keeps the order of lines.
    os.dup2(1, 2)
    stream.send(wire.frame(wire.Op.READY, json.dumps({"protocol": wire.PROTOCOL_VERSION, "shared": False}).encode()))
    link = RefereeLink(stream, hello)
    patch_gymnasium_make(link)
    code = _run(path, folder, hello)
    report = {"exit_code": code, "notices": [text[:300] for text in link.notices[:MAX_NOTICES]]}
    stream.send(wire.frame(wire.Op.DONE, json.dumps(report).encode()))


def _run(path: Path, folder: Path, hello: dict[str, Any]) -> int:
    """Run the script; returns its exit code."""
    sys.argv = [path.name, hello["env_id"].rpartition(":")[2]]
    os.environ["PULLRANK_TASK"] = hello["task_id"]
    os.environ["PULLRANK_TRAINING_STEPS"] = str(hello["training_steps"])
    os.environ["PULLRANK_EVALUATION_EPISODES"] = str(hello["evaluation_episodes"])
    sys.path[0] = str(path.parent)
    if str(folder) not in sys.path:
        sys.path.insert(1, str(folder))
    os.chdir(path.parent)
    code = _exit_code(lambda: runpy.run_path(str(path), run_name="__main__"))
    # As the interpreter does at its end: wait for threads, and run exit functions.
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    return code


def _exit_code(run: Callable[[], Any]) -> int:
    try:
        run()
    except SystemExit as error:
        return _code(error.code)
    except BudgetOver as error:
        print(f"pullrank: {error}", file=sys.stderr, flush=True)
    except BaseException:  # noqa: BLE001  (any exception ends a script with a traceback and exit code 1, as in a shell)
        traceback.print_exc()
        return 1
    return 0


def _code(given: Any) -> int:
    if given is None:
        return 0
    if isinstance(given, int):
        return int(given) & 0xFF
    print(given, file=sys.stderr)
    return 1


def patch_gymnasium_make(link: RefereeLink) -> None:
    """Make `gymnasium.make` and `make_vec` return remote environments for the task's id."""
    make, make_vec = gymnasium.make, gymnasium.make_vec

    def remote_make(id: Any, **kwargs: Any) -> Any:  # noqa: A002  (Gymnasium's own name)
        if not _is_task(link, id):
            return _local(link, id, lambda: make(id, **kwargs))
        check_make_arguments(link, {**_spec_arguments(id), **kwargs}, _MAKE)
        return RemoteEnv(link)

    def remote_make_vec(id: Any, num_envs: int = 1, **kwargs: Any) -> Any:  # noqa: A002
        if not _is_task(link, id):
            return _local(link, id, lambda: make_vec(id, num_envs=num_envs, **kwargs))
        vector = dict(kwargs.get("vector_kwargs") or {})
        mode = AutoresetMode(vector.pop("autoreset_mode", AutoresetMode.NEXT_STEP))
        arguments = {name: value for name, value in vector.items() if name not in _IGNORED_VECTOR_ARGUMENTS}
        check_make_arguments(link, {**_spec_arguments(id), **kwargs, **arguments}, _MAKE_VEC)
        if kwargs.get("wrappers"):
            raise gymnasium.error.Error(
                "make_vec(wrappers=…) is not possible with a remote environment; wrap the vector instead"
            )
        return RemoteVectorEnv(link, int(num_envs), mode)

    for place in (gymnasium, gymnasium.envs.registration, gymnasium.envs):
        for name, ours in (("make", remote_make), ("make_vec", remote_make_vec)):
            if hasattr(place, name):
                setattr(place, name, ours)


def _name(id: Any) -> str:  # noqa: A002
    return str(getattr(id, "id", id)).rpartition(":")[2]


def _is_task(link: RefereeLink, id: Any) -> bool:  # noqa: A002
    """Whether an id means the task: the task's or its environment's, the latter also without a version."""
    env_id = _name(link.hello["env_id"])
    return _name(id) in (link.hello["task_id"], env_id, env_id.rpartition("-v")[0] or env_id)


def _spec_arguments(id: Any) -> dict[str, Any]:  # noqa: A002
    return dict(id.kwargs) if isinstance(id, EnvSpec) else {}


def _local(link: RefereeLink, id: Any, make: Callable[[], Any]) -> Any:  # noqa: A002
    link.notice(f"the environment {_name(id)[:80]} is local: what is played in it counts nothing")
    return make()


def check_make_arguments(link: RefereeLink, kwargs: dict[str, Any], known: tuple[str, ...]) -> None:
    """Raise Gymnasium's Error for arguments that would change the task."""
    expected = link.hello["kwargs"]
    for name, value in kwargs.items():
        if name in expected and expected[name] == value:
            continue
        if name == "render_mode" and value is not None:
            raise gymnasium.error.Error(
                f"render_mode={value!r} is not possible: the environment is at the referee; leave it out"
            )
        if name == "max_episode_steps" and value not in (None, link.hello["max_episode_steps"]):
            raise gymnasium.error.Error(f"max_episode_steps={value!r} makes another task; the task has its own limit")
        if name not in known:
            raise gymnasium.error.Error(
                f"make(…, {name}={value!r}) makes another task than {link.hello['task_id']}; leave it out"
            )
