"""The board that these tests run on: three short tasks, and agents for them."""

CHALLENGE = """\
title: Act
season: "2026"
baselines: []
repository: https://github.com/host/board
tasks:
  - id: CartPole-v1
    title: CartPole
    episodes: 5
    bounds: [1, 500]
    random: {score: 22, source: measured}
    reference: {score: 475, source: measured}
  - id: MountainCar-v0
    title: Mountain Car
    episodes: 3
    bounds: [-200, -1]
    random: {score: -200, source: measured}
    reference: {score: -110, source: measured}
  - id: Acrobot-v1
    title: Acrobot
    episodes: 3
    bounds: [-500, 0]
    random: {score: -498.5, source: measured}
    reference: {score: -100, source: measured}
"""
MANIFEST = "name: {name}\nalgorithm: rule\nkind: policy\nentry: agent.py\ntasks: [{tasks}]\n"
SOURCE = "class Agent:\n    memoryless = True\n\n    def act(self, observation):\n        return {act}\n"
TASKS = ("CartPole-v1", "MountainCar-v0", "Acrobot-v1")
# Pushes towards where it moves; on MountainCar that reaches the top, for 1 there means to coast.
FOLLOWS = "int(observation[-1] > 0) * (2 if len(observation) == 2 else 1)"
BALANCES = "int(0.05 * observation[0] + 0.1 * observation[1] + observation[2] + 0.5 * observation[3] > 0)"


def entry(login: str, name: str, act: str, tasks: tuple[str, ...] = TASKS) -> dict[str, str | None]:
    """The files of an agent that acts by one expression and enters some tasks."""
    folder = f"submissions/{login}/{name}"
    return {
        f"{folder}/submission.yml": MANIFEST.format(name=name, tasks=", ".join(tasks)),
        f"{folder}/agent.py": SOURCE.format(act=act),
    }
