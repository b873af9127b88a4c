"""A Kubernetes cluster on this machine: a control plane, and nodes with a real kubelet under `fakecgroup run`.

`cli` is the command, `start` its part on the machine. `keeper` is process 1 of the namespaces that all of it lives in,
so that nothing outlives it. `state` says where a cluster is, `build` makes Kubernetes' programs from source.
"""
