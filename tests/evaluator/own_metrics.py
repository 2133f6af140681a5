"""Functions that a host might name as metrics."""

import numpy as np


def first(episodes):
    return episodes[0].total


def share_of_lefts(episodes):
    return float(np.mean([action == 0 for one in episodes for action in one.actions]))


def largest_angle(episodes):
    return max(abs(float(step.after[2])) for one in episodes for step in one.steps())


def replayed_return(episodes):
    return sum(step.reward for one in episodes for step in one.steps()) / len(episodes)


def none(episodes):
    return None


def raises(episodes):
    return 1 / 0


def text(episodes):
    return "3"


def nan(episodes):
    return float("nan")


def huge(episodes):
    return 1e308


def flag(episodes):
    return True


def wants_all(episodes):
    return episodes[11].total


not_a_function = 3
