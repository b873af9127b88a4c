"""`ctl DIR fault ...`: rules of faults are added, listed and removed."""

from __future__ import annotations

from fakecgroup_mount.control.controlled_tree import Asked, ControlledTree
from fakecgroup_mount.control.errors import CommandError


def load_errnos(tree: ControlledTree) -> None:
    """Loads what this kernel can answer."""
    from fakecgroup.faults.known_errnos import answered_by  # takes a while to load

    answered_by(tree.kernel)


def add(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Adds the rule `text`; `any_errno` is "yes" for one that the kernel cannot have. Returns its id."""
    from fakecgroup.faults import FaultError  # takes a while to load

    try:
        added = tree.injection.faults.add(asked.arguments["text"], any_errno=asked.arguments.get("any_errno") == "yes")
    except FaultError as error:
        raise CommandError(str(error), 2) from None
    return {"id": added}


def list_all(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """All rules, with how often each has fired, and the last firings."""
    if not tree.injection.begun:
        return {"rules": [], "firings": []}
    faults = tree.injection.faults
    return {
        "rules": [
            {"id": one.number, "rule": one.rule.text, "fired": one.fired, "left": one.left} for one in faults.rules()
        ],
        "firings": [one._asdict() for one in faults.firings],
    }


def remove(tree: ControlledTree, asked: Asked) -> dict[str, object]:
    """Takes back the rule `id`."""
    text = asked.arguments["id"]
    there = [str(one.number) for one in tree.injection.faults.rules()] if tree.injection.begun else []
    if text not in there:
        raise CommandError(f"no rule has the id {text!r}; there is {', '.join(there) or 'none'}")
    tree.injection.faults.remove(int(text))
    return {}
