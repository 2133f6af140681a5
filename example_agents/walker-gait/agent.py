"""Walks on two legs with a gait of two poses, found by the evolution strategy in train.py.

One leg swings, the other stands. The swing leg is first lifted (pose 0), then reaches for the ground (pose 1);
when it touches down the legs change roles. Each motor is a spring towards the pose, with a damper, plus a
linear reaction to how the hull moves. Which leg swings, and for how long already, is the agent's memory.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PATIENCE = 3.0  # a swing of this many lift times that met no ground changes legs all the same


@dataclass(frozen=True, kw_only=True)
class Gait:
    """What is learnt; a joint is one of swing hip, swing knee, stance hip, stance knee."""

    poses: Floats
    """Target angle of each joint in each of the two poses, (2, 4)."""
    springs: Floats
    """Pull towards the target angle, per joint."""
    dampers: Floats
    """Pull against the joint's speed, per joint."""
    reactions: Floats
    """Each joint's reaction to the hull's angle, turning, forward speed and upward speed, (4, 4)."""
    lift_steps: float
    """How many steps the swing leg is lifted before it reaches for the ground."""

    @classmethod
    def from_vector(cls, vector: Floats) -> Self:
        """Cut a flat vector of 33 numbers into the parts of a gait."""
        poses, springs, dampers, reactions, lift = np.split(vector, [8, 12, 16, 32])
        return cls(
            poses=poses.reshape(2, 4),
            springs=springs,
            dampers=dampers,
            reactions=reactions.reshape(4, 4),
            lift_steps=float(lift[0]),
        )

    def to_vector(self) -> Floats:
        """Lay the parts of the gait end to end."""
        return np.concatenate([np.ravel(part) for part in asdict(self).values()])

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a gait that `save` wrote."""
        stored = json.loads(path.read_text())
        return cls(lift_steps=stored.pop("lift_steps"), **{name: np.array(value) for name, value in stored.items()})

    def save(self, path: Path) -> None:
        """Write the gait as JSON that a person can read."""
        values = {name: np.round(value, 4).tolist() for name, value in asdict(self).items()}
        lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in values.items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


class Agent:
    gait = Gait.load(Path(__file__).with_name("gait.json"))

    def __init__(self) -> None:
        self.swing = 0
        self.clock = 0

    def act(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        hull, legs = observation[:4], observation[4:14].reshape(2, 5)
        self._change_legs(touches_ground=legs[self.swing, 4] > 0)
        order = [self.swing, 1 - self.swing]
        angles, speeds = legs[order][:, [0, 2]].ravel(), legs[order][:, [1, 3]].ravel()
        pose = self.gait.poses[int(self.clock >= self.gait.lift_steps)]
        torque = self.gait.springs * (pose - angles) - self.gait.dampers * speeds + self.gait.reactions @ hull
        return np.clip(torque.reshape(2, 2)[order].ravel(), -1, 1).astype(np.float32)

    def _change_legs(self, *, touches_ground: bool) -> None:
        """Count the step; once the swing leg has reached the ground, the other leg swings."""
        self.clock += 1
        reaching, too_long = self.clock > self.gait.lift_steps, self.clock > PATIENCE * self.gait.lift_steps
        if (reaching and touches_ground) or too_long:
            self.swing, self.clock = 1 - self.swing, 0
