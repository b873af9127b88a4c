"""A cgroup root as it is: its layout, its files, the knobs in them, the cgroups found there, and /proc."""
