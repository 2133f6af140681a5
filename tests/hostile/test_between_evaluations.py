"""What an agent can carry from one evaluation to the next, and what tells it which evaluation this is: nothing.

Within one evaluation an agent may remember what it likes: its episodes share a process and /tmp.
"""

import dataclasses
import json
import os
import subprocess
from pathlib import Path

import pytest

from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.verdict import Verdict
from tests.hostile.arena import order_of, play, write_agent

pytestmark = pytest.mark.docker
NOTES = """
import json
import os
import subprocess

PLACES = [
    "/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", "/run/lock", "/channel", "/submission", "/opt/pullrank",
    "/opt/venv", os.path.expanduser("~/.cache"), os.path.expanduser("~/.local"), "/var/lock", "/home", "/root",
]
before = [place for place in PLACES if os.path.exists(f"{place}/note")]
written = []
for place in PLACES:
    try:
        os.makedirs(place, exist_ok=True)
        with open(f"{place}/note", "w") as file:
            file.write("seeds")
        written.append(place)
    except OSError:
        pass
child = subprocess.Popen(["/bin/sleep", "1000"], start_new_session=True)
others = [name for name in os.listdir("/proc") if name.isdigit()]
print(json.dumps({"before": before, "written": written, "processes": len(others)}), flush=True)


class Agent:
    def act(self, observation):
        return 0
"""
FINGERPRINT = """
import glob
import hashlib
import json
import os
import resource
import sys


def content(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        return error.strerror


TOPS = ("/", "/opt", "/opt/pullrank", "/submission", "/channel", "/tmp", "/dev", "/etc")
MOUNTS = sorted(line.split()[1:3] for line in content("/proc/self/mounts").splitlines())
seen = {
    "environment": sorted(pair for pair in os.environ.items() if pair[0] != "PYTHONHASHSEED"),  # a run's own
    "arguments": sys.argv,
    "names": sorted(name for top in TOPS for name in os.listdir(top)),
    "mounts": MOUNTS,
    "modules": sorted(sys.modules),
    "host": os.uname().nodename,
    "folder": os.getcwd(),
    "processes": sum(name.isdigit() for name in os.listdir("/proc")),
    "path": sys.path,
    "hosts": [line for line in content("/etc/hosts").splitlines() if "sandbox" not in line],
    "limits": [resource.getrlimit(getattr(resource, name)) for name in sorted(dir(resource)) if name.startswith("RLIMIT_")],
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "files": sorted(glob.glob("/submission/**")),
}
for name, value in seen.items():
    print(name, hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16], flush=True)
print("the seed", os.environ.get("PYTHONHASHSEED") is not None)


class Agent:
    def act(self, observation):
        return 0
"""

WORD = "1011001110001111010101100110100110110011100011110101011001101001"
FILES = """
import glob
import os
import sysconfig
import time

place = sysconfig.get_path("stdlib")
files = [file for file in sorted(glob.glob(place + "/**/*.py", recursive=True)) if os.path.getsize(file) > 8000][:64]
descriptors = [os.open(file, os.O_RDONLY) for file in files]


class Agent:
    def act(self, observation):
        return 0
"""
WRITER = f"""{FILES}
for bit, descriptor in zip("{WORD}", descriptors):
    os.pread(descriptor, 4096, 0)
    if bit == "1":
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            pass
print("written", len(descriptors), flush=True)
"""
READER = f"""{FILES}
seconds = []
for descriptor in descriptors:
    begun = time.perf_counter()
    os.pread(descriptor, 4096, 0)
    seconds.append(time.perf_counter() - begun)
print(" ".join(f"{{1e6 * second:.1f}}" for second in seconds), flush=True)
"""


LAST_FILES = FILES.replace("[:64]", "[-40:]")
NAMES = f"""{LAST_FILES}
print("\\n".join(files), flush=True)
"""
READING_WRITER = f"""{LAST_FILES}
for bit, descriptor in zip("{WORD}", descriptors):
    if bit == "1":
        os.pread(descriptor, 4096, 0)
print("written", len(descriptors), flush=True)
"""
LAST_READER = READER.replace("[:64]", "[-40:]")


def forget(image: str, names: list[str]) -> int:
    """Clear files of an image from the kernel's memory, as a machine that needs it does; returns how many."""
    shown = subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=True).stdout
    layers = json.loads(shown)[0]["GraphDriver"]["Data"]
    folders = [folder for key in ("LowerDir", "UpperDir") for folder in layers.get(key, "").split(":") if folder]
    cleared = 0
    for path in (Path(folder + name) for folder in folders for name in names):
        if os.access(path, os.R_OK):
            with path.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                cleared += 1
    return cleared


@pytest.fixture(params=["docker", "gvisor"])
def box(request: pytest.FixtureRequest) -> SelectedSandbox:
    chosen: SelectedSandbox = request.getfixturevalue(request.param)
    return chosen


@pytest.mark.attack(
    "leaves_notes_for_its_next_evaluation",
    family="cheating",
    tries="Writes what it learnt wherever it may write, leaves a process, and looks for both in its next evaluation.",
    outcome="the next evaluation finds nothing",
)
def test_an_evaluation_finds_nothing_of_the_one_before(box: SelectedSandbox, tmp_path) -> None:
    wanted = order_of(write_agent(tmp_path / "agent", NOTES), episodes=1)

    first, second = (play(wanted, box).result for _ in range(2))

    assert [first.verdict, second.verdict] == [Verdict.OK] * 2, (first.message, second.message)
    said = [json.loads(result.log_tail.splitlines()[0]) for result in (first, second)]
    assert "/tmp" in said[0]["written"]
    assert said[1] == said[0]
    assert said[1]["before"] == []
    assert second.returns == first.returns


@pytest.mark.attack(
    "leaves_a_word_in_the_kernels_memory",
    family="cheating",
    tries="Clears some files of the image from the kernel's memory, so that the next agent reads 64 bits by timing.",
    outcome="the next agent reads no word",
)
def test_no_word_is_left_in_the_page_cache(box: SelectedSandbox, tmp_path) -> None:
    writer, reader = (
        order_of(write_agent(tmp_path / name, source), episodes=1) for name, source in (("one", WRITER), ("two", READER))
    )

    written, read = (play(wanted, box).result for wanted in (writer, reader))

    assert written.log_tail == "written 64", written.message
    times = [float(word) for word in read.log_tail.split()]
    assert len(times) == len(WORD), read.message
    slowest = sorted(sorted(range(len(times)), key=times.__getitem__)[-WORD.count("1") :])
    cleared = [place for place, bit in enumerate(WORD) if bit == "1"]
    # By chance about half of the slowest files are among the cleared ones.
    assert len(set(slowest) & set(cleared)) < 0.9 * len(cleared), times


ADVISING_WRITER = f"""{FILES}
import ctypes
import mmap

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
COLD, PAGEOUT, DONTNEED, COLLAPSE, DONTNEED_LOCKED = 20, 21, 4, 25, 24
DONTCACHE, DIRECT = 0x80, getattr(os, "O_DIRECT", 0)
for bit, file, descriptor in zip("{WORD}", files, descriptors):
    if bit == "0":
        continue
    length = os.path.getsize(file)
    for sharing in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
        place = libc.mmap(None, ctypes.c_size_t(length), mmap.PROT_READ, sharing, descriptor, ctypes.c_long(0))
        page = ctypes.c_void_p(place)
        for advice in (COLLAPSE, COLD, PAGEOUT, DONTNEED, DONTNEED_LOCKED):
            ctypes.string_at(page, length)
            libc.madvise(page, ctypes.c_size_t(length), advice)
        libc.munmap(page, ctypes.c_size_t(length))
    room = mmap.mmap(-1, 1 << 16)
    for flags, how in ((DONTCACHE, os.O_RDONLY), (0, os.O_RDONLY | DIRECT)):
        try:
            os.preadv(os.open(file, how), [room], 0, flags)
        except OSError:
            pass
print("written", len(descriptors), flush=True)
"""
ASKING_READER = f"""{FILES}
def is_kept(descriptor):
    try:
        return bool(os.preadv(descriptor, [bytearray(4096)], 0, os.RWF_NOWAIT))
    except OSError:
        return False


print("".join(str(int(is_kept(descriptor))) for descriptor in descriptors), flush=True)
"""


@pytest.mark.attack(
    "drops_a_word_from_the_kernels_memory",
    family="cheating",
    tries="Advises the kernel to drop or merge mapped pages of the image, so that the next agent sees which are gone.",
    outcome="the next agent reads no word",
)
def test_no_word_is_left_by_advice(box: SelectedSandbox, tmp_path) -> None:
    box.warm(())  # As a job does before it plays.
    writer, asker, reader = (
        order_of(write_agent(tmp_path / name, source), episodes=1)
        for name, source in (("one", ADVISING_WRITER), ("two", ASKING_READER), ("three", READER))
    )

    written, asked, read = (play(wanted, box).result for wanted in (writer, asker, reader))

    assert written.log_tail == "written 64", written.message
    assert len(asked.log_tail) == len(WORD), asked.message
    cleared = [place for place, bit in enumerate(WORD) if bit == "1"]
    gone = {place for place, bit in enumerate(asked.log_tail) if bit == "0"}
    assert len(gone & set(cleared)) < 0.9 * len(cleared) or len(gone) == len(WORD), asked.log_tail
    times = [float(word) for word in read.log_tail.split()]
    slowest = sorted(range(len(times)), key=times.__getitem__)[-len(cleared) :]
    assert len(set(slowest) & set(cleared)) < 0.9 * len(cleared), times


@pytest.mark.attack(
    "reads_a_word_into_the_kernels_memory",
    family="cheating",
    tries="Reads some of the image's files that nobody had read, so that the next agent reads 40 bits by timing.",
    outcome="the next agent reads no word",
)
def test_no_word_is_left_by_reading(box: SelectedSandbox, tmp_path) -> None:
    writer, reader, namer = (
        order_of(write_agent(tmp_path / name, source), episodes=1)
        for name, source in (("one", READING_WRITER), ("two", LAST_READER), ("three", NAMES))
    )
    named = play(namer, box).result
    if not forget(str(named.image_digest), named.log_tail.splitlines()):
        pytest.skip("the engine's files cannot be read here, so none can be cleared from memory")
    box.warm(())  # As a job does before it plays.

    written, read = (play(wanted, box).result for wanted in (writer, reader))

    assert written.log_tail == "written 40", written.message
    times = [float(word) for word in read.log_tail.split()]
    ones = [place for place, bit in enumerate(WORD[: len(times)]) if bit == "1"]
    fastest = sorted(range(len(times)), key=times.__getitem__)[: len(ones)]
    assert len(set(fastest) & set(ones)) < 0.9 * len(ones), times


@pytest.mark.attack(
    "behaves_only_in_its_preview",
    family="cheating",
    tries="Looks for whatever tells a preview from an official run, to behave while it is looked at only.",
    outcome="both look the same, but for the agent's own seeds",
)
def test_a_preview_and_an_official_run_look_the_same(box: SelectedSandbox, tmp_path) -> None:
    preview = order_of(write_agent(tmp_path / "agent", FINGERPRINT), episodes=1)
    official = dataclasses.replace(
        preview, tier=Tier.OFFICIAL, beacon="5" * 40, beacon_verified=True, season="another", login="alice", agent="other"
    )

    first, second = (play(wanted, box).result for wanted in (preview, official))

    assert [first.verdict, second.verdict] == [Verdict.OK] * 2, (first.message, second.message)
    assert second.log_tail == first.log_tail
    assert len(first.log_tail.splitlines()) == 14
