"""Evaluation and verification of one agent on one task."""
