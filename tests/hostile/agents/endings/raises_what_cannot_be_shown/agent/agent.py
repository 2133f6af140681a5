"""An exception that raises, exits and hangs up when it is looked at."""


class Shy(Exception):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


class Agent:
    def act(self, observation):
        raise Shy
