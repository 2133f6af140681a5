"""The vector of remote environments that `gymnasium.make_vec` returns for the task; one question steps all of them."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from evaluator.sandbox.observations_and_actions import gymnasium_space
from evaluator.sandbox.remote_env import BudgetOver, RefereeLink, notice_ignored, spec_of, step_head

Step = tuple[Any, Any, Any, Any, dict[str, Any]]


class RemoteVectorEnv(VectorEnv):
    """Many environments at the referee.

    When no more episodes may begin, environments whose episode has ended rest with reward 0 while the others go on; when the
    run is over, `BudgetOver` is raised. In DISABLED mode ended ones rest too, until they are reset.
    """

    _handles: Sequence[int] = ()

    def __init__(self, link: RefereeLink, num_envs: int, autoreset_mode: AutoresetMode) -> None:
        super().__init__()
        if num_envs < 1:
            raise gymnasium.error.Error(f"num_envs is {num_envs}; it must be at least 1")
        self._link = link
        self.num_envs = num_envs
        self.metadata = {"render_modes": [], "autoreset_mode": autoreset_mode}
        self.render_mode = None
        self.spec = spec_of(link.hello)
        self.single_observation_space = gymnasium_space(link.hello["observation_space"])
        self.single_action_space = gymnasium_space(link.hello["action_space"])
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._mode = autoreset_mode
        first = link.make(num_envs)
        self._handles = list(range(first, first + num_envs))
        self._plain = step_head(self._handles, [False] * num_envs)
        self._ended = np.zeros(num_envs, np.bool_)
        self._over: BudgetOver | None = None
        self._seen: Any = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in each; in DISABLED mode `options={"reset_mask": …}` begins only those."""
        self._check_open()
        mask = (options or {}).get("reset_mask")
        notice_ignored(self._link, seed, {k: v for k, v in (options or {}).items() if k != "reset_mask"})
        if mask is not None:
            chosen = np.asarray(mask)
            if self._seen is None or chosen.dtype != np.bool_ or chosen.shape != self._ended.shape or not chosen.any():
                raise gymnasium.error.Error("'reset_mask' is one flag for each environment, after a first reset()")
            self._begin_episodes(chosen)
            return _copied(self._seen), {}
        self._seen = _copied(self._link.reset(self._handles))
        self._ended = np.zeros(self.num_envs, np.bool_)
        return _copied(self._seen), {}

    def step(self, actions: Any) -> Step:
        """Step all of them; the autoreset mode says what happens to ended ones."""
        self._check_open()
        if self._seen is None:
            raise gymnasium.error.ResetNeeded("no episode has begun: call reset() first")
        if self._over is None and not (self._mode is AutoresetMode.DISABLED and self._ended.any()):
            try:
                return self._step_all(actions)
            except BudgetOver as over:
                self._over = over
        return self._step_some(actions, np.flatnonzero(~self._ended))

    def _step_all(self, actions: Any) -> Step:
        resets = self._mode is AutoresetMode.NEXT_STEP and self._ended.any()
        head = step_head(self._handles, self._ended.tolist()) if resets else self._plain
        body = self._link.writer.stacked(self._as_array(actions), self.num_envs)
        stacked, rewards, terminated, truncated = self._link.step(head, body, self.num_envs)
        self._ended = terminated | truncated
        self._seen = _copied(stacked)
        return self._step_result(rewards.copy(), terminated.copy(), truncated.copy())

    def _step_some(self, actions: Any, rows: Any) -> Step:
        """Step only the given rows; the others rest."""
        count = len(rows)
        if not count:
            raise self._over or gymnasium.error.ResetNeeded("every episode has ended: call reset() first")
        head = step_head([self._handles[row] for row in rows.tolist()], [False] * count)
        body = self._link.writer.stacked(_mapped(lambda part: np.asarray(part)[rows], self._as_array(actions)), count)
        stacked, *numbers = self._link.step(head, body, count)
        rewards, terminated, truncated = (np.zeros(self.num_envs, part.dtype) for part in numbers)
        for values, part in zip((rewards, terminated, truncated), numbers, strict=True):
            values[rows] = part
        self._ended |= terminated | truncated
        self._seen = _put(self._seen, rows, stacked)
        return self._step_result(rewards, terminated, truncated)

    def _step_result(self, rewards: Any, terminated: Any, truncated: Any) -> Step:
        info: dict[str, Any] = {}
        now = terminated | truncated
        if self._mode is AutoresetMode.SAME_STEP and now.any():
            info = {"final_obs": _rows(self._seen, now), "_final_obs": now, "final_info": {}, "_final_info": now.copy()}
            if self._over is None:
                self._begin_episodes(now)
        return _copied(self._seen), rewards, terminated, truncated, info

    def _begin_episodes(self, mask: Any) -> None:
        """Begin new episodes in the masked environments; if no more may begin, these rest instead."""
        chosen = np.flatnonzero(mask)
        try:
            fresh = self._link.reset([self._handles[row] for row in chosen.tolist()])
        except BudgetOver as over:
            self._over = over
            if (mask | self._ended).all():
                raise
            self._ended |= mask
            return
        self._seen = _put(self._seen, chosen, fresh)
        self._ended[chosen] = False

    def _as_array(self, actions: Any) -> Any:
        return np.asarray(actions) if isinstance(self.single_action_space, (spaces.Discrete, spaces.Box)) else actions

    def _check_open(self) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError("the environments were closed; make others")

    def close_extras(self, **kwargs: Any) -> None:
        """Close them at the referee."""
        self._link.release(self._handles)
        self._handles = ()

    def __del__(self) -> None:
        if self._handles:
            self._link.dropped.extend(self._handles)


def _mapped(change: Callable[..., Any], *values: Any) -> Any:
    """The change of every array of values that have the form of one space."""
    if isinstance(values[0], dict):
        return {key: _mapped(change, *(value[key] for value in values)) for key in values[0]}
    if isinstance(values[0], tuple):
        return tuple(_mapped(change, *parts) for parts in zip(*values, strict=True))
    return change(*values)


def _copied(value: Any) -> Any:
    """Copied arrays, which no later step changes."""
    return _mapped(np.array, value)


def _put(seen: Any, chosen: Any, fresh: Any) -> Any:
    """A copy of `seen` with the rows `chosen` replaced."""

    def replaced(old: Any, new: Any) -> Any:
        copied = np.array(old)
        copied[chosen] = new
        return copied

    return _mapped(replaced, seen, fresh)


def _rows(seen: Any, mask: Any) -> Any:
    """Gymnasium's form of final observations: an object array with None where nothing ended."""
    rows = np.full(len(mask), None, dtype=object)
    for index in np.flatnonzero(mask).tolist():
        rows[index] = _mapped(lambda part, index=index: np.array(part[index]), seen)
    return rows
