"""Recording: what programs do to a mounted tree, as a trace (`fakecgroup.trace`).

`recorder` takes what was done and writes lines in a thread of its own. `callers` knows who did it. `options` are those
of the command line. `fuse.traced_requests` and `calls.traced_calls` say what was done.

The file is opened by whoever asks for the trace, with their rights; the daemon gets its descriptor.
"""
