"""Cgroup namespaces: how a process in one names cgroups (cgroup_namespaces(7))."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from fakecgroup.core.cgroup import Cgroup
from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.calls.continued_call import wait_for_outcome
from fakecgroup_mount.calls.mounted_tree import MountedTree, Places
from fakecgroup_mount.seccomp.listener import Call
from fakecgroup_mount.seccomp.process import children

_KEPT = 64  # namespaces, before those without a process are forgotten


class _Coming(NamedTuple):
    """A namespace that a thread is about to make, for itself or for a child.

    `places` is its root. `namespace` is the thread's before the call; `children` are its children before the call, None
    where the namespace is for the thread itself.
    """

    tid: int
    places: Places
    namespace: int
    children: frozenset[bytes] | None

    def found(self) -> dict[int, int]:
        """New namespaces, each with a thread that is in it."""
        tids = [self.tid]
        if self.children is not None:
            tids = [int(child) for child in children(self.tid) - self.children]
        return {_namespace(tid): tid for tid in tids if _namespace(tid) != self.namespace}


class CgroupNamespaces:
    """The roots of the cgroup namespaces in the sandbox.

    The command starts in a namespace whose root is the tree's. The root of any other is where its maker was then
    (copy_cgroup_ns). If its making was not seen, the root is where the first process in it is that needs the root.
    """

    def __init__(self, tree: MountedTree, first: int) -> None:
        self._tree = tree
        self._lock = threading.Lock()
        initial = tuple(hierarchy.root for hierarchy in tree.kernel.hierarchies)
        self._roots: dict[int, tuple[Places, int]] = {}
        """By inode number. The descriptor keeps the namespace, as the number of one that ended is soon used again."""
        self._kept = _KEPT
        self._coming: list[_Coming] = []
        for tid in (first, os.getpid()):
            self._keep(tid, initial)
        self._initial = frozenset(self._roots)
        self._unified = next((n for n, hierarchy in enumerate(tree.kernel.hierarchies) if hierarchy.dfl), None)

    def root(self, tid: int) -> Places:
        """The root of a thread's namespace in each hierarchy. Raises OSError: no such thread."""
        namespace = _namespace(tid)
        with self._lock:
            self._look()
            if namespace in self._roots:
                return self._roots[namespace][0]
            places = self._tree.places(tid)
            if places is None:
                raise ProcessLookupError
            return self._keep(tid, places)

    def is_initial(self, tid: int) -> bool:
        """Whether a thread is in the namespace that the command started in. Raises OSError: no such thread."""
        return _namespace(tid) in self._initial

    def root_to_delegate(self, tid: int) -> Cgroup | None:
        """The root of a thread's namespace in the unified hierarchy, where nsdelegate counts.

        None for the initial namespace, and where there is no such thread or hierarchy. The caller holds the lock of the
        tree, so this waits for nothing.
        """
        if self._unified is None:
            return None
        try:
            namespace = _namespace(tid)
        except OSError:
            return None
        if namespace in self._initial:
            return None
        if namespace in self._roots:
            return self._roots[namespace][0][self._unified]
        for coming in list(self._coming):
            if coming.tid == tid and coming.namespace != namespace:
                return coming.places[self._unified]
        kernel = self._tree.kernel
        task = kernel.processes.find(tid)
        return None if task is None else kernel.hierarchies[self._unified].locate(task)

    def expect(self, call: Call, *, for_child: bool) -> Callable[[], None]:
        """Prepares for a namespace that the kernel makes when the call goes on. Raises OSError: no such thread.

        The result waits for the namespace, to be called after the call was let go on.
        """
        tid = call.tid
        places = self._tree.places(tid)
        if places is None:
            raise ProcessLookupError
        with self._lock:
            self._look()
            self._coming = [coming for coming in self._coming if coming.tid != tid]
            coming = _Coming(tid, places, _namespace(tid), children(tid) if for_child else None)
            self._coming.append(coming)

        number = call.number

        def has_come() -> bool:
            with self._lock:
                self._look()
                return coming not in self._coming

        def then() -> None:
            # a thread that expects another namespace no longer has this one in `_coming`
            wait_for_outcome(tid, number, has_come, lambda: False)
            with self._lock:
                self._coming = [one for one in self._coming if one is not coming]

        return then

    def _look(self) -> None:
        """Keeps the namespaces that are there by now. With the lock held."""
        for coming in list(self._coming):
            try:
                found = coming.found()
                for namespace, tid in found.items():
                    if namespace not in self._roots:
                        self._keep(tid, coming.places)
            except OSError:  # its maker or its process has ended
                continue
            if found:
                self._coming.remove(coming)

    def _keep(self, tid: int, places: Places) -> Places:
        if len(self._roots) >= self._kept:
            self._forget()
        held = os.open(f"/proc/{tid}/ns/cgroup", os.O_RDONLY | os.O_CLOEXEC)
        namespace = os.fstat(held).st_ino
        if namespace in self._roots:
            os.close(held)
        else:
            self._roots[namespace] = places, held
        return places

    def _forget(self) -> None:
        """Forgets the namespaces that no process is in."""
        used = set()
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                used.add(_namespace(int(name)))
            except OSError:  # it has ended, or is not the sandbox's
                pass
        for namespace in self._roots.keys() - used:
            os.close(self._roots.pop(namespace)[1])
        self._kept = max(_KEPT, 2 * len(self._roots))


def _namespace(tid: int) -> int:
    return os.stat(f"/proc/{tid}/ns/cgroup").st_ino
