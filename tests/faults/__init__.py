"""Faults at named points: what is killed or broken there, and that a plain run afterwards completes."""
