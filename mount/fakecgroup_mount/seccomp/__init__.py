"""System calls, namespaces and the filter: what traps a call, and what answers it (seccomp_unotify(2))."""
