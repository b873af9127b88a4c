"""The kernel's answers about cgroups outside of their file system: /proc, mount(2) and fsconfig(2), bpf(2).

Only the rules: who asks, and how a call reaches them, is the sandbox's part.
"""
