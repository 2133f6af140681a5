"""Git: objects, history, the path guard, the branches that hold results, and the standings of what they hold."""
