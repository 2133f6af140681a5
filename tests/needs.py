"""What tests need of the machine: without it a skip that says so, or a failure where PULLRANK_REQUIRE_… asks for it."""

import os
import shutil
from typing import NoReturn

import pytest


def lacking(thing: str, switch: str) -> NoReturn:
    """Skip for want of a thing; under PULLRANK_REQUIRE_<switch>=1 fail, which in a fixture is an error."""
    if os.environ.get(f"PULLRANK_REQUIRE_{switch}") == "1":
        pytest.fail(f"PULLRANK_REQUIRE_{switch}=1, but this needs {thing}")
    pytest.skip(f"needs {thing}")


def node() -> str:
    """The program that runs JavaScript."""
    return shutil.which("node") or lacking("Node: there is none on this machine", "NODE")


def without_gvisor() -> NoReturn:
    """For where the engine has no gVisor."""
    lacking("gVisor: the engine has no runtime runsc", "GVISOR")


def is_every_night(part: str) -> bool:
    """Whether `make nightly PART=…` runs these tests, which asks for all of that part."""
    return os.environ.get(f"PULLRANK_ALL_{part.upper()}") == "1"


def every_night(part: str) -> pytest.MarkDecorator:
    """For a test that takes too long for every change."""
    reason = f"takes too long for every change; 'make nightly PART={part}' runs it"
    return pytest.mark.skipif(not is_every_night(part), reason=reason)
