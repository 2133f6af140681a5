"""Bytes for everything that reads what strangers wrote: `python -m tests.fuzz READER --cases N`."""
