"""The verbs of the `pullrank` command, one module each."""
