"""Touches one byte in every two mebibytes of a huge mapping, so that tables cost more than pages."""

import mmap

room = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
room.madvise(mmap.MADV_NOHUGEPAGE if hasattr(mmap, "MADV_NOHUGEPAGE") else 15)
touched = 0
for at in range(0, 1 << 40, 1 << 21):
    room[at] = 1
    touched += 1
raise AssertionError(f"{touched} tables and as many pages in 128 MiB")
