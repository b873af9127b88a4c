"""What people write, read and checked: pods, kubelet configurations, static pods."""
