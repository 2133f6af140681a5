"""Its type's name clears the screen and turns the text round."""


class Agent:
    def act(self, observation):
        return type("\x1b[2J\u202e<script>" + "x" * 5000, (), {"__repr__": lambda self: "\x1b]0;owned\x07"})()
