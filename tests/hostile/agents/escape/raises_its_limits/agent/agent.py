"""Raises limits of descriptors, memory, processes, queues and priorities above what it was given."""

import resource

raised = []
for name in dir(resource):
    if not name.startswith("RLIMIT_"):
        continue
    which = getattr(resource, name)
    try:
        soft, hard = resource.getrlimit(which)
    except (OSError, ValueError):
        continue
    for wanted in (hard + 1, 1 << 40, resource.RLIM_INFINITY):
        if hard == resource.RLIM_INFINITY or (0 <= wanted <= hard):
            continue
        try:
            resource.setrlimit(which, (wanted, wanted))
            raised.append((name, hard, wanted))
        except (OSError, ValueError):
            pass
assert not raised, raised
assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= 1024
assert resource.getrlimit(resource.RLIMIT_CORE)[1] == 1
print("limits only sink", flush=True)


class Agent:
    def act(self, observation):
        return 0
