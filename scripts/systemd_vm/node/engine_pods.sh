# Pods, as a kubelet with systemd's driver has them, with processes in two of their containers
cd /opt/examples
node="--root /sys/fs/cgroup --driver systemd --config three-pods.kubelet.yaml --cpus 3 --memory 8Gi --max-pids 32768"
cgroup-engine apply $node three-pods.yaml >&2
container() { # as a runtime starts one
  systemd-run --quiet --scope --unit="cri-containerd-$(printf '%064x' "$1").scope" --slice="$2.slice" -p Delegate=yes \
    -p MemoryMax="$3" -p TasksMax=100 python3 -c "$hold" 20 2>/dev/null &
  wait_for systemctl --quiet is-active "cri-containerd-$(printf '%064x' "$1").scope"
}
pod=pod0aa1a5e2_0b3f_4d0e_8f31_000000000
container 1 "kubepods-burstable-${pod}002" 1G
container 2 "kubepods-${pod}001" 1G
