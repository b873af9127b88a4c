"""The kernel's arithmetic of CPU time, pressure and the OOM killer: numbers in, numbers out.

Nothing here knows the tree. `simulation` applies it to workloads.
"""
