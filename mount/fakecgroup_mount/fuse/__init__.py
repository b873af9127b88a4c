"""The transports: the /dev/fuse protocol (`native`) and the fusepy library, and what mounts and unmounts."""
