"""Programs see the machine that the options state."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

LARGE = {"cpus": "64", "numa-nodes": "2", "memory": "256Gi", "swap": "8Gi"}
PYTHON = "import os; print(os.cpu_count(), len(os.sched_getaffinity(0)))"


def printed(sandboxed: Sandboxed, script: str, **options: str) -> list[str]:
    """The words that a script prints in front of the large machine."""
    return said(sandboxed(script, **{**LARGE, **options})).split()


def test_programs_count_the_stated_cpus(sandboxed: Sandboxed) -> None:
    script = (
        f"nproc; nproc --all; getconf _NPROCESSORS_ONLN; '{sys.executable}' -c '{PYTHON}'; "
        "grep -c ^processor /proc/cpuinfo"
    )
    assert printed(sandboxed, script) == ["64"] * 6


def test_proc_stat_has_a_line_for_each_cpu(sandboxed: Sandboxed) -> None:
    assert printed(sandboxed, "grep -c '^cpu[0-9]' /proc/stat; cd /proc; grep -c '^cpu[0-9]' stat") == ["64", "64"]


def test_the_stat_of_a_process_is_its_own(sandboxed: Sandboxed) -> None:
    assert printed(sandboxed, "cut -d' ' -f2 /proc/self/stat; cd /proc/$$; cut -d' ' -f2 stat") == ["(cut)", "(sh)"]


def test_sysfs_lists_cpus_and_nodes(sandboxed: Sandboxed) -> None:
    script = "cd /sys/devices/system; cat cpu/online node/online node/node1/cpulist; ls -d cpu/cpu[0-9]* | wc -l"
    assert printed(sandboxed, script) == ["0-63", "0-1", "32-63", "64"]


@pytest.mark.skipif(shutil.which("lscpu") is None, reason="no lscpu")
def test_lscpu_finds_a_package_for_each_node(sandboxed: Sandboxed) -> None:
    script = "lscpu -p=CPU,SOCKET,NODE | tail -1; LC_ALL=C lscpu | sed -n 's/^\\(CPU(s)\\|On-line CPU(s) list\\): *//p'"
    assert printed(sandboxed, script) == ["63,1,1", "64", "0-63"]


@pytest.mark.skipif(shutil.which("free") is None, reason="no free")
def test_free_shows_the_stated_memory_and_swap(sandboxed: Sandboxed) -> None:
    assert printed(sandboxed, "free -g | awk '{print $2}'")[1:] == ["256", "8"]


@pytest.mark.skipif(shutil.which("top") is None, reason="no top")
def test_top_shows_the_stated_memory_and_swap(sandboxed: Sandboxed) -> None:
    script = "LC_ALL=C top -b -n 1 -E g | sed -n 's/^GiB \\(Mem\\|Swap\\) *: *\\([0-9.]*\\) total.*/\\2/p'"
    assert printed(sandboxed, script) == ["256.0", "8.0"]


@pytest.mark.skipif(shutil.which("numactl") is None, reason="no numactl")
def test_numactl_finds_the_nodes(sandboxed: Sandboxed) -> None:
    script = "numactl -H | grep -E '^available|size' | cut -d' ' -f2,3,4"
    assert printed(sandboxed, script) == ["2", "nodes", "(0-1)", "0", "size:", "131072", "1", "size:", "131072"]


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node")
def test_node_counts_cpus_and_memory(sandboxed: Sandboxed) -> None:
    program = """const os = require("os");
        [os.cpus().length, (os.availableParallelism || (() => 64))(), os.totalmem() / 2 ** 30].join(" ")"""
    assert printed(sandboxed, f"node -p '{program}'") == ["64", "64", "256"]


@pytest.fixture(scope="session")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static program that prints what Go counts."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no Go")
    directory = tmp_path_factory.mktemp("go")
    source = directory / "count.go"
    source.write_text(
        'package main\nimport "runtime"\nfunc main() { println(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }\n'
    )
    environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
    subprocess.run([go, "build", "-o", str(directory / "count"), str(source)], env=environment, check=True)
    return directory / "count"


def test_go_counts_the_stated_cpus_and_those_of_a_cpuset(sandboxed: Sandboxed, go_program: Path) -> None:
    script = f"""cd /sys/fs/cgroup; echo +cpuset >cgroup.subtree_control; mkdir a; echo 3-8 >a/cpuset.cpus
        exec 2>&1; {go_program}; echo $$ >a/cgroup.procs; {go_program}"""
    assert printed(sandboxed, script) == ["64", "64", "6", "6"]


JAVA_PROGRAM = """
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

class Count {
    public static void main(String[] arguments) {
        var machine = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        System.out.println(Runtime.getRuntime().availableProcessors() + " " + (machine.getTotalMemorySize() >> 30)
            + " " + (machine.getTotalSwapSpaceSize() >> 30));
    }
}
"""


@pytest.mark.skipif(shutil.which("javac") is None, reason="no compiler for Java")
def test_a_java_program_counts_cpus_memory_and_swap(sandboxed: Sandboxed, tmp_path: Path) -> None:
    (tmp_path / "Count.java").write_text(JAVA_PROGRAM)
    assert printed(sandboxed, f"java '{tmp_path}/Count.java'") == ["64", "256", "8"]


@pytest.mark.skipif(shutil.which("java") is None, reason="no Java")
def test_java_counts_cpus_and_makes_its_heap_of_the_memory(sandboxed: Sandboxed) -> None:
    script = """java -XshowSettings:system -version 2>&1 | awk '/Effective CPU Count/ {print $4}'
        java -XX:+PrintFlagsFinal -version 2>/dev/null | awk '$2 == "MaxHeapSize" {print $4}'"""
    cpus, heap = map(int, printed(sandboxed, script, memory="64Gi"))
    assert (cpus, heap >> 30) == (64, 16)


def test_sysinfo_tells_the_stated_memory(sandboxed: Sandboxed) -> None:
    program = 'import os; print(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30)'
    assert printed(sandboxed, f"'{sys.executable}' -c '{program}'") == ["256"]


def test_huge_pages_are_counted(sandboxed: Sandboxed) -> None:
    script = "cat /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages; grep HugePages_T /proc/meminfo"
    assert printed(sandboxed, script, hugepages="2Mi=1024") == ["1024", "HugePages_Total:", "1024"]


def test_more_huge_pages_than_memory_are_refused(sandboxed: Sandboxed) -> None:
    done = sandboxed("true", memory="1Gi", hugepages="1Gi=2")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("fakecgroup run: the huge pages of --hugepages take 2147483648 bytes")


def test_a_file_that_is_read_from_its_start_again_is_new(sandboxed: Sandboxed) -> None:
    program = """
import time
file = open("/proc/uptime")
first = file.read()
while first == file.read():
    file.seek(0)
print("new")
"""
    assert printed(sandboxed, f"'{sys.executable}' -c '{program}'") == ["new"]


def test_swap_is_a_device(sandboxed: Sandboxed) -> None:
    assert printed(sandboxed, "tail -1 /proc/swaps") == ["/dev/vdb", "partition", "8388608", "0", "-2"]


@pytest.mark.skipif(shutil.which("taskset") is None, reason="no taskset")
def test_cpus_that_the_machine_below_lacks_are_kept_as_told(sandboxed: Sandboxed) -> None:
    script = "taskset -c 5,60 sh -c 'nproc; taskset -cp $$; sh -c nproc; grep _allowed_list /proc/self/status; true'"
    words = printed(sandboxed, script)
    assert (words[0], words[-6:]) == ("2", ["5,60", "2", "Cpus_allowed_list:", "5,60", "Mems_allowed_list:", "0-1"])


def test_a_child_keeps_the_cpus_of_a_parent_that_has_ended(sandboxed: Sandboxed) -> None:
    program = """
import os
os.sched_setaffinity(0, {40, 41})
alive, end = os.pipe()
told, tell = os.pipe()
if not os.fork():
    os.close(end)
    if not os.fork():
        if not os.fork():
            os.read(alive, 1)
            os.write(tell, str(sorted(os.sched_getaffinity(0))).encode())
            os._exit(0)
    os._exit(0)
os.wait()
os.close(end)
print(os.read(told, 99).decode())
"""
    assert printed(sandboxed, f"'{sys.executable}' -c '{program}'") == ["[40,", "41]"]


def test_a_cpu_that_the_stated_machine_lacks_is_refused(sandboxed: Sandboxed) -> None:
    program = """
import os
try:
    os.sched_setaffinity(0, {64})
except OSError as error:
    print(error.errno)
"""
    assert printed(sandboxed, f"'{sys.executable}' -c '{program}'") == ["22"]


def test_a_cpuset_limits_the_cpus(sandboxed: Sandboxed) -> None:
    script = """
        cd /sys/fs/cgroup; echo +cpuset >cgroup.subtree_control; mkdir a; echo 8-11 >a/cpuset.cpus
        echo 1 >a/cpuset.mems; echo $$ >a/cgroup.procs; nproc; grep _allowed_list /proc/self/status
    """
    assert printed(sandboxed, script) == ["4", "Cpus_allowed_list:", "8-11", "Mems_allowed_list:", "1"]


def test_a_smaller_machine_can_be_stated_too(sandboxed: Sandboxed) -> None:
    if os.cpu_count() == 1:
        pytest.skip("one CPU")
    assert said(sandboxed("nproc; grep -c '^cpu[0-9]' /proc/stat", cpus="1")).split() == ["1", "1"]


def test_the_command_runs_on_no_more_cpus_than_stated(sandboxed: Sandboxed) -> None:
    script = f"'{sys.executable}' -c 'import ctypes; print(ctypes.CDLL(None).sched_getcpu())'"
    first = min(os.sched_getaffinity(0))
    assert {printed(sandboxed, script, cpus="1", **{"numa-nodes": "1"})[0] for _ in range(3)} == {str(first)}


def test_the_covers_are_in_no_table_of_mounts(sandboxed: Sandboxed) -> None:
    assert printed(sandboxed, "grep -cE 'system/(cpu|node)|bus/(cpu|node)' /proc/self/mountinfo; true") == ["0"]


def test_a_namespace_below_may_mount_sysfs(sandboxed: Sandboxed) -> None:
    tried = subprocess.run(["unshare", "-Urmn", "true"], check=False, capture_output=True)
    if tried.returncode:
        pytest.skip("no network namespaces")
    assert printed(sandboxed, "unshare -Urmn sh -c 'mount -t sysfs sysfs /mnt && ls -d /mnt/kernel'") == ["/mnt/kernel"]


def test_a_cover_is_on_sysfs(sandboxed: Sandboxed) -> None:
    script = "stat -f -c %T /sys/devices/system/cpu /sys/devices/system/node/online /proc/cpuinfo /proc/stat"
    assert printed(sandboxed, script) == ["sysfs", "sysfs", "proc", "proc"]


def test_a_container_of_its_own_sees_the_stated_machine_in_its_proc(sandboxed: Sandboxed) -> None:
    script = (
        "taskset -c 9,50 unshare -Upf --mount-proc sh -c "
        "'grep -c ^processor /proc/cpuinfo; nproc; grep -E \"^(Uid|NSpid|Cpus_allowed_list)\" /proc/self/status'"
    )
    words = printed(sandboxed, script)
    assert (words[:4], words[7], words[-2:]) == (["64", "2", "Uid:", "65534"], "NSpid:", ["Cpus_allowed_list:", "9,50"])
    assert int(words[8]) < 10  # a number of the container's


def test_without_an_option_programs_see_this_machine(sandboxed: Sandboxed) -> None:
    assert said(sandboxed("cat /sys/devices/system/cpu/online; head -1 /proc/meminfo | cut -c1-9")).splitlines() == [
        *(Path("/sys/devices/system/cpu/online").read_text().strip(), "MemTotal:"),
    ]
