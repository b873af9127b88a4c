"""Conformance targets that need a mount or the machine, and the command that compares them."""
