# All that systemd has, while its processes work: services, a user's session, a manager in a delegated cgroup.
exec 3>&1 >/dev/null
systemctl start basic.target systemd-logind user@1000.service 2>/dev/null
wait_for() { for _ in $(seq 600); do "$@" && return; sleep 0.1; done; echo "never: $*" >&2; exit 1; }
service() { systemd-run --quiet --unit="$@"; }
spin='while True: pass'
hold='import sys, time; kept = b"x" * (int(sys.argv[1]) << 20); time.sleep(1000)'

service web --slice=work.slice -p CPUQuota=20% -p CPUWeight=300 -p MemoryHigh=90M -p MemoryMax=100M -p TasksMax=50 \
  -p IOWeight=200 -p AllowedCPUs=0-1 -p MemoryLow=10M -p OOMPolicy=continue python3 -c "$spin"
service cache --slice=work-data.slice -p MemoryMin=5M -p MemorySwapMax=0 python3 -c "$hold" 30
service idle --slice=work-data.slice -p CPUWeight=idle -p CPUShares=2 -p Nice=5 sleep 1000
service greedy --slice=work.slice -p MemoryMax=30M -p OOMPolicy=kill python3 -c "$hold" 60
service threads -p Delegate=yes python3 -c "
import threading, time
for _ in range(5): threading.Thread(target=time.sleep, args=(1000,)).start()"
service stopped sleep 1000
systemctl freeze stopped.service
systemd-run --quiet --scope --uid=1000 --slice=user-1000.slice sleep 1000 2>/dev/null &
wait_for systemctl --quiet is-failed greedy.service

# a manager of its own below a delegated cgroup
cat >/run/manage <<'END'
import os, time
root = "/sys/fs/cgroup"
lines = [line.rstrip("\n").split(":", 2) for line in open("/proc/self/cgroup")]
for number, names, path in lines:
    names = names.removeprefix("name=")
    top = f"{root}/unified{path}" if not names and os.path.exists(f"{root}/unified") else f"{root}/{names}{path}"
    if path == "/" or not os.path.isdir(top):
        continue
    for name in ("leaf", "empty", "a name, odd: \u00fc"):
        os.mkdir(f"{top}/{name}")
        os.chown(f"{top}/{name}", 1000, 1000)
    try:
        os.setxattr(f"{top}/leaf", "user.note", b"kept")
        os.setxattr(f"{top}/leaf", "trusted.note", b"\0kept")
    except OSError:
        pass
    try:
        open(f"{top}/leaf/cgroup.procs", "w").write("0")
    except OSError:
        pass
time.sleep(1000)
END
service manager -p Delegate=yes python3 /run/manage

# what nothing here asks systemd for
cd /sys/fs/cgroup
write() { { echo "$2" >"$1"; } 2>/dev/null || :; }
write work.slice/cpuset.cpus.partition root
write work.slice/memory.oom.group 1
write work.slice/cgroup.max.descendants 7
write work.slice/hugetlb.2MB.max 8M
write work.slice/cpu.max.burst 5000
write memory/work.slice/memory.swappiness 17
write memory/work.slice/memory.oom_control 1
write memory/work.slice/memory.move_charge_at_immigrate 3
write memory/work.slice/memory.soft_limit_in_bytes 64M
write cpu,cpuacct/work.slice/cpu.rt_runtime_us 1000
write net_cls,net_prio/cgroup.clone_children 1
mkdir freezer/cold freezer/cold/below net_cls,net_prio/net 2>/dev/null
write freezer/cold/freezer.state FROZEN
write net_cls,net_prio/net/net_cls.classid 1048577
write net_cls,net_prio/net/net_prio.ifpriomap "lo 5"
mkdir cpuset/set 2>/dev/null && { write cpuset/set/cpuset.cpus 1-2; write cpuset/set/cpuset.mems 0
  write cpuset/set/cpuset.cpu_exclusive 1; write cpuset/set/cpuset.sched_load_balance 0; }
