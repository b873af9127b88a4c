"""What happens on a node, in order, each part measured against what the engine said.

It runs unchanged in a virtual machine and on a host, needs nothing but the engine, and prints a JSON object a line.
"""
