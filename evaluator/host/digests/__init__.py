"""Digests of what measures: the runtime, the image's files and a host's own code."""
