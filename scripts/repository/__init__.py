"""A checkout of a leaderboard's repository: its files, its standings, its season file."""
