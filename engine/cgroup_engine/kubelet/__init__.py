"""The kubelet's rules: pure functions from pods and a node to values, each named after the kubelet's own."""
