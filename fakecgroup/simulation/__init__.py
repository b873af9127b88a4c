"""Workloads on virtual time: simulated processes that use CPU time as the limits of their cgroups let them."""
