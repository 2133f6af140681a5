"""Agents that try what a sandbox must refuse. They are data: sent into the sandbox, never imported here."""
