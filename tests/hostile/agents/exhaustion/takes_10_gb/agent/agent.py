"""Uses ten gigabytes of memory."""


class Agent:
    def act(self, observation):
        hoard = [bytearray(b"x") * (1 << 20) for _ in range(10_000)]
        return len(hoard) * 0
