"""Takes a snapshot of a node: what its cgroup file systems, /proc and /sys show.

`tree` reads the files of the hierarchies, `processes` tells of the processes in them, `machine` of the machine and its
kernel; `node` puts them together. `snapshot_file` writes the file.
"""
