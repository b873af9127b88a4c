"""What is asked of a mounted tree beyond answering. `additions` does it."""

from __future__ import annotations

from fakecgroup.named_tuple import NamedTuple
from fakecgroup_mount.fault_options import NO_FAULTS, FaultOptions
from fakecgroup_mount.record.options import TraceFile
from fakecgroup_mount.workload_options import NO_WORKLOAD, WorkloadOptions


class Additions(NamedTuple):
    """`enforce` are controllers whose limits act on real processes."""

    workload: WorkloadOptions = NO_WORKLOAD
    enforce: frozenset[str] = frozenset()
    faults: FaultOptions = NO_FAULTS
    trace: TraceFile | None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Those that the daemon needs."""
        return () if self.trace is None else (self.trace.fd,)


NO_ADDITIONS = Additions()
