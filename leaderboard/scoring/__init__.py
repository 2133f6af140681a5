"""From the returns of episodes to scores with intervals, comparisons and ranks."""
