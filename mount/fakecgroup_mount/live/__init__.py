"""The simulated processes of a mounted tree: virtual time passes for them as real time does."""
