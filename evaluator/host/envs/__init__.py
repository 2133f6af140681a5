"""Environments and games: making, stepping, encoding, recording and rendering them."""
