"""An array until one asks."""


class Field:
    def __array__(self, *arguments, **options):
        raise RuntimeError("no array for you")


class Agent:
    def act(self, observation):
        return Field()
