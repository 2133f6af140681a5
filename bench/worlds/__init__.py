"""Worlds from CartPole to pixels, played by every way that people evaluate agents: `python -m bench.worlds`."""
