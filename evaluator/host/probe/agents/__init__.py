"""Agents that try what a sandbox must refuse. They are sent into the sandbox as data, never imported here."""
