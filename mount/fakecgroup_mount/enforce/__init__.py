"""Limits act on real processes, with what a plain user may do (`--enforce`).

`footprint` reads what a process has in memory, `ledger` says what of it is certainly charged to a cgroup, `looks` when
to look again, `quota` when to stop: these know nothing of the model. `memory_limits` and `cpu_limits` apply them to a
tree, `enforcement` is the thread.
docs/explanation/enforcing.md says what is enforced and how well.
"""
