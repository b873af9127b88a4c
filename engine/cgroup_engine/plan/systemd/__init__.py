"""Plans for a tree that systemd manages: units, their properties, and the calls that set them."""
