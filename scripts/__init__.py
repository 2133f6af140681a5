"""The `pullrank` command and the GitHub bot; only here are the evaluator and the leaderboard used together."""
