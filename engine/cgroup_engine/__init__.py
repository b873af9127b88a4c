"""The kubelet's cgroup hierarchy as a compiler: node configuration and pods in, ordered legal writes out.

The rooms are passes; each imports only those before it: ``model``, ``kubelet`` (its rules), ``inputs``, ``tree``,
``sources``, ``plan``, ``change``, ``views``, ``run``, ``cli``.

``change`` alone changes a root. ``change.cgroup_manager`` has the kubelet's operations on single cgroups.
docs/reference/engine.md shows how to use them from Python.
"""
