"""The systemd driver on a machine that systemd runs: what of a plan goes over D-Bus, and the calls.

Slices (node, QoS, pod) are transient units with the properties that the kubelet's libcontainer sets
(``opencontainers/cgroups/systemd``). What systemd does not manage (huge pages, memory.oom.group) is then written to the
files as without it.

A container's scope is its runtime's. systemd makes no scope without a process, removes it with its last one, and
refuses the runtime's own StartTransientUnit if one of that name is there. A plain directory in its place does not
last either: a slice cannot be delegated, and on v2 systemd disables the controllers that none of its own units in
there needs, and the directory's values with them. So the values of a scope are set once its runtime has made it.
"""
