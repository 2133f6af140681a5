"""A player of kaggle-environments' connectx that moves at random. Put your own file here as it is."""

import random


def my_agent(observation, configuration):
    """The column. The last function of the file is the agent, as with Kaggle."""
    free = [column for column in range(configuration.columns) if observation.board[column] == 0]
    return random.choice(free)
