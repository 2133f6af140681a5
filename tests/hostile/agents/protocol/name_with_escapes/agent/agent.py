"""Returns an object whose type's name holds terminal codes and bidirectional controls."""


class Agent:
    def act(self, observation):
        return type("\x1b[2J\u202e<script>" + "x" * 5000, (), {"__repr__": lambda self: "\x1b]0;owned\x07"})()
