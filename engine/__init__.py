"""The kubelet's cgroup hierarchy as a compiler: node configuration and pods in, ordered legal writes out.

Pure parts: `config` and `pods` read, `wanted` computes the tree, `plan` the steps, `explain` and `status` look at them.
`found` reads a root through `fs`, `apply` alone changes it. `cli` is the command ``cgroup-engine``.
`cgroup_manager` has the kubelet's operations on single cgroups. docs/engine.md shows how to use them from Python.
"""
