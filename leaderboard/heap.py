"""Memory of a process that makes hundreds of thousands of records and drops none of them."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def growing() -> Iterator[None]:
    """Look for no garbage while records are made: all of them stay, and each look would go through all there are."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def settled() -> None:
    """What there is stays to the end: no later look for garbage goes through it, and a fork leaves its pages shared."""
    gc.freeze()
