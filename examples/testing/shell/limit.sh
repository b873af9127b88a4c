#!/bin/sh
# limit.sh NAME PROCESSES: makes a cgroup that may have so many processes; prints its directory.
set -eu
root=/sys/fs/cgroup
if [ -e $root/cgroup.controllers ]; then
  echo +pids >$root/cgroup.subtree_control
else
  root=$root/pids
fi
mkdir "$root/$1"
echo "$2" >"$root/$1/pids.max"
echo "$root/$1"
