"""Writes model.onnx, at home: `pip install torch onnx`, then `python export.py`.

Only the file is run on the board. Its one input is a batch of observations, its first output an action for each or, for
a discrete space, a score for each action.
"""

import torch

OBSERVATION = 4  # numbers in an observation of CartPole

network = torch.nn.Linear(OBSERVATION, 2)
with torch.no_grad():  # in place of training: push the cart to the side to which the pole falls
    network.weight.copy_(torch.tensor([[0.0, 0.0, -1.0, -0.5], [0.0, 0.0, 1.0, 0.5]]))
    network.bias.zero_()

torch.onnx.export(
    network, (torch.zeros(1, OBSERVATION),), "model.onnx", input_names=["observation"], output_names=["scores"],
    dynamic_axes={"observation": {0: "batch"}, "scores": {0: "batch"}}, dynamo=False,
)  # fmt: skip
