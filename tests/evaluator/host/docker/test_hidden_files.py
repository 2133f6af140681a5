"""What containers are not shown of their machine: which paths, and the texts that stand in for some."""

from pathlib import Path

from evaluator.host.docker.hidden_files import hidden_paths, replacement_files
from evaluator.model.config.limits import Limits

# The list of Docker 28, which ours replaces.
OF_THE_ENGINE = """
    /proc/acpi /proc/asound /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats /proc/sched_debug /proc/scsi
    /proc/timer_list /proc/timer_stats /sys/firmware
"""


def test_nothing_that_the_engine_hides_is_shown() -> None:
    assert set(hidden_paths(Path("/nowhere"))) >= set(OF_THE_ENGINE.split())


# What SECURITY.md says is not shown, but for the load and the interrupts of each processor, which a text of ours stands for.
PROMISED = """
    /proc/sys/kernel/random/boot_id /proc/cmdline /proc/diskstats /proc/partitions /sys/block /proc/interrupts /proc/softirqs
    /proc/pressure /proc/locks /proc/devices /sys/dev
"""


def test_what_is_promised_not_to_be_shown_is_hidden(tmp_path: Path) -> None:
    pages = tmp_path / "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"
    pages.mkdir(parents=True)

    hidden = {*hidden_paths(tmp_path), *replacement_files(Limits())}

    assert hidden >= {*PROMISED.split(), "/proc/loadavg", "/proc/stat", f"/{pages.relative_to(tmp_path)}"}


def test_there_are_no_terminals() -> None:
    assert "/dev/pts" in hidden_paths(Path("/nowhere"))


def test_what_programs_need_stays(tmp_path: Path) -> None:
    folders = """
        block/vda devices/pci0000:00/x devices/virtual/powercap devices/system/node fs/ext4 fs/cgroup kernel/slab
        kernel/mm/ksm kernel/mm/transparent_hugepage devices/system/cpu/cpu0/topology devices/system/cpu/cpu0/cpufreq
        devices/system/cpu/cpu0/cpuidle devices/system/cpu/cpu0/cache devices/system/cpu/cpu0/acpi_cppc
        kernel/mm/hugepages/hugepages-2048kB/free_hugepages kernel/mm/transparent_hugepage/khugepaged
        kernel/mm/transparent_hugepage/hugepages-64kB/stats kernel/mm/transparent_hugepage/hugepages-64kB/enabled
    """
    for name in folders.split():
        (tmp_path / "sys" / name).mkdir(parents=True)

    hidden = {path for path in hidden_paths(tmp_path) if path.startswith("/sys/")}

    assert hidden == {
        "/sys/block", "/sys/bus", "/sys/class", "/sys/dev", "/sys/firmware", "/sys/hypervisor", "/sys/module", "/sys/power",
        "/sys/devices/pci0000:00", "/sys/devices/virtual", "/sys/devices/system/node", "/sys/fs/ext4", "/sys/kernel/slab",
        "/sys/kernel/mm/ksm", "/sys/devices/system/cpu/cpu0/cpufreq", "/sys/devices/system/cpu/cpu0/cpuidle",
        "/sys/devices/system/cpu/cpu0/acpi_cppc", "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
        "/sys/kernel/mm/transparent_hugepage/khugepaged", "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats",
    }  # fmt: skip
    needed = {"/proc/self", "/proc/net", "/proc/mounts", "/proc/cpuinfo", "/proc/sys", "/proc/cgroups"}
    assert needed.isdisjoint(hidden_paths())


def test_replacement_files_have_the_limits_and_nothing_of_the_machine() -> None:
    texts = replacement_files(Limits(memory_mib=300))

    assert texts == replacement_files(Limits(memory_mib=300))
    assert texts["/proc/meminfo"].splitlines()[0].split() == ["MemTotal:", "307200", "kB"]
    assert not set(texts) & set(hidden_paths())
    assert {line.split()[0][:3] for line in texts["/proc/stat"].splitlines()} == {"cpu", "int", "ctx", "bti", "pro"}
