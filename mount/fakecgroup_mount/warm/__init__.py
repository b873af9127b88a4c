"""`fakecgroup warm -- CMD`: commands that start while CMD runs need load nothing.

    warm       starts the server, then CMD; waits and ends as CMD did
    server     has loaded all that `run` and `mount` need; forks for each start, and ends after CMD with its last start
    client     each `fakecgroup` that CMD starts: sends what it was given, waits, and ends as the child did
    keeper     forked by the server: looks who asks, joins its process group, and waits for the child
    child      the keeper's fork: takes on what the client was given, and goes on as a `fakecgroup` of its own

Children get what the server has. So a client is served only if it has the same (`likeness`), by what the kernel tells
of it; any other starts as always. It is served by its own user's server in its own session: nobody gets more rights.
"""

VARIABLE = "FAKECGROUP_WARM"
"""The environment variable with the name of the server's socket (abstract, unix(7))."""
