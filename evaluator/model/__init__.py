"""The values that flow between the stages: frozen, typed, no I/O."""
