"""The GitHub edge: event, client, git, outputs."""
