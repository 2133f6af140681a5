"""Leaves before it was asked anything."""

import os

os._exit(0)
