"""The answers to the system calls that `fakecgroup run` traps.

`table` has each call: when it is trapped, which file answers it, what a program gets. `supervisor` makes the handlers.

    open.py               open(2), openat(2), openat2(2)
    getdents64.py         getdents64(2)
    stat.py               stat(2), lstat(2), newfstatat(2), statx(2)
    access.py             access(2), faccessat(2), faccessat2(2)
    statfs.py             statfs(2), fstatfs(2)
    name_to_handle_at.py  name_to_handle_at(2)
    fork.py               fork(2), vfork(2), clone(2)
    clone3.py             clone3(2)
    exit.py               exit(2), exit_group(2)
    kill.py               kill(2), tkill(2), tgkill(2)
    pidfd.py              pidfd_open(2), pidfd_send_signal(2)
    rt_sigaction.py       rt_sigaction(2)
    ptrace.py             ptrace(2)
    prlimit.py            prlimit(2), setrlimit(2), getrlimit(2)
    unshare.py            unshare(2)
    mount.py              mount(2), umount2(2)
    fsmount.py            fsopen(2), fsconfig(2), fsmount(2), move_mount(2)
    sched_affinity.py     sched_setaffinity(2), sched_getaffinity(2)
    sysinfo.py            sysinfo(2)
    bpf.py                bpf(2)

What they share:

    simulated_files, pressure_files         the files of /proc of simulated processes and their machine
    mounted_tree                            the tree: its files, their cgroups, the threads in them
    cgroup_namespaces                       the roots of the cgroup namespaces
    path_lookup, caller_credentials         what a caller's path leads to, with its rights
    caller_process                          a call made again by a process that is as the caller
    continued_call, child_marks,            what a call makes after it was let go on: forks, and where their children
    thread_cgroups                          start
    proc_files, mountinfo_files,            the files of /proc that tell of cgroups and mounts
    fuse_opener
    small_fuse                              requests and replies of the small file systems that show such files
    machine_files, sysfs_directories,       the machine that the command line states: its CPUs, memory, files of /proc
    covered_directories                     and sysfs
    traced_calls                            the calls for a trace
    ptrace_requests                         the requests of ptrace(2) that are trapped
    detached_mounts, mount_sources,         mounts of the tree, of other file systems, and over the machine's cgroups
    other_filesystems, masked_cgroups
"""
