"""What the bot writes to pull requests: previews, commands, official scores and statuses."""
