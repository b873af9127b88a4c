# fakecgroup run -- bats limit.bats

setup() {
  [ -n "${FAKECGROUP:-}" ] || skip "outside of fakecgroup run, this would change the machine's own cgroups"
  cd "$BATS_TEST_DIRNAME"
}

@test "the limit is in force" {
  group=$(./limit.sh app 64)
  [ "$(cat "$group/pids.max")" = 64 ]
}

@test "a negative limit is refused" {
  run ./limit.sh other -1
  [ "$status" -ne 0 ]
  [ "$(cat /sys/fs/cgroup/{,pids/}other/pids.max 2>/dev/null)" = max ]
}

@test "a cgroup with a process in it stays" {
  group=$(./limit.sh busy 64)
  sleep 60 3>&- &
  echo $! >"$group/cgroup.procs"
  run rmdir "$group"
  [[ "$output" == *"Device or resource busy"* ]]
  kill $!
}
