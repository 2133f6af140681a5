"""Raises an exception that raises, exits or hangs when it is printed."""


class Shy(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


class Agent:
    def act(self, observation):
        raise Shy
