"""The verbs of `pullrank`: what each does, in one line, and whether its arithmetic is pinned."""

from typing import NamedTuple


class Verb(NamedTuple):
    """One verb; its module is `scripts.commands.<name>`."""

    help: str
    """The line that `pullrank --help` shows: the first of the verb's own help."""
    is_pinned: bool = False
    """Whether it is started anew with pinned arithmetic: it steps environments or rates players."""


VERBS = {
    "new": Verb("Write a small agent to begin with."),
    "check": Verb("Check folders, or the challenge and every agent of the board."),
    "evaluate": Verb(
        "Play an agent with the preview's public seeds: its tasks alone, games against itself and the baselines.",
        is_pinned=True,
    ),
    "duel": Verb("Play two agents against each other with the preview's public seeds.", is_pinned=True),
    "tournament": Verb(
        "Hold the duels that are wanted and not recorded, validations first, and rate the players; a stop loses one duel.",
        is_pinned=True,
    ),
    "rank": Verb("Rank what is recorded; nothing is played.", is_pinned=True),
    "verify": Verb(
        "Replay traces and moves on the environments alone: the same actions must give the same returns.", is_pinned=True
    ),
    "plan": Verb("List the evaluations and duels that are wanted and not recorded.", is_pinned=True),
    # Only `site build` computes, and pins itself.
    "site": Verb("Build the board's site, or show it."),
    "demo": Verb(
        "Evaluate all agents, hold all duels, verify by replay, rank, build the site; what is recorded is not repeated.",
        is_pinned=True,
    ),
    "probe": Verb("Try what a sandbox must refuse, and what it must grant; exit code 3 if a promise does not hold."),
    "schemas": Verb("Generate site/pages/schemas from the model."),
    "bot": Verb("What the workflows on GitHub call.", is_pinned=True),
    "image": Verb("Have the evaluator image here, or put it into a registry."),
    "recorded": Verb("Fetch the recorded results; before the first one there are none, which is no fault."),
    "doctor": Verb("Look at the repository's settings on GitHub and say what is missing."),
    "rehearse": Verb("Enter an agent on GitHub, see that each step works, and withdraw it; asks before it merges."),
    "init": Verb("Make this copy one's own board: title, owner, tasks; submissions and recorded results of the origin go."),
    "import-evalai": Verb("Turn an EvalAI challenge into ours: challenge.yml, Markdown pages, and a line for each key."),
    "season": Verb("Seal, reveal and close a season.", is_pinned=True),
}
