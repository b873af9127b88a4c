"""How programs reach the model of `fakecgroup`: FUSE mounts, `fakecgroup run`, the pytest plugin, the command line.

Each room imports only those before it: host, seccomp, release, fuse, calls, run, testing and conformance, cli.
"""
