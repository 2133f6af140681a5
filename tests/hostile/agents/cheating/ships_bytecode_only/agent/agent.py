"""Brings its agent's real code as bytecode without a source, and a cache for a source that says something else."""

import importlib.machinery
import importlib.util
import marshal
import os

cache = "/submission/__pycache__"
loaded = os.path.exists(cache)
code = compile("ACTION = 1", "hidden.py", "exec")
names = {}
exec(marshal.loads(marshal.dumps(code)), names)
print("bytecode runs as what it is:", names["ACTION"], "a cache came along:", loaded, flush=True)


class Agent:
    def act(self, observation):
        return names["ACTION"]
