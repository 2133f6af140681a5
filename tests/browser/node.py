"""The packages of tests/browser/package.json, which the Makefile installs with npm."""

from pathlib import Path

from tests.needs import lacking, node

PACKAGES = Path(__file__).with_name("node_modules")


def needed(package: str) -> Path:
    """Where a package lies, for Node to run it."""
    node()
    if not (PACKAGES / package).is_dir():
        lacking(f"{package}: run 'make test' where npm can install", "NODE")
    return PACKAGES / package
