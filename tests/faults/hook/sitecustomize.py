"""Python reads this at its start from PYTHONPATH: disturbs the process at the place that PULLRANK_FAULT names.

The product holds no hooks. A function is wrapped when its module has been imported, before anybody can take it from there.
"""

import importlib.abc
import importlib.machinery
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

ADDED_SECONDS = 100_000.0


class _Fault:
    def __init__(self, place, when, call, act, room, **more):
        self.module, self.path = place.split(":")
        self.when, self.call, self.act, self.room = when, call, act, room
        self.calls = 0

    def wrap(self, module):
        *owners, name = self.path.split(".")
        holder = module
        for owner in owners:
            holder = getattr(holder, owner)
        original = getattr(holder, name)

        def wrapped(*arguments, **named):
            self.calls += 1
            is_here = self.calls == self.call
            if is_here and self.when == "before":
                self.strike()
            result = original(*arguments, **named)
            if is_here and self.when == "after":
                self.strike()
            return result

        if self.when == "middle":
            setattr(holder, name, lambda *arguments, **named: _HalfWriter(self, original(*arguments, **named)))
            return
        setattr(holder, name, staticmethod(wrapped) if isinstance(vars(holder).get(name), staticmethod) else wrapped)

    def strike(self):
        self.note("reached")
        if self.act == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.act == "kill-soon":
            threading.Timer(4, os.kill, (os.getpid(), signal.SIGKILL)).start()
        elif self.act == "wait":  # for what is done from outside
            while not Path(self.room, "go").exists():
                time.sleep(0.005)
        elif self.act == "clock":
            now = time.time
            time.time = lambda: now() + ADDED_SECONDS
        elif self.act == "clock-back":
            now = time.time
            time.time = lambda: now() - ADDED_SECONDS
        elif self.act == "monotonic":
            # as after a machine was asleep
            ticks = time.monotonic
            time.monotonic = lambda: ticks() + ADDED_SECONDS

    def note(self, name):
        with Path(self.room, name).open("a") as file:
            file.write(f"{os.getpid()}\n")


class _HalfWriter:
    """A file that is struck when half of a content is on the disk."""

    def __init__(self, fault, file):
        self._fault, self._file = fault, file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *error):
        return self._file.__exit__(*error)

    def write(self, content):
        self._fault.calls += 1
        if self._fault.calls == self._fault.call:
            self._file.write(content[: len(content) // 2])
            self._file.flush()
            self._fault.strike()
            content = content[len(content) // 2 :]
        return self._file.write(content)


class _Loader(importlib.abc.Loader):
    def __init__(self, fault, loader):
        self._fault, self._loader = fault, loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._fault.wrap(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, fault):
        self._fault = fault

    def find_spec(self, name, path=None, target=None):
        if name != self._fault.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(self._fault, spec.loader)
        return spec


if "PULLRANK_FAULT" in os.environ:
    _fault = _Fault(**json.loads(os.environ["PULLRANK_FAULT"]))
    if _fault.module in sys.modules:
        _fault.wrap(sys.modules[_fault.module])
    else:
        sys.meta_path.insert(0, _Finder(_fault))
