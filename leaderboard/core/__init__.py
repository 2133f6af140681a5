"""What every leaderboard is made of: entries, their owners, standings as values, the store of results, parallel work."""
