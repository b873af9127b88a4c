"""A KubeletConfiguration (kubelet.config.k8s.io/v1beta1), and the node that it describes."""

from cgroup_engine.inputs.config.file import feature_gates, read_config, static_pod_path
from cgroup_engine.inputs.config.node import node_config

__all__ = ["feature_gates", "node_config", "read_config", "static_pod_path"]
