"""The pytest plugin: trees for other people's tests.

`plugin` is loaded by every pytest, so it imports the rest only when a fixture is used. `options` reads the marker,
`factory` is the fixture, and `trees` asks `server`, a process of its own, to mount and unmount.
"""
