"""Executes a plan, the only place that changes anything, and reads every write back.

A failed step does not stop the others: what depends on it is not attempted, the rest is done, and every failure is
reported with path, value and errno.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from errno import EACCES, EBUSY, EEXIST, EINVAL, ENOENT, ENOMEM, EPERM, EROFS, ESRCH

from engine.errors import StepFailedError, errno_name, shown
from engine.fs import CgroupFs
from engine.plan import Plan, Step

_ADVICE = {
    EACCES: "run as root or as the owner of the cgroup",
    EPERM: "run as root or as the owner of the cgroup",
    EROFS: "mount the cgroup tree read-write",
    EBUSY: "processes or child cgroups are in the way; a memory limit may be below what is in use",
    ENOMEM: "a memory limit above is too small for the kernel's own data of another cgroup",
    EEXIST: "something that is no cgroup has this name",
    ENOENT: "the cgroup or its controller is not there; something else may have removed it",
}


@dataclass
class Outcome:
    """What came of a plan: steps done, failures, and steps not attempted because of one."""

    done: list[Step] = field(default_factory=list)
    failed: list[StepFailedError] = field(default_factory=list)
    skipped: list[Step] = field(default_factory=list)


def execute(plan: Plan, fs: CgroupFs, tell: Callable[[Step], None] = lambda step: None) -> Outcome:
    """Takes every step of a plan in order; ``tell`` is called after each that was done."""
    outcome = Outcome()
    failed: list[Step] = []
    for step in plan.steps:
        if any(_depends(step, other) for other in failed):
            outcome.skipped.append(step)
            continue
        try:
            step = _take_or_retry(step, fs)
        except StepFailedError as failure:
            failed.append(step)
            outcome.failed.append(failure)
        else:
            outcome.done.append(step)
            tell(step)
    return outcome


def _take_or_retry(step: Step, fs: CgroupFs) -> Step:
    """Takes a step, or the one that a kubelet takes instead if the kernel refuses it; says which it was.

    A memory limit below what is in use is replaced by what is in use, which keeps it from growing
    (``pkg/kubelet/cm/qos_container_manager_linux.go``, retrySetMemoryReserve).
    """
    try:
        _take(step, fs)
        return step
    except StepFailedError as refused:
        if not step.usage or refused.errno is None:
            raise
        try:
            usage = int(fs.read(step.usage))
        except (OSError, ValueError):
            raise refused from None
        if usage <= int(step.text):
            raise
        why = f"{step.why}; more is in use, which is the limit now"
        instead = replace(step, text=str(usage), why=why)
        _take(instead, fs)
        return instead


def _take(step: Step, fs: CgroupFs) -> None:
    try:
        if step.action == "mkdir":
            fs.mkdir(step.path)
            return
        if step.action == "rmdir":
            fs.rmdir(step.path)
            return
        fs.write(step.path, step.text)
        found = fs.read(step.path).strip()
    except OSError as refused:
        number = refused.errno or 0
        if step.action == "mkdir" and number == EEXIST and fs.is_dir(step.path):
            return  # someone was faster; a link or a file of that name is another matter
        if number == ESRCH and step.file == "cgroup.procs":
            return  # the process has ended meanwhile
        what = f"write {shown(step.text)}" if step.action == "write" else step.action
        raise StepFailedError(
            f"{step.path}: {what} failed: {errno_name(number)} ({_meaning(refused)})",
            path=step.path,
            value=step.text or None,
            errno=number,
            todo=_todo(step, number),
        ) from None
    if not _kept(step, found):
        raise StepFailedError(
            f"{step.path}: wrote {shown(step.text)} and read back {shown(found)}",
            path=step.path,
            value=step.text,
            todo="something else writes there, or this kernel bounds the value",
        )


def _kept(step: Step, found: str) -> bool:
    if step.knob is not None:
        try:
            return step.knob.same(step.text, found, step.file)
        except ValueError:
            return False
    on = set(found.split())
    return all((word[1:] in on) == (word[0] == "+") for word in step.text.split())


def _depends(step: Step, failed: Step) -> bool:
    """Is a step pointless or illegal after another one failed?"""
    if failed.action == "mkdir":
        return step.path.startswith(failed.path + "/")
    if failed.action == "rmdir":
        disables = step.file == "cgroup.subtree_control" and step.text.startswith("-")
        return disables or (step.action == "rmdir" and failed.path.startswith(step.path + "/"))
    if failed.knob is None:  # cgroup.subtree_control: the children have no files
        prefix = failed.cgroup + "/" if failed.cgroup else ""
        return step.action == "write" and step.cgroup != failed.cgroup and step.cgroup.startswith(prefix)
    if step.knob is None or step.knob.field != failed.knob.field or step.during != failed.during:
        return False
    if step.cgroup == failed.cgroup:
        return True  # quota and period belong together
    if step.during == "make":
        return step.cgroup.startswith(failed.cgroup + "/")
    return failed.cgroup.startswith(step.cgroup + "/")


def _todo(step: Step, number: int) -> str:
    if number == EINVAL and step.knob is not None and step.knob.field == "quota":
        return "the kernel allows no quota over the parent's or below a child's; status shows who differs"
    if number == EBUSY and step.file == "cgroup.subtree_control":
        return "processes live in this cgroup itself; move them into a child first"
    return _ADVICE.get(number, "")


def _meaning(refused: OSError) -> str:
    return (refused.strerror or "refused").lower()
