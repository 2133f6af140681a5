"""Returns an object that raises when it is converted to an array."""


class Field:
    def __array__(self, *arguments, **options):
        raise RuntimeError("no array for you")


class Agent:
    def act(self, observation):
        return Field()
