"""Dies with a full memory and asks for its image, which the machine's own handler of crashes would have to write."""

import os
import resource
import signal

try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except (OSError, ValueError):
    pass
print("a core may have", resource.getrlimit(resource.RLIMIT_CORE)[0], "bytes", flush=True)


class Agent:
    def act(self, observation):
        self.memory = os.urandom(40 << 20)
        signal.signal(signal.SIGABRT, signal.SIG_DFL)
        os.abort()
