"""The release agents of a v1 tree: who may have one run, and how it is started."""
