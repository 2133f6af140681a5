"""A plain function of an observation. Put your own here as it is, and what it reads beside it."""

ACTION = 0


def act(observation):
    """The action for one observation."""
    return ACTION
