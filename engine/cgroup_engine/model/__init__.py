"""The nouns of the engine: pods, quantities, names, limits, one wanted cgroup."""
