"""`fakecgroup run`: a command that finds the fake at /sys/fs/cgroup, and for which nothing tells of FUSE.

Three processes. The front (`front`) is what the user started: it waits for the command and passes signals on. The
server (`server`) is a daemon outside of the command's namespaces: it serves the tree, answers the trapped system calls
of everything that the command starts, and ends all of it when the front is gone. The command itself (`sandbox`) is the
front's child in a user and a mount namespace of its own.

Traps are seccomp user notifications (seccomp_unotify(2)), so programs need not be linked or started in any special way.
This is for tests: a program that wants to can tell, and can get round it.
"""
