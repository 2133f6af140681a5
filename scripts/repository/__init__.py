"""A checkout of a leaderboard's repository: challenge, submissions, recorded results and season file."""
