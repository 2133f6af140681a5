"""The benchmark: ratios within one run."""
