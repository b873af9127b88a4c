"""The control socket of a daemon: how `fakecgroup ctl` speaks to a tree that is mounted.

`directory` is where sockets are, `messages` what goes through them, `server` answers in the daemon, `client` asks.
`commands` is the table of what can be asked for, `controlled_tree` what that acts on. `workloads` does it for simulated
processes, `faults` for rules of faults, `enforced` for limits of real processes.

Only the mounter's uid is answered (SO_PEERCRED), and under `fakecgroup run` only the sandbox's root. The daemon opens
no file for whoever asks: what a command needs is in its message, or comes with it as an open descriptor.
"""
