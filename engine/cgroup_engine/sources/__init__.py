"""Where pods come from while ``run`` follows them: files, an API server."""
