"""Trains model.zip with Stable-Baselines3, at home: `pip install stable-baselines3`, then `python train.py`.

Only the saved model is run on the board. PPO, A2C, DQN, SAC, TD3 and DDPG are known.
"""

from stable_baselines3 import PPO

ENVIRONMENT = "CartPole-v1"

model = PPO("MlpPolicy", ENVIRONMENT, policy_kwargs={"net_arch": [16]}, seed=0, device="cpu")
model.learn(20_000)
model.save("model", exclude=["rollout_buffer"])
