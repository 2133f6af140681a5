"""A model of Stable-Baselines3, with the statistics of VecNormalize if there are some; also one from before gymnasium."""

import importlib
import pickle
import sys
from pathlib import Path

import numpy as np
import stable_baselines3
import torch

ALGORITHM = "PPO"

FOLDER = Path(__file__).parent
torch.set_num_threads(1)
# Older models name the spaces of gym, which are gymnasium's.
for module in ("", ".spaces", ".spaces.box", ".spaces.discrete"):
    sys.modules.setdefault(f"gym{module}", importlib.import_module(f"gymnasium{module}"))
# Schedules are not needed, and are often byte code of another Python version.
UNUSED = {name: lambda _: 0.0 for name in ("lr_schedule", "clip_range", "exploration_schedule")} | {"learning_rate": 0.0}
MODEL = getattr(stable_baselines3, ALGORITHM).load(FOLDER / "model.zip", device="cpu", custom_objects=UNUSED)
STATISTICS = FOLDER / "vecnormalize.pkl"
NORMALISED = pickle.loads(STATISTICS.read_bytes()) if STATISTICS.exists() else None


class Agent:
    def act_batch(self, observations):
        observations = np.asarray(observations)
        if NORMALISED is not None and NORMALISED.norm_obs:
            observations = NORMALISED.normalize_obs(observations)
        return MODEL.predict(observations, deterministic=True)[0]
