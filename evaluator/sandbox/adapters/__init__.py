"""Run agents that were written for other systems, unmodified: one module for each name that `adapter` may have."""
