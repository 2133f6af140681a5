"""The site's documents for machines: JSON, CSV, feeds, badges and counters, as functions of the standings."""
