"""Recurses without end after it raised Python's limit."""

import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __getattr__(self, name):
        return getattr(self, name + "x" if len(name) < 9 else "x")

    def __repr__(self):
        return repr([self])


class Agent:
    def act(self, observation):
        return len(repr(Deep()))
