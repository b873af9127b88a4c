"""Cgroups: hierarchies, csses, interface files, and the membership of tasks."""
