"""A workflow step's environment, event, outputs and secrets."""
