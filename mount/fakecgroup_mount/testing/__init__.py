"""Trees for other people's tests: the pytest plugin.

`plugin` is what pytest loads at every start, so it imports nothing else of this package until a fixture is used;
`options` reads the marker; `trees` mounts, by way of `server`, a process of its own.
"""
