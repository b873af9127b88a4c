# The cases on a machine with systemd: as root, as a plain user with a session, and after a run that was killed.
families="--family freeze --family delegation --family rdma_misc --family kernel_memory"
ask() { fakecgroup conformance --target host -o json $families; }
as_user() { runuser -l user -c "PATH=/opt/bin:\$PATH PYTHONPATH=/opt/python PYTHONDONTWRITEBYTECODE=1; export PATH PYTHONPATH PYTHONDONTWRITEBYTECODE; $1"; }
left() { find /sys/fs/cgroup -name 'fakecgroup*' | wc -l; }
killed() {
  fakecgroup conformance --target host --family delegation >/dev/null 2>&1 &
  for _ in $(seq 600); do
    find /sys/fs/cgroup -path '*/fakecgroup-conformance-*/root/*' -name cgroup.procs | grep -q . && break
    sleep 0.1
  done
  kill -9 $!
  wait $! 2>/dev/null
  left
}

chown user:user /home/user
step root ask
step user as_user "fakecgroup conformance --target host -o json $families"
step without_bus as_user "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere fakecgroup conformance --target host"
step left left
step killed killed
step next ask
step left_after left
