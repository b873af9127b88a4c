# Runs in the machine of scripts/systemd; prints a line of JSON for each step: its name, exit code and output.
show() { systemctl show "$1" -p ActiveState,CPUWeight,CPUShares,MemoryMax,MemoryLimit,TasksMax,CPUQuotaPerSecUSec,AllowedCPUs; }
left() { find /sys/fs/cgroup -name '*fcg*'; systemctl list-units --all --no-legend '*fcg*'; }
no_bus() { DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/no-bus engine apply "${PODS[@]}"; }
engine() {
  local command=$1
  shift
  cgroup-engine "$command" --root /sys/fs/cgroup --driver systemd --config kubelet.yaml --cpus 3 --memory 8Gi \
    --max-pids 32768 "$@"
}
cd examples
{ cat three-pods.kubelet.yaml; echo 'cgroupRoot: /fcg'; } >kubelet.yaml
PODS=(three-pods.yaml)
POD=pod0aa1a5e2_0b3f_4d0e_8f31_000000000
step apply engine apply "${PODS[@]}"
step 'show node' show fcg-kubepods.slice
step cpus cat /sys/fs/cgroup{/cpuset,}/fcg.slice/fcg-kubepods.slice/cpuset.cpus
step 'show pod' show "fcg-kubepods-burstable-${POD}002.slice"
step again engine apply "${PODS[@]}"
systemctl daemon-reload
step 'after daemon-reload' engine apply "${PODS[@]}"
step 'scope without a process' busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 \
  org.freedesktop.systemd1.Manager StartTransientUnit 'ssa(sv)a(sa(sv))' fcg-x.scope replace 1 Slice s fcg.slice 0
# as a runtime does
scope=$(engine plan -o json "${PODS[@]}" | grep -o 'container3: cri-containerd-[0-9a-f]*' | cut -d' ' -f2).scope
systemd-run --quiet --scope --unit="$scope" --slice="fcg-kubepods-${POD}001.slice" -p Delegate=yes sleep 1000 2>/dev/null &
until systemctl --quiet is-active "$scope"; do sleep 0.2; done
step 'with a scope' engine apply "${PODS[@]}"
step 'with a scope again' engine apply "${PODS[@]}"
step 'show scope' show "$scope"
step 'down while busy' engine down
systemctl stop "$scope"
limit=$(find /sys/fs/cgroup -path '*/fcg-kubepods.slice/memory.max' -o -path '*/fcg-kubepods.slice/memory.limit_in_bytes')
echo 7516192768 >"$limit"
step repair engine apply "${PODS[@]}"
step repaired cat "$limit"
python3 -c 'import yaml; yaml.safe_dump(next(yaml.safe_load_all(open("three-pods.yaml"))), open("one.yaml", "w"))'
usage=/sys/fs/cgroup/memory/fcg.slice/fcg-kubepods.slice/fcg-kubepods-besteffort.slice/memory.usage_in_bytes
if [ -e "$usage" ]; then # v1 refuses a limit below it; on v2 it would end the process
  systemd-run --quiet --scope --unit=fcg-busy.scope --slice=fcg-kubepods-besteffort.slice \
    python3 -c 'import time; kept = b"x" * (200 << 20); time.sleep(1000)' 2>/dev/null &
  until [ "$(cat "$usage")" -gt $((200 << 20)) ]; do sleep 0.2; done
fi
step 'one pod' engine apply --memory 1126Mi one.yaml
step 'show class' show fcg-kubepods-besteffort.slice
systemctl stop fcg-busy.scope 2>/dev/null
step down engine down
step left left
step 'down again' engine down
step 'no bus' no_bus
step manager python3 -c "
from contextlib import closing
from cgroup_engine.change.cgroup_manager import CgroupManager
from cgroup_engine.tree.fs import OsFs
from cgroup_engine.model.limits import CgroupLimits
from cgroup_engine.change.systemd.bus import connect
with closing(connect('/')) as systemd:
    manager = CgroupManager(OsFs('/sys/fs/cgroup'), 'systemd', systemd=systemd)
    pod = ('fcg', 'kubepods', 'burstable', 'pod1-2')
    manager.create(pod, CgroupLimits(shares=512, quota_us=50000, period_us=100000, memory=64 << 20, pids=100, cpus='0-1'))
    manager.reduce_cpu_limits(pod)
    print(manager.exists(pod), manager.get_config(pod, 'memory').memory, manager.get_config(pod, 'cpu'))
    manager.destroy(pod[:1])
"
step 'left by the manager' left
