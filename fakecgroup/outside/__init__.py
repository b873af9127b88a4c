"""The kernel's answers about cgroups outside of their file system: /proc, mount(2), bpf(2), fork(2) and others.

These are the rules alone. The sandbox of `fakecgroup run` finds out who asks and brings the answer to the program.

    proc_files, namespace_paths   /proc/PID/cgroup, /proc/PID/cpuset, /proc/cgroups
    simulated_tasks               /proc/PID/stat, status and others, of simulated processes
    machine_files, memory_fields  /proc/meminfo, vmstat, swaps, /proc/pressure
    cpu_texts, cpu_lists          /proc/cpuinfo, stat, uptime, the CPUs in /proc/PID/status
    sysfs, online_files           /sys/devices/system/cpu and node
    affinities                    sched_setaffinity(2), sched_getaffinity(2)
    mountinfo                     /proc/PID/mountinfo, mounts, mountstats
    subsystems                    the controllers by the names that /proc/cgroups and v1 mounts give them
    mount_parameters, fs_context  mount(2), fsconfig(2), fsmount(2)
    device_programs               bpf(2)
    file_handles                  name_to_handle_at(2)
    clone_flags, pending_forks    fork(2), clone(2), clone3(2)
    resource_limits               prlimit(2), /proc/PID/limits
    signals                       kill(2), tkill(2), tgkill(2)
"""
