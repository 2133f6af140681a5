"""The client of the GitHub API, its answers as typed values, and the bot's comments and issues."""
