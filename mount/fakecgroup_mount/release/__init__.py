"""Release agents of a v1 tree.

The model reports an emptied cgroup. `agents` checks the rights of whoever set the agent and hands the run to a process
of its own, `starter`, which executes the agent with those rights.
"""
