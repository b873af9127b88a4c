"""Traces: what programs did to a tree of cgroups, call by call, and what other kernels would have answered.

`call` is one line of a trace, `words` the names of flags in it, `trace_file` reads and writes whole traces. For people,
`strace_line` shows a call, `chosen` leaves some out, `summary` says who wrote what, `redact` takes names away. `replay`
plays the calls on a `stage`, a model with the recorded processes, for each kernel; `matrix` shows where they differ.
`assumed` brings a tree to the state in which a trace begins. `files.replay_file` is for tests in Python.
"""
