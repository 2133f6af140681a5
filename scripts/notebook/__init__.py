"""Pullrank from Python: what a notebook imports."""
