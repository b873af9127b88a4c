"""System call traps (seccomp_unotify(2)) and namespaces.

`filter` decides which calls are trapped, `listener` takes each one and passes it to its handler in `calls`, and the
handler's answer goes back to the caller. `memory`, `process` and `user_namespaces` tell about the caller.
"""
