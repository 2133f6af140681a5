"""Git: objects, history, the guard of pull requests, and the branches that hold results."""
