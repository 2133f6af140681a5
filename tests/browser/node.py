"""The packages of tests/browser/package.json, which the Makefile installs with npm."""

import os
import shutil
from pathlib import Path

import pytest

PACKAGES = Path(__file__).with_name("node_modules")


def needed(package: str) -> Path:
    """Where a package lies; without it, or without Node, skip; under PULLRANK_REQUIRE_NODE=1 that is an error."""
    missing = None if shutil.which("node") else "Node"
    missing = missing or (None if (PACKAGES / package).is_dir() else f"{package}: run 'make test' where npm can install")
    if missing and os.environ.get("PULLRANK_REQUIRE_NODE") == "1":
        pytest.fail(f"the tests of pages need {missing}")
    if missing:
        pytest.skip(f"needs {missing}")
    return PACKAGES / package
