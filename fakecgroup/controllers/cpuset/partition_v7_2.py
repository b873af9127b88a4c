"""Partitions from 7.0 on: a partition gets the CPUs that no sibling holds. Overlapping cpuset.cpus do no harm."""

from __future__ import annotations

from .exclusive import claimed, granted, without_siblings
from .partition_v6_12 import NO_CPUS, ExclusivePartitions
from .state import MEMBER, CpusetState, trial_of
from .validate import validate_change


class UnclaimedPartitions(ExclusivePartitions):
    """The rules of 7.0 and 7.2."""

    taken_by_others = NO_CPUS

    def set_cpus(self, css: CpusetState, cpus: int) -> None:
        """Set cpuset.cpus (update_cpumask). Raises what `validate_change` does."""
        trial = trial_of(css)
        trial.cpus = cpus
        self._claim(css, trial)
        validate_change(css, trial)
        old, grant = css.partition, css.exclusive_effective
        self._change_partition(css, trial)
        self._adopt(css, trial, old)
        self._update_tree(css, force=grant != trial.exclusive_effective)
        self._finish(css, old)

    def _claim(self, css: CpusetState, trial: CpusetState) -> bool:
        claim = trial.exclusive if css.partition == MEMBER else claimed(trial)
        trial.exclusive_effective, conflict = without_siblings(css, claim & css.above.exclusive_effective)
        return conflict

    def _usable(self, css: CpusetState, cpus: int) -> int:
        return cpus & css.online_cpus

    def _seem_other_nodes(self, css: CpusetState) -> bool:
        return False

    def _held(self, css: CpusetState) -> int:
        return css.exclusive_effective

    def _concerned(self, child: CpusetState) -> bool:
        return not child.partition.valid and super()._concerned(child)

    def _shared(self, css: CpusetState) -> int:
        return css.cpus & css.above.effective_cpus or css.above.effective_cpus

    def _update_exclusive(self, css: CpusetState, changed: bool) -> None:
        if css.partition.valid or css.exclusive:
            css.exclusive_effective = granted(css)
        if not css.partition.valid:
            self._reset(css)
