"""The `pullrank` command and the GitHub bot: the only place where the packages meet."""
