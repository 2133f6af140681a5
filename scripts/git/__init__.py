"""Git: objects, history, the path guard, and the branches that hold results."""
