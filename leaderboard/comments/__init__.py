"""The bot's comment on a pull request: where its agents stand, its states as typed values, and their text."""
