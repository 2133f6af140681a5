"""Checks of a repository's settings on GitHub, and their repair."""
