"""What an engine's answers say of its age, and the profile that every engine is given."""

from typing import Any

import pytest

from evaluator.host.docker.engine_errors import engine_warnings, is_image_fault, no_answer

SECCOMP = {"SecurityOptions": ["name=apparmor", "name=seccomp,profile=default"]}


def components(**versions: str) -> dict[str, Any]:
    return {"Components": [{"Name": name, "Version": version} for name, version in versions.items()]}


@pytest.mark.parametrize(
    ("versions", "says"),
    [
        ({"Engine": "28.2.2", "runc": "1.2.6"}, []),
        ({"Engine": "23.0", "runc": "1.1.12"}, []),
        ({"Engine": "20.10.24+dfsg1", "runc": "1.1.12"}, ["Docker Engine 20.10.24 is older than 23.0"]),
        ({"Engine": "27.0.1-rc.1", "runc": "1.1.5+ds1"}, ["runc 1.1.5 is older than 1.1.12"]),
        ({"Engine": "dev", "runc": ""}, []),
    ],
)
def test_an_engine_that_is_too_old_is_named(versions: dict[str, str], says: list[str]) -> None:
    assert [line.partition(":")[0] for line in engine_warnings(components(**versions), SECCOMP)] == says


def test_what_a_machine_lacks_is_not_the_images_fault() -> None:
    unpacking = "Error processing tar file(exit status 1): write /a: "

    assert is_image_fault(unpacking + "file exists")
    assert not is_image_fault(unpacking + "no space left on device")
    assert not is_image_fault("could not start the sandbox: cannot allocate memory")
    assert not is_image_fault('500 Server Error ("runc failed: mkdir /a: read-only: cannot allocate memory: unknown")')


@pytest.mark.attack(
    "layer_with_one_name_twice",
    family="images",
    tries="Has two files of one name, which the engine refuses as if it had failed itself: tried again for ever.",
    outcome="invalid",
)
@pytest.mark.parametrize(
    "error",
    [
        "Error processing tar file(duplicates of file paths not supported): ",
        "ApplyLayer exit status 1 stdout: stderr: link /nothing /b: no such file or directory",
        "could not unpack the image: archive/tar: invalid tar header",
        "Error processing tar file(exit status 1): link /nothing /no space left on device: no such file or directory",
        'Error processing tar file(exit status 1): invalid symlink "a" -> "../no space left on device"',
        '500 Server Error ("failed to create shim task: mkdir /a b: file exists: unknown")',
        "lstat /layers/diff/dddd: file name too long",
        "lstat /layers/merged/file/workdir: not a directory",
        '500 Server Error ("failed to create shim task: SecureJoin /merged: too many levels of symbolic links: unknown")',
        "error during container init: error reopening /dev/null inside container: open /dev/null: is a directory: unknown",
        'error mounting "/docker-init" to rootfs at "/sbin/docker-init": open /merged/sys/docker-init: permission denied',
        '500 Server Error ("\\"/merged/proc/self/a\\" cannot be mounted because it is inside /proc: unknown")',
    ],
)
def test_an_image_does_not_name_its_own_faults_as_the_machines(error: str) -> None:
    assert is_image_fault(error)


@pytest.mark.parametrize("info", [{}, {"SecurityOptions": None}, {"SecurityOptions": ["name=apparmor"]}])
def test_an_engine_without_seccomp_is_named(info: dict[str, Any]) -> None:
    (line,) = engine_warnings({}, info)

    assert line.startswith("the engine filters no system calls")


@pytest.mark.parametrize(
    ("system", "words"),
    [
        (
            "FileNotFoundError(2, 'No such file or directory')",
            "(No such file or directory); start Docker or use --sandbox process",
        ),
        ("PermissionError(13, 'Permission denied')", "(Permission denied); join the group docker or use --sandbox process"),
        (
            "other",
            "(Error while fetching server API version: ('Connection aborted.', other)); start Docker or",
        ),
    ],
)
def test_where_no_engine_answers_the_systems_own_words_say_why(system: str, words: str) -> None:
    said = no_answer(f"Error while fetching server API version: ('Connection aborted.', {system})")

    assert said.startswith(f"no container engine answers {words}")


def test_an_engine_that_counts_no_memory_of_sockets_is_named() -> None:
    (line,) = engine_warnings({}, {**SECCOMP, "CgroupVersion": "1"})

    assert "'loopback'" in line
    assert engine_warnings({}, {**SECCOMP, "CgroupVersion": "2"}) == []
