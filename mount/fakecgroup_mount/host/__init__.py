"""What the machine tells of its processes, namespaces and mounts."""
