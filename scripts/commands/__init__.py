"""One file for each verb of the `pullrank` command."""
