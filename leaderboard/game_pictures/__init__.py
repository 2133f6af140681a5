"""Positions of games as pictures and as text, and the replay of a duel."""
