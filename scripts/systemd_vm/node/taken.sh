# Prints snapshots of the node in base64, and what fakecgroup says of them.
sleep 3

chmod 1777 /tmp
taken() { # NAME [COMMAND...]: prints the snapshot that fakecgroup takes, run by COMMAND, and what it says
  local name=$1
  shift
  "$@" fakecgroup snapshot /sys/fs/cgroup -o "/tmp/$name.cgs" >"/tmp/$name.said" 2>&1
  while read -r line; do echo "$name: $line"; done <"/tmp/$name.said" >&3
  echo "$name.cgs $(base64 -w 0 "/tmp/$name.cgs")" >&3
}
taken root
taken user setpriv --reuid 1000 --regid 1000 --clear-groups
