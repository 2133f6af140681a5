"""`.ci/engine` beside an engine that runs: it is known by its pid file alone, and nobody else is signalled or forgotten.

`.ci/test`: what failed beside others is run again by itself, and what fails again fails the run.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[1] / ".ci" / "engine"
# Commands that .ci/engine looks for; docker answers as the files beside it say, and dockerd writes down how it was started.
THERE = ("debootstrap", "runsc", "chromium", "node", "npm", "docker-registry", "gcc", "apt-get", "pkill")
DOCKER = '#!/bin/sh\n[ "$1" = image ] || [ -e "{room}/answers" ]\n'
DOCKERD = '#!/bin/sh\necho "$@" > "{room}/started"\ntouch "{room}/answers"\n'


class Room:
    """Folders in place of /etc/docker and /var/run, and commands in place of the machine's."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.processes: list[subprocess.Popen[bytes]] = []
        for name in ("bin", "etc", "run"):
            (place / name).mkdir()
        for name in THERE:
            self.command(name, "#!/bin/sh\n")
        self.command("docker", DOCKER.format(room=place))
        self.command("dockerd", DOCKERD.format(room=place))

    def command(self, name: str, text: str) -> None:
        (self.place / "bin" / name).write_text(text)
        (self.place / "bin" / name).chmod(0o755)

    def process(self, name: str) -> tuple[int, Path]:
        """A living process whose program has that name, and where it writes the signals it was sent."""
        log = self.place / f"{len(self.processes)}.signals"
        shell = log.with_suffix("") / name
        shell.parent.mkdir()
        shutil.copy("/bin/sh", shell)
        script = f'trap "echo HUP >> {log}" HUP; touch {log}; while :; do sleep 0.1; done'
        # A shell cannot trap what was ignored when it began, as SIGHUP is below nohup.
        deaf = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        try:
            self.processes.append(subprocess.Popen([shell, "-c", script]))
        finally:
            signal.signal(signal.SIGHUP, deaf)
        until = time.monotonic() + 60
        while not log.exists() and time.monotonic() < until:
            time.sleep(0.02)
        return self.processes[-1].pid, log

    def answers(self) -> None:
        (self.place / "answers").touch()

    def run(self) -> subprocess.CompletedProcess[str]:
        names = {"PATH": f"{self.place}/bin:{os.environ['PATH']}"}
        names |= {"ENGINE_ETC": str(self.place / "etc"), "ENGINE_RUN": str(self.place / "run")}
        return subprocess.run(
            ["bash", str(ENGINE)], env=os.environ | names, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path)
    yield made
    for process in made.processes:
        process.send_signal(signal.SIGKILL)
        process.wait()


def signals(log: Path, *, wanted: bool) -> str:
    """What was sent; a signal may take a moment to be dealt with."""
    until = time.monotonic() + (60 if wanted else 0.5)
    while time.monotonic() < until and not (wanted and log.read_text()):
        time.sleep(0.05)
    return log.read_text()


def test_the_engine_of_the_pid_file_reads_its_settings_again_and_no_namesake_does(room: Room) -> None:
    (number, log), (_, namesake) = room.process("dockerd"), room.process("dockerd")
    (room.place / "run" / "docker.pid").write_text(str(number))
    (room.place / "etc" / "daemon.json").write_text('{"debug": true}')
    room.answers()

    done = room.run()

    assert done.returncode == 0, done.stdout + done.stderr
    assert signals(log, wanted=True) == "HUP\n"
    assert signals(namesake, wanted=False) == ""
    settings = json.loads((room.place / "etc" / "daemon.json").read_text())
    assert (settings["debug"], settings["runtimes"]["runsc"]["path"]) == (True, "/usr/bin/runsc")
    assert not (room.place / "started").exists()


def test_a_gvisor_that_takes_no_profile_is_told_to(room: Room) -> None:
    number, log = room.process("dockerd")
    (room.place / "run" / "docker.pid").write_text(str(number))
    before = {"runtimes": {"runsc": {"path": "/opt/runsc", "runtimeArgs": ["--network=none"]}}}
    (room.place / "etc" / "daemon.json").write_text(json.dumps(before))
    room.answers()

    assert room.run().returncode == 0
    assert signals(log, wanted=True) == "HUP\n"
    settings = json.loads((room.place / "etc" / "daemon.json").read_text())
    assert settings["runtimes"]["runsc"] == {"path": "/opt/runsc", "runtimeArgs": ["--network=none", "--oci-seccomp"]}


def test_a_pid_file_elsewhere_is_the_one_that_the_settings_name(room: Room) -> None:
    number, log = room.process("dockerd")
    (room.place / "elsewhere.pid").write_text(f"{number}\n")
    (room.place / "etc" / "daemon.json").write_text(json.dumps({"pidfile": str(room.place / "elsewhere.pid")}))
    room.answers()

    assert room.run().returncode == 0
    assert signals(log, wanted=True) == "HUP\n"


def test_an_engine_without_a_pid_file_is_left_to_its_owner(room: Room) -> None:
    _, log = room.process("dockerd")
    room.answers()

    done = room.run()

    assert done.returncode == 1
    assert "no pid file says which process it is; restart it" in done.stdout
    assert signals(log, wanted=False) == ""


def test_a_pid_file_of_nobody_is_removed_and_an_engine_started(room: Room) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    (room.place / "run" / "docker.pid").write_text(str(ended.pid))

    done = room.run()

    assert done.returncode == 0, done.stdout + done.stderr
    assert not (room.place / "run" / "docker.pid").exists()
    assert (room.place / "started").read_text() == f"--pidfile {room.place}/run/docker.pid\n"


def test_a_pid_file_that_names_another_living_process_stays(room: Room) -> None:
    number, log = room.process("bystander")
    (room.place / "run" / "docker.pid").write_text(str(number))

    done = room.run()

    assert done.returncode == 0, done.stdout + done.stderr
    assert (room.place / "run" / "docker.pid").read_text() == str(number)
    assert (room.place / "started").read_text() == f"--pidfile {room.place}/run/docker-ci.pid\n"
    assert signals(log, wanted=False) == ""


def test_an_engine_that_is_still_starting_is_waited_for(room: Room) -> None:
    number, log = room.process("dockerd")
    (room.place / "run" / "docker.pid").write_text(str(number))
    (room.place / "etc" / "daemon.json").write_text('{"runtimes": {"runsc": {"runtimeArgs": ["--oci-seccomp"]}}}')
    room.command("sleep", f'#!/bin/sh\ntouch "{room.place}/answers"\n')

    done = room.run()

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Waiting for the container engine" in done.stdout
    assert not (room.place / "started").exists()
    assert signals(log, wanted=False) == ""


def test_an_engine_that_ends_before_it_answers_is_started_again(room: Room) -> None:
    """Seen: dockerd gave up on a containerd that took longer than its 15 seconds to begin on a machine just woken up."""
    once = f'[ -e "{room.place}/first" ] || {{ touch "{room.place}/first"; echo timeout waiting for containerd; exit 1; }}\n'
    room.command("dockerd", "#!/bin/sh\n" + once + DOCKERD.removeprefix("#!/bin/sh\n").format(room=room.place))

    done = room.run()

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Starting the container engine") == 2
    assert (room.place / "started").exists()


def test_an_engine_that_never_answers_is_given_up_with_its_own_words(room: Room) -> None:
    room.command("dockerd", "#!/bin/sh\necho failed to start containerd\nexit 1\n")
    room.command("sleep", "#!/bin/sh\nexec /bin/sleep 0.02\n")

    done = room.run()

    assert done.returncode == 1
    assert "The container engine does not answer.\n" in done.stdout
    assert done.stdout.count("failed to start containerd") == 6


MAKEFILE = "test:\n\t@{python} -m pytest -q -c /dev/null --rootdir . {cache} $(or $(ARGS),.)\n"
# Fails as often as its file says, counting down.
TESTS = """
import pathlib

def times(name, counter=pathlib.Path(__file__).parent):
    left = int((counter / name).read_text())
    (counter / name).write_text(str(left - 1))
    return left

{tests}
"""
ONE = "def test_{number}():\n    assert times('{number}') <= 0\n"


def run_on(place: Path, *fails: int) -> subprocess.CompletedProcess[str]:
    """`.ci/test` where each test fails so often."""
    (place / "Makefile").write_text(MAKEFILE.format(python=sys.executable, cache="-o cache_dir=.pytest_cache"))
    (place / "test_it.py").write_text(TESTS.format(tests="\n".join(ONE.format(number=n) for n in range(len(fails)))))
    for number, often in enumerate(fails):
        (place / str(number)).write_text(str(often))
    names = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "MAKE", "MFLAGS"))}
    command = [str(ENGINE.with_name("test"))]
    return subprocess.run(command, env={**names, "TEST_ROOT": str(place)}, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("fails", "code", "message"),
    [
        ((0, 0), 0, "2 passed"),
        ((1, 0), 0, "Passed by itself"),
        ((1, 2, 0), 1, "1 failed, 1 passed"),
        ((1,) * 6, 1, "Failed: 6 tests"),
        ((), 1, "Failed: 0 tests"),
    ],
)
def test_only_what_fails_twice_fails_the_run_and_many_failures_do_at_once(
    tmp_path: Path, fails: tuple[int, ...], code: int, message: str
) -> None:
    done = run_on(tmp_path, *fails)

    assert (min(done.returncode, 1), message in done.stdout) == (code, True), done.stdout + done.stderr
    assert ("Running what failed again" in done.stdout) == (
        message not in ("2 passed", "Failed: 6 tests", "Failed: 0 tests")
    )


STORY = """
import pathlib

PLACE = pathlib.Path(__file__).parent

def test_1_begins():
    globals()["BEGUN"] = True

def test_2_goes_on():
    left = int((PLACE / "story").read_text())
    (PLACE / "story").write_text(str(left - 1))
    assert BEGUN and left <= 0
"""


@pytest.mark.parametrize(
    ("story", "other", "code", "message"),
    [
        (1, 0, 0, "2 passed"),
        (2, 0, 1, "1 failed, 1 passed"),
        (1, 1, 0, "1 passed"),
        (1, 2, 1, "1 failed in"),
        (2, 1, 1, "1 failed, 1 passed"),
    ],
)
def test_numbered_tests_run_again_from_the_first(tmp_path: Path, story: int, other: int, code: int, message: str) -> None:
    (tmp_path / "test_story.py").write_text(STORY)
    (tmp_path / "story").write_text(str(story))

    done = run_on(tmp_path, other, 0)

    assert (min(done.returncode, 1), message in done.stdout) == (code, True), done.stdout + done.stderr
    assert ("Passed by itself" in done.stdout) == (code == 0)
