# Runs in the machine of scripts/systemd once the unit is in place; prints a line of JSON for each step.
show() { systemctl show cgroup-engine -p "$1" --value; }
pods() { find "$node" -name 'pod0aa1a5e2*' | wc -l; }
repaired() {
  for _ in $(seq 50); do
    [ "$(cat "$node/kubepods/pids.max")" = 77 ] || return 0
    sleep 0.2
  done
  return 1
}
get() { python3 -c 'import sys, urllib.request as r; print(r.urlopen("http://127.0.0.1:9753" + sys.argv[1]).read().decode())' "$1"; }

node=/sys/fs/cgroup
[ -d $node/pids ] && node=$node/pids
mkdir -p /etc/cgroup-engine/pods
cp examples/three-pods.yaml /etc/cgroup-engine/pods/
printf 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfailCgroupV1: false\n' \
  >/etc/cgroup-engine/kubelet.yaml
systemctl daemon-reload
step start timeout 100 systemctl start cgroup-engine
until [[ $(show StatusText) == *pods* ]]; do sleep 0.5; done
step status show StatusText
step pods pods
step mode stat -c %a $node/kubepods
step ready get /readyz
echo 77 >$node/kubepods/pids.max
step repair repaired
step stop timeout 60 systemctl stop cgroup-engine
step result show Result
step 'pods after the stop' pods
step journal journalctl --no-pager -o cat -u cgroup-engine
