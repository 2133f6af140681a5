"""From recorded duels to ratings and the leaderboard of a game; `connectivity` and `davidson` know players by number."""
