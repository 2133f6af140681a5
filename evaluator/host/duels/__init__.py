"""Evaluation and verification of duels, the games of two agents."""
