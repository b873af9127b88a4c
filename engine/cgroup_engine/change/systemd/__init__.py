"""The connection to the machine's systemd; ``plan.systemd`` says which calls a plan makes.

Slices (node, QoS, pod) are transient units with the properties that the kubelet's libcontainer sets
(``opencontainers/cgroups/systemd``). Values without a property (huge pages, memory.oom.group) are written to the files.

Runtimes make the scopes of containers. systemd makes no scope without a process, removes it with its last process, and
refuses the runtime's StartTransientUnit if the name is taken. A plain directory in its place would not last: a slice
cannot be delegated. On v2 systemd disables the controllers that none of its units there needs, and the directory's
values go with them. So the values of a scope are set after its runtime has made it.
"""
