"""The machine's processes, namespaces and mounts, read from /proc, pidfds and netlink.

The model asks `processes.HostProcesses` who exists, who was forked where and what each has used. It freezes and kills
through it too. `idmap` and `credentials` turn a request's ids and pid into the model's `Caller`.
"""
