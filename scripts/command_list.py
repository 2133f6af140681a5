"""The commands of `pullrank`: their help lines, and which of them run with pinned arithmetic."""

from typing import NamedTuple


class CommandInfo(NamedTuple):
    """A command; its module is `scripts.commands.<name>`."""

    help: str
    """The first line of the command's own `--help`, shown by `pullrank --help`."""
    example: str
    """What follows `pullrank` in the example at the end of its `--help`."""
    is_pinned: bool = False
    """Whether it runs in a second interpreter with pinned arithmetic, since it steps environments or rates players."""


COMMANDS = {
    "new": CommandInfo(
        "Write a small example agent to start from.",
        "new submissions/alice/first --task CartPole-v1",
    ),
    "check": CommandInfo(
        "Check folders, or the challenge and all agents; no agent is run.",
        "check submissions/alice/first",
    ),
    "evaluate": CommandInfo(
        "Play an agent with the preview's public seeds: its tasks alone, games against itself and the baselines.",
        "evaluate submissions/alice/first --task CartPole-v1; to look inside: --episodes 5 --log --pdb",
        is_pinned=True,
    ),
    "show": CommandInfo(
        "Show what is recorded of this version: returns, lengths, seeds, duels, the message, the end of the log.",
        "show submissions/alice/first --task CartPole-v1 --episodes",
    ),
    "watch": CommandInfo(
        "Draw a recorded episode or match as a moving picture; the agent is not run.",
        "watch submissions/alice/first --episode worst --out first.gif",
        is_pinned=True,
    ),
    "field": CommandInfo(
        "Play what is missing, games against every merged agent, and show which ranks the data allow.",
        "field submissions/alice/first --task connect_four",
        is_pinned=True,
    ),
    "ready": CommandInfo(
        "Say whether a pull request with this agent would pass: paths, check, results, place; then what is left to do.",
        "ready submissions/alice/first",
        is_pinned=True,
    ),
    "duel": CommandInfo(
        "Play two agents against each other with the preview's public seeds.",
        "duel submissions/alice/first example_agents/random --game connect_four",
        is_pinned=True,
    ),
    "tournament": CommandInfo(
        "Play the duels that are wanted and not recorded, validations first, and rate the players; a stop loses one duel.",
        "tournament --game connect_four",
        is_pinned=True,
    ),
    "rank": CommandInfo(
        "Rank what is recorded; nothing is played.",
        "rank --official --task CartPole-v1",
        is_pinned=True,
    ),
    "verify": CommandInfo(
        "Replay traces and moves on the environments alone: the same actions must give the same returns.",
        "verify results/CartPole-v1/alice/first",
        is_pinned=True,
    ),
    "plan": CommandInfo(
        "List the evaluations and duels that are wanted and not recorded.",
        "plan --explain",
        is_pinned=True,
    ),
    # Only `site build` computes; it pins its arithmetic itself.
    "site": CommandInfo(
        "Build the site, or serve it on this machine.",
        "site build && pullrank site serve",
    ),
    "demo": CommandInfo(
        "Evaluate all agents, play all duels, verify by replay, rank, build the site; what is recorded is not repeated.",
        "demo --sandbox process",
        is_pinned=True,
    ),
    "probe": CommandInfo(
        "Test what a sandbox must refuse and what it must allow; exit code 3 if a check fails.",
        "probe --sandbox docker",
    ),
    "gvisor": CommandInfo(
        "Check that the engine has gVisor, if challenge.yml evaluates in it; exit code 3 if it does not.",
        "gvisor --install",
    ),
    "quarantine": CommandInfo(
        "Hide results that were measured while something was wrong, and show them again.",
        "quarantine --since 1f0c2ab --why 'a clock was wrong' --who alice",
    ),
    "schemas": CommandInfo(
        "Generate the JSON Schemas in site/pages/schemas.",
        "schemas --check",
    ),
    "bot": CommandInfo(
        "Commands for the GitHub workflows.",
        "bot --help",
        is_pinned=True,
    ),
    "image": CommandInfo(
        "Get, build, push or check the evaluator image.",
        "image ensure",
    ),
    "recorded": CommandInfo(
        "Fetch the recorded results into results/; it is no error if there are none yet.",
        "recorded --episodes",
    ),
    "doctor": CommandInfo(
        "Check the repository's settings on GitHub and print what is missing.",
        "doctor --fix",
    ),
    "rehearse": CommandInfo(
        "Enter an agent on GitHub, check that each step works, and withdraw it; asks before it merges.",
        "rehearse --fork alice",
    ),
    "init": CommandInfo(
        "Make this copy your own leaderboard: set title, owner, tasks; remove the origin's submissions and results.",
        "init --title Balance --owner alice --repository alice/balance",
    ),
    "import-evalai": CommandInfo(
        "Convert an EvalAI challenge: challenge.yml, Markdown pages, and a line for each key.",
        "import-evalai challenge_config.yaml",
    ),
    "season": CommandInfo(
        "Seal, reveal, end, close and reopen a season.",
        "season seal",
        is_pinned=True,
    ),
    "completion": CommandInfo(
        "Print a script that completes commands and folders in a shell: bash, zsh or fish.",
        "completion bash >> ~/.bashrc",
    ),
    "erase": CommandInfo(
        "Take a person's name, logs, weights and pages off the board; scores stay under a name that stands for nobody.",
        "erase alice --push",
        is_pinned=True,
    ),
    "upgrade": CommandInfo(
        "Make a branch with a newer Pullrank: the host's files stay, and nothing is lost or left in conflict.",
        "upgrade --to main",
    ),
    "grades": CommandInfo(
        "Print a row for each participant or team: its best official scores before each deadline, and what is late.",
        "grades --csv > grades.csv",
    ),
}
