"""Prints terminal codes that would repaint a reader's screen."""

print("\x1b[2J\x1b]0;owned\x07 \u202egnp.exe \u2066 \x00 &lt;script&gt; **bold** @everyone", flush=True)
open(2, "wb", closefd=False).write(b"\xff\xfe\xc3\x28\r\n")


class Agent:
    def act(self, observation):
        return 0
