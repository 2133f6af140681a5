"""Closing a season, its archive and citation, and publishing changes of season.json."""
