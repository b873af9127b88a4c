"""`fakecgroup run`: runs a command that finds a tree at /sys/fs/cgroup.

Data flow: `command` reads the options, `front` starts the server and the sandbox, `sandbox` becomes the command.
`server_start` loads `server`, which serves the tree and answers the command's trapped system calls (`calls`) until the
command has ended.

Traps are seccomp user notifications (seccomp_unotify(2)), so programs need not be linked or started in a special way.
This is for tests: a program that tries to can detect the traps and avoid them.


Processes
=========

    run                                              mount
    ---                                              -----
    front: started by the user; one thread           cli: started by the user; returns once the tree answers
     |- server: a daemon, in the outer namespaces     '- daemon: serves the tree
     |   '- release starter, in the sandbox               |- thawer (`host.freeze_watchdog`)
     '- command: in the inner namespaces                  '- release starter
         '- its descendants

The front waits for the end of the command or of the server. The server waits for the end of the front. A thread of the
command waits in a trapped call until a `Listener._serve` answers, and in a call on the tree until `Session.serve` does.


Threads
=======

Of the server and of the daemon behind a mount:

    Session.serve              answers the tree's FUSE requests; reports exits of processes
    ModifyEvents._tell         uses the tree, so that inotify sees a change
    DelayedNotifier._tell      tells the model when a delayed event is due
    CacheInvalidator._serve    waits for reads of the page cache to end, then sends a reply
    RememberedNames._serve     takes names back from the kernel module
    RememberedNames._withdraw  likewise, where a reply or a LOOKUP waits for it; ends then
    RememberedNames._expire    has the kernel module ask for names again; ends then
    ReleaseAgents._pass_on     talks to the release starter
    PassingTime._pass          lets time pass for simulated processes, once there are any
    ControlServer._serve       answers `fakecgroup ctl`
    Recorder._write            writes a trace, with --trace
    LateReplies._serve         sends replies that a rule of faults delays, once there was one
    Enforcement._enforce       looks at real processes, holds and kills, with --enforce
    TracedHolds._bury          waits for processes that were killed while they were held

Of the server alone:

    Listener._serve            up to 64: take trapped calls and answer them
    MountinfoFiles.serve       answers the FUSE requests for /proc/PID/mountinfo and mounts
    fuse_opener._serve         opens those two files, with a table of files of its own
    detached_mounts._made_in   enters a mount namespace for one call
    server._await_end          waits for the end of the front
    server.serve               `SysfsDirectory.serve`: answers the FUSE requests for the stated CPUs and nodes in sysfs

Of the daemon behind a mount alone:

    serve._serve_native        `serve._end_on_signal`: unmounts at SIGTERM and SIGINT
    Operations.init            with fusepy, uses the tree at each exit, so that libfuse's one thread reports it

Before there is a sandbox, the front tries with `shortage.require_threads` whether enough threads can be started.


Locks
=====

A thread may take a lock only while it holds no other, or one above it in the same branch:

    Listener._turn                     held by the one thread that takes the next trapped call
     |- Listener._lock                 counts of threads, for a moment
     |- TracedCalls._lock              who makes trapped calls, for a moment
     '- Session.lock                   tried, never waited for: all trapped calls would wait too

    FsmountCalls._lock                 mounts under construction; its holder uses the tree and other file systems
     '- CgroupNamespaces._lock         roots of cgroup namespaces
         '- Session.lock

    ForkCalls._counting                one count of the tasks at a time
     '- Session.lock

    BpfCall._lock                      device programs; its holder uses the tree
    FuseOpener._turn                   its holder waits for MountinfoFiles.serve, which takes CgroupNamespaces._lock
    ChildMarks._changed                children that are waited for; a waiter holds no lock

    Session.lock                       the model and the processes (`MountedTree.lock` is the same)
     |- DelayedNotifier._changed       a condition on Session.lock itself
     |- PassingTime._changed           likewise
     |- TracedCalls._lock              as above
     |- LateReplies._changed           replies that wait for their time, for a moment
     |- Enforcement._changed           wakes the thread that enforces limits, for a moment
     |- HostAffinities._lock           what threads may use, for a moment
     '- MemoryLimits._looking          one look at a cgroup's processes, a precise one takes 8 ms for each GiB

Whoever uses the tree waits for `Session.serve`, and so for `Session.lock`. So a thread with `Session.lock` must not

* use the tree, by path or descriptor (open, stat, truncate, mount, umount). It would wait for itself, in a wait that
  cannot be killed (fs/fuse/dev.c, request_wait_answer);
* wait for a process of the sandbox, which may be in a trapped call or in a call on the tree;
* invalidate cached pages, which waits for reads that `Session.serve` has to answer; `CacheInvalidator` does this;
* invalidate names, which waits for whoever has the directory's lock in the kernel; `RememberedNames` does this;
* take a lock of the drawing other than those below it, or wait for a thread that does.

It may send FUSE notifications that do not wait (polls, attributes, the last byte of a file), put work into another
thread's queue, and wait up to a second for processes that it has just stopped (`HostProcesses.settle_stopped`).

tests/mount/run/test_locks.py compares the names in these drawings with the code.
"""
