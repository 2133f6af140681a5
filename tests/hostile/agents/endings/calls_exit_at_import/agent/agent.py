"""Calls exit while it is imported."""

raise SystemExit("done")
