"""Pullrank in a notebook: `import pullrank`."""

from scripts.notebook.analysis import compare, evaluate, load_board, replay, to_minari, to_tensorboard, to_wandb

__all__ = ["compare", "evaluate", "load_board", "replay", "to_minari", "to_tensorboard", "to_wandb"]
