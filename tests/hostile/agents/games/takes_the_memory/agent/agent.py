"""Uses all memory once the game has begun."""


class Agent:
    def act(self, observation):
        kept = []
        while True:
            kept.append(bytearray(b"x") * (16 << 20))
