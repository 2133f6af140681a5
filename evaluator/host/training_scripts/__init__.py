"""Evaluation of training scripts, whose environments are stepped by the host."""
