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
