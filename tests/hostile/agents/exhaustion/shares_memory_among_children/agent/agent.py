"""Fills memory that is shared with its children, so that it belongs to nobody."""

import mmap
import os

pages = []
for _ in range(20):
    page = mmap.mmap(-1, 16 << 20)
    pages.append(page)
    if os.fork() == 0:
        for at in range(0, 16 << 20, 4096):
            page[at] = 1
        os._exit(0)
    os.wait()
    for at in range(0, 16 << 20, 4096):
        page[at] = 2
raise AssertionError("320 MiB of 128")
