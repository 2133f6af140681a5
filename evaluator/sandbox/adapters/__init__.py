"""Adapters for agents written for other systems, one module for each value of `adapter`."""
