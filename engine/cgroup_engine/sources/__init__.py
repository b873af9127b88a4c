"""Sources of pods that ``run`` follows: files, and an API server."""
