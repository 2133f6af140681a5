"""The commands of `pullrank`, each a module in `scripts.commands`, and which of them run with pinned arithmetic."""

# By name what follows `pullrank` in the example at the end of its `--help`.
COMMANDS = {
    "new": "new submissions/alice/first --task CartPole-v1",
    "check": "check submissions/alice/first",
    "evaluate": "evaluate submissions/alice/first --task CartPole-v1; to look inside: --episodes 5 --log --pdb",
    "show": "show submissions/alice/first --task CartPole-v1 --episodes",
    "watch": "watch submissions/alice/first --episode worst --out first.gif",
    "field": "field submissions/alice/first --task connect_four",
    "ready": "ready submissions/alice/first",
    "duel": "duel submissions/alice/first example_agents/random --game connect_four",
    "tournament": "tournament --game connect_four",
    "rank": "rank --official --task CartPole-v1",
    "verify": "verify results/CartPole-v1/alice/first",
    "plan": "plan --explain",
    "site": "site build && pullrank site serve",
    "demo": "demo --sandbox process",
    "probe": "probe --sandbox docker",
    "gvisor": "gvisor --install",
    "quarantine": "quarantine --since 1f0c2ab --why 'a clock was wrong' --who alice",
    "schemas": "schemas --check",
    "bot": "bot --help",
    "image": "image ensure",
    "recorded": "recorded --episodes",
    "doctor": "doctor --fix",
    "rehearse": "rehearse --fork alice",
    "init": "init --title Balance --owner alice --repository alice/balance",
    "import-evalai": "import-evalai challenge_config.yaml",
    "season": "season seal",
    "completion": "completion bash >> ~/.bashrc",
    "erase": "erase alice --push",
    "upgrade": "upgrade --to main",
    "grades": "grades --csv > grades.csv",
}
# They run in a second interpreter with pinned arithmetic, since they step environments or rate players. Of `site` only
# `build` computes; it pins its arithmetic itself.
PINNED = {
    "evaluate", "watch", "field", "ready", "duel", "tournament", "rank", "verify", "plan", "demo", "bot", "season", "erase",
}  # fmt: skip
