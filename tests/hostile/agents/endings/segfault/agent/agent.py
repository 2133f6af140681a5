"""Reads address 0."""

import ctypes


class Agent:
    def act(self, observation):
        ctypes.string_at(0)
