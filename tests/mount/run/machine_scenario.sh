# Runs in the machine of scripts/systemd: `fakecgroup run` as a plain user, on the kernel that is booted there.
if [ -e /opt/fuse.ko ]; then
  python3 -c 'import ctypes, os; exit(ctypes.CDLL(None).syscall(313, os.open("/opt/fuse.ko", os.O_RDONLY), b"", 0))'
fi
[ -e /dev/fuse ] || mknod /dev/fuse c 10 229
chmod 666 /dev/fuse
mkdir -m 777 /tmp/home
as_user() { HOME=/tmp/home setpriv --reuid 1000 --regid 1000 --clear-groups "$@"; }
left() { find /proc -maxdepth 1 -user 1000; grep -c fakecgroup /proc/self/mounts || true; }

step v2 as_user fakecgroup run -- sh -c '
  stat -f -c %t /sys/fs/cgroup
  cd /sys/fs/cgroup && mkdir app && echo +pids >cgroup.subtree_control && echo 77 >app/pids.max && cat app/pids.max
  echo $$ >app/cgroup.procs && cat /proc/self/cgroup
  sleep 100 & echo $! >cgroup.procs; echo 1 >app/cgroup.kill'
step v1 as_user fakecgroup run --layout v1 -- sh -c '
  stat -f -c %t /sys/fs/cgroup /sys/fs/cgroup/memory
  mkdir /sys/fs/cgroup/freezer/app
  sleep 100 & echo $! >/sys/fs/cgroup/freezer/app/cgroup.procs
  grep freezer /proc/$!/cgroup
  echo FROZEN >/sys/fs/cgroup/freezer/app/freezer.state
  for i in $(seq 100); do grep -q "State.*T" /proc/$!/status && echo stopped && break; sleep 0.05; done
  exit 3'
step left left
