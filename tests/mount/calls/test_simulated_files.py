"""Programs under `run --workload` find simulated processes in /proc and signal them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Sandboxed, said

SCENARIO = """
machine: {cpus: 2, memory: 1Gi, swap: 512Mi}
cgroups: {app: {memory.max: 200Mi}}
workloads:
  - name: a long name of a hog
    cgroup: app
    oom_score_adj: 100
    nice: 5
    loop: forever
    phases: [{for: 1h, cpu: 0.5, memory: 64Mi}]
"""
PID = "P=$(cat /sys/fs/cgroup/app/cgroup.procs)"

Inside = Callable[[str], str]


@pytest.fixture
def inside(sandboxed: Sandboxed, tmp_path: Path) -> Inside:
    """What a script says whose $P is a simulated process."""
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    return lambda script: said(sandboxed(f"{PID}; {script}", workload=str(tmp_path / "scenario.yaml")))


def test_a_file_of_each_name_is_there(inside: Inside) -> None:
    names = "stat status statm comm cmdline oom_score oom_score_adj cgroup cpuset"
    assert inside(f"for f in {names}; do test -n \"$(cat /proc/$P/$f | tr -d '\\0')\" || echo $f; done") == ""


def test_its_files_say_what_the_workload_says(inside: Inside) -> None:
    lines = inside(
        "cat /proc/$P/comm /proc/$P/oom_score_adj /proc/$P/cgroup; cut -d' ' -f2 /proc/$P/statm"
    ).splitlines()
    assert lines == ["a long name of ", "100", "0::/app", str((64 << 20) // 4096)]


def test_stat_has_52_fields(inside: Inside) -> None:
    fields = inside("cat /proc/$P/stat").rpartition(")")[2].split()
    assert (len(fields), fields[0], fields[1], fields[15], fields[16]) == (50, "R", "1", "25", "5")


def test_a_thread_has_the_same_files(inside: Inside) -> None:
    assert inside("cat /proc/$P/task/$P/comm") == "a long name of \n"


def test_the_path_may_begin_at_a_descriptor_of_proc(inside: Inside) -> None:
    program = (
        "import os, sys; at = os.open('/proc', os.O_PATH); "
        "print(open(os.open(sys.argv[1] + '/comm', os.O_RDONLY, dir_fd=at)).read(), end='')"
    )
    assert inside(f'python3 -c "{program}" $P') == "a long name of \n"


def test_only_proc_has_them(inside: Inside, tmp_path: Path) -> None:
    assert inside(f"mkdir -p {tmp_path}/$P; echo mine > {tmp_path}/$P/stat; cat {tmp_path}/$P/stat") == "mine\n"


def test_a_process_that_is_not_there_has_no_files(inside: Inside) -> None:
    assert inside("cat /proc/9999999/stat 2>&1 || true").endswith("No such file or directory\n")


def test_its_directory_and_files_have_attributes(inside: Inside) -> None:
    script = "cd /proc; for f in /proc/$P $P/stat $P/task/$P/; do stat -c '%F %u %g' $f; done; [ -d $P ] && echo there"
    assert inside(script).splitlines() == ["directory 0 0", "regular empty file 0 0", "directory 0 0", "there"]


def test_a_program_may_ask_for_them_in_each_way(inside: Inside) -> None:
    program = (
        "import os, sys; at = os.open('/proc', os.O_RDONLY); p = sys.argv[1]; "
        "same = os.stat('/proc/' + p).st_ino == os.lstat(p, dir_fd=at).st_ino; "
        "print(same, os.stat(p + '/stat', dir_fd=at).st_ino != os.stat('/proc/' + p).st_ino)"
    )
    assert inside(f'python3 -c "{program}" $P') == "True True\n"


def test_a_process_that_is_gone_has_no_attributes(inside: Inside) -> None:
    assert "No such file" in inside("kill $P; stat /proc/$P 2>&1 || true")


def test_a_file_that_it_does_not_have_has_no_attributes(inside: Inside) -> None:
    assert "No such file" in inside("stat /proc/$P/maps 2>&1 || true")


def test_a_list_of_proc_has_it_once_behind_the_real_processes(inside: Inside) -> None:
    program = (
        "import os, sys; at = os.open('/proc', os.O_RDONLY); first = os.listdir(at); "
        "os.lseek(at, 0, os.SEEK_SET); second = os.listdir(at); "
        "print(first.count(sys.argv[1]), second.count(sys.argv[1]), first[-1] == sys.argv[1]); "
        "print(str(os.getpid()) in first)"
    )
    assert inside(f'python3 -c "{program}" $P') == "1 1 True\nTrue\n"


def test_a_list_of_proc_has_no_real_process_but_the_sandboxes(inside: Inside) -> None:
    listed = inside("sleep 100 & echo $! $$; setsid unshare -Ur sh -c 'echo $$; exec sleep 100' & sleep 0.2; ls /proc")
    (sleeper, shell), (below,), *names = [line.split() for line in listed.splitlines()]
    pids = {int(name) for (name,) in names if name.isdecimal()}
    assert {int(sleeper), int(shell), int(below)} <= pids
    assert not {1, os.getpid(), os.getppid()} & pids


def test_a_list_has_those_that_are_there_when_it_is_read(inside: Inside) -> None:
    assert inside("kill $P; ls /proc | grep -c $P || true") == "0\n"


def test_many_are_listed_in_several_answers(sandboxed: Sandboxed, tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(SCENARIO.replace("loop: forever", "loop: forever\n    instances: 500", 1))
    many = (tmp_path / "many.yaml").read_text().replace("memory.max: 200Mi", "memory.max: max").replace("64Mi", "1Mi")
    (tmp_path / "many.yaml").write_text(many)
    script = "ls /proc | grep -c '^8388[6-9]..$\\|^8389...$'; ls -U /proc | sort | uniq -d"
    assert said(sandboxed(script, workload=str(tmp_path / "many.yaml"))) == "500\n"


def test_a_list_of_another_directory_is_the_kernels(inside: Inside) -> None:
    assert inside("ls /proc/sys/kernel | grep -c ^pid_max$; ls /sys/fs/cgroup/app | grep -c ^cgroup.procs$") == "1\n1\n"


def test_meminfo_is_the_simulated_machines(inside: Inside) -> None:
    lines = dict(line.split(":") for line in inside("cat /proc/meminfo").splitlines())
    kib = {name: int(value.split()[0]) for name, value in lines.items()}
    assert (kib["MemTotal"], kib["SwapTotal"], kib["SwapFree"]) == (1 << 20, 512 << 10, 512 << 10)
    assert kib["MemFree"] == ((1024 - 64) << 10) - 33 * 4  # what is held, and its page tables


def test_meminfo_has_the_machines_lines_without_simulated_processes(sandboxed: Sandboxed) -> None:
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    assert total in said(sandboxed("cat /proc/meminfo"))


@pytest.mark.parametrize("resource", ["cpu", "memory", "io"])
def test_pressure_is_that_of_the_trees_root(inside: Inside, resource: str) -> None:
    shown = inside(f"cat /proc/pressure/{resource}")
    assert [line.split()[0] for line in shown.splitlines()] == ["some", "full"]


def test_signal_0_says_that_it_is_there(inside: Inside) -> None:
    assert inside("kill -0 $P; echo $?") == "0\n"


def test_a_signal_ends_it(inside: Inside) -> None:
    script = "kill -TERM $P; cat /sys/fs/cgroup/app/cgroup.procs; kill -0 $P 2>&1; cat /proc/$P/stat 2>&1 || true"
    complaints = inside(script)
    assert "No such process" in complaints
    assert "No such file or directory" in complaints


def test_it_is_stopped_and_goes_on(inside: Inside) -> None:
    state = "cut -d')' -f2 /proc/$P/stat | cut -c2"
    assert inside(f"kill -STOP $P; {state}; kill -CONT $P; {state}").split() == ["T", "R"]


def test_a_thread_is_signalled_by_its_number(inside: Inside) -> None:
    program = (
        "import ctypes, sys; p = int(sys.argv[1]); c = ctypes.CDLL(None, use_errno=True); "
        "print(c.tgkill(p, p + 1, 9), ctypes.get_errno(), c.tgkill(p, p, 99), ctypes.get_errno(), c.tgkill(p, p, 9))"
    )
    assert inside(f'python3 -c "{program}" $P') == "-1 3 -1 22 0\n"


def test_a_pidfd_is_readable_once_it_has_ended(inside: Inside) -> None:
    program = (
        "import os, select, signal, sys; fd = os.pidfd_open(int(sys.argv[1])); "
        "before = select.select([fd], [], [], 0)[0]; signal.pidfd_send_signal(fd, 0); "
        "signal.pidfd_send_signal(fd, signal.SIGTERM); "
        "print(before, select.select([fd], [], [], 30)[0] == [fd]); "
        "signal.pidfd_send_signal(fd, 0)"
    )
    assert inside(f'python3 -c "{program}" $P 2>&1 | grep -v Trace | head -1; true') == "[] True\n"


def test_a_pidfd_of_a_process_that_is_not_there_cannot_be_opened(inside: Inside) -> None:
    program = "import os; os.pidfd_open(9999999)"
    assert "ProcessLookupError" in inside(f'python3 -c "{program}" 2>&1 || true')


def test_a_pidfd_of_a_real_process_is_the_kernels(inside: Inside) -> None:
    program = "import os, signal; signal.pidfd_send_signal(os.pidfd_open(os.getpid()), signal.SIGTERM)"
    assert inside(f"(python3 -c '{program}'; echo $?) 2>/dev/null") == "143\n"


def test_every_process_is_each_simulated_one_too(inside: Inside) -> None:
    assert (
        inside("trap '' TERM; sh -c 'kill -s TERM -- -1'; cat /sys/fs/cgroup/app/cgroup.events")
        == "populated 0\nfrozen 0\n"
    )


@pytest.mark.hostile("another user signals a simulated process", times=3)
@pytest.mark.parametrize("signal", ["0", "KILL", "STOP"])
def test_another_user_may_not_signal_it(root: None, inside: Inside, signal: str) -> None:
    stranger = f"setpriv --reuid 1234 --clear-groups sh -c 'kill -s {signal} '$P 2>&1 || true"
    assert "Operation not permitted" in inside(f"{stranger}; kill -0 $P")


def test_commands_are_taken_from_inside(inside: Inside) -> None:
    program = "from fakecgroup_mount.cli.program import main; raise SystemExit(main())"
    listed = inside(f'{sys.executable} -c "{program}" ctl /sys/fs/cgroup workload list')
    assert listed.splitlines()[1].split()[-3:] == ["runs", "1", "app"]


def test_the_roots_memory_is_that_of_the_simulated_machine(inside: Inside) -> None:
    anon = inside("grep '^anon ' /sys/fs/cgroup/memory.stat")
    assert anon == f"anon {64 << 20}\n"


def test_it_has_the_same_pid_in_another_pid_namespace(inside: Inside) -> None:
    script = "cat /sys/fs/cgroup/app/cgroup.procs; kill $P; grep populated /sys/fs/cgroup/app/cgroup.events"
    assert inside(f"export P; unshare -pf --mount-proc sh -c '{script}'; echo $P").splitlines() == [
        pid := inside("echo $P").strip(),
        "populated 0",
        pid,
    ]


def test_a_trigger_on_the_machines_pressure_wakes_its_poller(root: None, sandboxed: Sandboxed, tmp_path: Path) -> None:
    (tmp_path / "busy.yaml").write_text("""
machine: {cpus: 1, memory: 1Gi}
cgroups: {app: }
workloads: [{cgroup: app, instances: 2, loop: forever, phases: [{for: 1h, cpu: 1}]}]
""")
    program = (
        "import os, select; fd = os.open('/proc/pressure/cpu', os.O_RDWR); "
        "os.write(fd, b'some 100000 1000000\\0'); poller = select.poll(); poller.register(fd, select.POLLPRI); "
        "print(poller.poll(30000) == [(fd, select.POLLPRI)])"
    )
    assert said(sandboxed(f'python3 -c "{program}"', workload=str(tmp_path / "busy.yaml"))) == "True\n"


def test_the_oom_killer_minds_what_is_written_to_oom_score_adj(inside: Inside) -> None:
    script = "cat /proc/$P/oom_score; echo 1000 >/proc/$P/oom_score_adj; cat /proc/$P/oom_score"
    before, after = map(int, inside(script).split())
    assert after > before


@pytest.mark.hostile("another user writes oom_score_adj of a simulated process", times=2)
@pytest.mark.parametrize("how", ["/proc/$P/oom_score_adj", "oom_score_adj"])
def test_another_user_may_not_write_it(root: None, inside: Inside, how: str) -> None:
    program = (
        "import os, sys; at = os.open('/proc/' + sys.argv[1], os.O_RDONLY); os.setgroups([]); os.setuid(1234); "
        "os.open(sys.argv[2], os.O_WRONLY, dir_fd=at)"
    )
    assert "PermissionError" in inside(f'python3 -c "{program}" $P {how} 2>&1 || true; cat /proc/$P/oom_score_adj')


def test_what_is_written_to_other_files_is_refused_as_for_a_real_process(root: None, inside: Inside) -> None:
    program = (
        "import os, sys\nfor pid in sys.argv[1], 'self':\n"
        "  try: os.write(os.open(f'/proc/{pid}/statm', os.O_WRONLY), b'1')\n"
        "  except OSError as error: print(error.errno)"
    )
    ours, theirs = inside(f'python3 -c "{program}" $P').split()
    assert ours == theirs
