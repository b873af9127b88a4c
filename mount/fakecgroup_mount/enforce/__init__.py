"""Limits act on real processes, with what a plain user may do (`--enforce`).

Memory: `footprint` reads what a process has, `ledger` says what of it is certainly charged to a cgroup, `looks` when to
look again; `memory_limits` applies them to a tree.

CPU: `quota` says when a group waits for its next period, `shares` who waits for others: these know nothing of the
model. `cpu_groups` takes groups and processes from it, a `runner` is one of these. `competition` measures what they
would use, `cpu_pressure` counts how long they waited. `cpu_limits` looks at them and holds who waits, as `holds` can.

`enforcement` is the thread. docs/explanation/enforcing.md says what is enforced and how well.
"""
