"""Reads and checks what people write: pods, kubelet configurations, manifests of static pods."""
