"""Seasons: sealing, revealing and closing them."""
