"""What the site says to machines: JSON, CSV, feeds, badges and counters, as functions of the standings."""
