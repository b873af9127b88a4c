"""The part of an open file that rows use (kernel/cgroup/cgroup-internal.h, struct cgroup_file_ctx)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..credentials.caller import Caller
    from ..effects.pressure_trigger import PressureTrigger
    from ..kernfs.inode import Directory
    from ..tasks.task_iterator import TaskIterator
    from .cgroup_file import CgroupFile


class FileContext:
    """The credentials on an open interface file, and the state that its rows keep per open file."""

    __slots__ = ("__weakref__", "namespace", "opener", "peak", "pidlist", "position", "reader", "tasks", "trigger")

    opener: Caller
    reader: Caller  # of the read under way
    namespace: Directory | None  # root of the opener's cgroup namespace; None: the initial one, or it does not matter
    peak: object  # memory.peak: the maximum since this file was written to; None: never written
    trigger: PressureTrigger | None  # *.pressure
    pidlist: bool  # v1's cgroup.procs and tasks: this file has listed pids before
    position: int  # the same: the list goes on at this pid
    tasks: TaskIterator | None  # v2's cgroup.procs and cgroup.threads: where the list goes on; None: at its beginning

    @property
    def file(self) -> CgroupFile:
        """The file that is open."""
        raise NotImplementedError

    def set_trigger(self, trigger: PressureTrigger) -> None:
        """Set a pressure trigger on this file."""
        self.trigger = trigger
