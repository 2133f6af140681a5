"""The bot's comment on a pull request: its states as typed values, and their text."""
