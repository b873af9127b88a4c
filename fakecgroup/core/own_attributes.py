"""Attributes that few objects of a class have."""

from __future__ import annotations


def keep_apart(one: object) -> None:
    """Give an object a dictionary of its own, before it gets attributes that hardly any other of its class has.

    Python lets all objects of a class share the names of their attributes (PEP 412), and each has room for every name
    that any of them has. A root has many more than the cgroups below it, of which there may be a million.
    """
    one.__dict__ = dict(vars(one))
