"""``cgroup-engine run``: keeps a node's hierarchy as its pods want it, repairs drift, and can be watched."""
