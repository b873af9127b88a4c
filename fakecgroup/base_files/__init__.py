"""The files that every cgroup has, whatever its controllers: `dfl` of the unified hierarchy, `legacy` of v1."""
