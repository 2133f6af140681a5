"""Pullrank in a notebook: `import pullrank`."""

from scripts.notebook.analysis import compare, evaluate, load_board, replay

__all__ = ["compare", "evaluate", "load_board", "replay"]
