"""The page of an agent."""
