"""Turns the configuration of another platform into ours, and says of each key what became of it."""
