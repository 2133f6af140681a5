"""From recorded duels to ratings and the leaderboard of a game."""
