"""The state of a fake, so that it is restored as it was: what no file shows too.

`kinds` says which classes have state, `codec` writes and reads it as their annotations say, `whole` does so for a
kernel.
"""
