"""What everything speaks of: pods, quantities, names, limits, one wanted cgroup. Imports no other room."""
