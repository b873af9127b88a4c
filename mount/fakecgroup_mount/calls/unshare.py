"""unshare(2) with CLONE_NEWCGROUP: the new cgroup namespace has its root where the thread is in the tree."""

from __future__ import annotations

from fakecgroup_mount.calls.cgroup_namespaces import CgroupNamespaces
from fakecgroup_mount.seccomp.listener import Answer, Call, Continue


class UnshareCall:
    """The kernel makes its own namespace; `namespaces` notes the root of the tree's."""

    def __init__(self, namespaces: CgroupNamespaces) -> None:
        self._namespaces = namespaces

    def unshare(self, call: Call) -> Answer:
        """Lets the kernel go on. Raises OSError: no such thread."""
        return Continue(self._namespaces.expect(call, for_child=False))
