"""A node's pods over hours of virtual time. No other room imports ``fakecgroup``."""
