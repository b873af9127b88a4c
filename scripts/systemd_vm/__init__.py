"""A virtual machine with Debian's systemd as its first process and this checkout's cgroup-engine."""
