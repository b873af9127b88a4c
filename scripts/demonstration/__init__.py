"""The demo: what a fake cgroup tree refuses and clamps, and a kubelet's cgroups on it."""
