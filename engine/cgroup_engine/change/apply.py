"""Executes a plan, and reads every write back.

Limits that systemd sets are read back from the same files. systemd writes them after its answer, so the read waits for
them a little.

If a step fails, the steps that depend on it are skipped and all others are done. Every failure is reported with path,
value and errno.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from errno import EACCES, EBUSY, EEXIST, EINVAL, ELOOP, ENODEV, ENOENT, ENOMEM, EPERM, EROFS, ESRCH
from typing import TYPE_CHECKING

from cgroup_engine.errors import StepFailedError, SystemdError, errno_name, quoted
from cgroup_engine.plan.step import Plan, Step
from cgroup_engine.plan.systemd.unit_step import UnitStep, with_file
from cgroup_engine.tree.fs import CgroupFs, many_calls
from cgroup_engine.tree.layout import Layout

if TYPE_CHECKING:  # it imports the D-Bus library, which only the systemd driver needs
    from cgroup_engine.change.systemd.bus import Systemd


#: Seconds that systemd has to change the tree after a call.
_PATIENCE = 2.0
_ADVICE = {
    EACCES: "run as root or as the owner of the cgroup",
    EPERM: "run as root or as the owner of the cgroup",
    EROFS: "mount the cgroup tree read-write",
    EBUSY: "processes or child cgroups are in the way; a memory limit may be below what is in use",
    ENOMEM: "a memory limit above is too small for the kernel's own data of another cgroup",
    EEXIST: "something that is no cgroup has this name",
    ELOOP: "no link below the root is followed; remove it",
    ENOENT: "the cgroup or its controller is not there; something else may have removed it",
}


@dataclass
class Outcome:
    """The outcome of a plan: steps done, failures, the step of each failure (``refused``), and steps skipped."""

    done: list[Step] = field(default_factory=list)
    failed: list[StepFailedError] = field(default_factory=list)
    refused: list[Step] = field(default_factory=list)
    skipped: list[Step] = field(default_factory=list)


def execute(
    plan: Plan,
    fs: CgroupFs,
    tell: Callable[[Step], None] = lambda step: None,
    systemd: Systemd | None = None,
    *,
    held: Callable[[Step], bool] = lambda step: False,
    ending: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Takes every step of a plan in order, and calls ``tell`` after each that was done.

    ``systemd``: for plans with calls to it. ``held``: True for a step to skip as if it had failed. ``ending``: asked
    before each step; True stops there.
    """
    outcome = Outcome()
    failed: list[Step] = []
    with many_calls(fs):
        for step in plan.steps:
            if ending():
                break
            if failed and any(_depends(step, other) for other in failed):
                outcome.skipped.append(step)
                if "cpus" in _fields(step):
                    failed.append(step)  # cgroups below do not get its CPUs either
                continue
            if held(step):
                failed.append(step)
                outcome.skipped.append(step)
                continue
            try:
                if isinstance(step, UnitStep):
                    assert systemd is not None
                    step = _call_or_retry(step, systemd, fs, plan.layout)
                else:
                    step = _take_or_retry(step, fs)
            except StepFailedError as failure:
                failed.append(step)
                outcome.refused.append(step)
                outcome.failed.append(failure)
            else:
                outcome.done.append(step)
                tell(step)
    return outcome


def _take_or_retry(step: Step, fs: CgroupFs) -> Step:
    """Takes a step, or the one that a kubelet takes if the kernel refuses it; returns the step that was taken.

    A memory limit below the usage is replaced by the usage, which keeps it from growing
    (``pkg/kubelet/cm/qos_container_manager_linux.go``, retrySetMemoryReserve).
    """
    try:
        _take(step, fs)
        return step
    except StepFailedError as refused:
        instead = _limited_to_usage(step, fs) if refused.errno is not None else None
        if instead is None:
            raise
        _take(instead, fs)
        return instead


def _call_or_retry(step: UnitStep, systemd: Systemd, fs: CgroupFs, layout: Layout) -> UnitStep:
    """As ``_take_or_retry``. systemd does not report that v1 refused a limit, but the file shows it."""
    try:
        _call(step, systemd, fs, layout)
        return step
    except StepFailedError as failed:
        file = next((file for file in step.files if file.path == failed.path and layout.version == 1), None)
        instead = _limited_to_usage(file, fs) if file is not None else None
        if file is None or instead is None:
            raise
        call = with_file(step, file, instead, systemd.version, layout)
        _call(call, systemd, fs, layout)
        return call


def _limited_to_usage(step: Step, fs: CgroupFs) -> Step | None:
    """The step with the memory in use as the limit; None if the limit is not below the usage."""
    if not step.usage or not step.text.isdecimal():
        return None
    try:
        usage = int(fs.read(step.usage))
    except (OSError, ValueError):
        return None
    if usage <= int(step.text):
        return None
    return replace(step, text=str(usage), why=f"{step.why}; more is in use, which is the limit now")


def _take(step: Step, fs: CgroupFs) -> None:
    try:
        if step.action == "mkdir":
            fs.mkdir(step.path)
            return
        if step.action == "rmdir":
            fs.rmdir(step.path)
            return
        found = fs.write_and_read(step.path, step.text).strip()
    except OSError as refused:
        number = refused.errno or 0
        if step.action == "mkdir" and number == EEXIST and fs.is_dir(step.path):
            return  # someone was faster; a link or a file of that name is an error
        if number == ESRCH and step.file == "cgroup.procs":
            return  # the process has ended
        if step.action == "rmdir" and number in (ENOENT, ENODEV):
            return  # someone was faster; ENODEV while the removal is under way (kernfs_iop_rmdir)
        what = f"write {quoted(step.text)}" if step.action == "write" else step.action
        raise StepFailedError(
            f"{step.path}: {what} failed: {errno_name(number)} ({_meaning(refused)})",
            path=step.path,
            value=step.text or None,
            errno=number,
            todo=step.obstacle or _todo(step, number),
        ) from None
    if not _shows_wanted(step, found):
        raise StepFailedError(
            f"{step.path}: wrote {quoted(step.text)} and read back {quoted(found)}",
            path=step.path,
            value=step.text,
            todo="something else writes there, or this kernel bounds the value",
        )


def _call(step: UnitStep, systemd: Systemd, fs: CgroupFs, layout: Layout) -> None:
    try:
        if step.action == "start":
            systemd.start(step.path, step.properties)
        elif step.action == "set":
            systemd.set_properties(step.path, step.properties)
        else:
            systemd.stop(step.path)
    except SystemdError as refused:
        raise StepFailedError(
            f"{step.path}: {step.action} failed: {refused.message}",
            path=step.path,
            value=step.text or None,
            todo=refused.todo,
        ) from None
    deadline = time.monotonic() + _PATIENCE
    for file in step.files:
        if not file.text.strip():
            # without a list of CPUs systemd does not write the file, unless it disables the controller
            with suppress(OSError):
                fs.write(file.path, file.text)
        found = _awaited(file, fs, deadline)
        if found is None:
            raise StepFailedError(
                f"{file.path}: is not there after the {step.action} of {step.path}",
                path=file.path,
                value=file.text,
                todo="has systemd the controller, and the same cgroup root?",
            )
        if not _shows_wanted(file, found):
            raise StepFailedError(
                f"{file.path}: shows {quoted(found)} after {step.path} was given {step.text}",
                path=file.path,
                value=file.text,
                todo="systemctl status and the journal may say why",
            )
    for hierarchy in step.hierarchies:
        directory = layout.directory(hierarchy, step.cgroup)
        while fs.is_dir(directory):
            if time.monotonic() > deadline:
                raise StepFailedError(
                    f"{directory}: is still there after the stop of {step.path}", path=directory, todo=_ADVICE[EBUSY]
                )
            time.sleep(0.01)


def _awaited(file: Step, fs: CgroupFs, deadline: float) -> str | None:
    """The text of a file once it is as wanted, or at the deadline; None if there is no file."""
    while True:
        try:
            found: str | None = fs.read(file.path).strip()
        except OSError:
            # with a unit's last list of CPUs systemd disables the controller
            found = None if file.text.strip() else ""
        if (found is not None and _shows_wanted(file, found)) or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


def _shows_wanted(step: Step, found: str) -> bool:
    if step.knob is not None:
        if found == step.text:
            return True
        try:
            return step.knob.same(step.text, found, step.file)
        except ValueError:
            return False
    on = set(found.split())
    return all((word[1:] in on) == (word[0] == "+") for word in step.text.split())


def _depends(step: Step, failed: Step) -> bool:
    """Would a step be pointless or illegal after another one failed?"""
    below = step.cgroup.startswith(failed.cgroup + "/")
    above = failed.cgroup.startswith(step.cgroup + "/")
    if failed.action == "mkdir":
        return step.path.startswith(failed.path + "/") or (isinstance(step, UnitStep) and below)
    if failed.action == "start":
        return below or step.cgroup == failed.cgroup
    if failed.action in ("rmdir", "stop"):
        disables = step.file == "cgroup.subtree_control" and step.text.startswith("-")
        if isinstance(step, UnitStep) or isinstance(failed, UnitStep):
            return disables or above
        return disables or (step.action == "rmdir" and failed.path.startswith(step.path + "/"))
    if failed.knob is None and failed.action == "write":  # cgroup.subtree_control: the children have no files
        return step.action == "write" and (below or failed.cgroup == "") and step.cgroup != failed.cgroup
    if not _fields(step) & _fields(failed):
        return False
    if step.cgroup == failed.cgroup or (step.obstacle and step.obstacle == failed.obstacle):
        return True  # quota and period belong together, and one obstacle stops all writes that name it
    if step.during == "make":
        return (below and failed.during == "make") or (above and "cpus" in _fields(step))
    return above


def _fields(step: Step) -> set[str]:
    """The fields of the knobs that a step sets."""
    writes = step.files if isinstance(step, UnitStep) else (step,)
    return {write.knob.field for write in writes if write.knob is not None}


def _todo(step: Step, number: int) -> str:
    if number == EINVAL and step.knob is not None and step.knob.field == "quota":
        return (
            "v1 allows no quota over the parent's or below a child's, and no kernel one below the burst "
            "(cpu.cfs_burst_us, cpu.max.burst); status shows who differs"
        )
    if number == EINVAL and step.knob is not None and step.knob.field == "shares":
        return "with cpu.idle 1 it takes no other value: write 0 there"
    if step.file == "cpuset.cpus" and number == EBUSY:
        return "a child has CPUs that are to go, which v1 allows never, and v2 not before 6.1; take them from it first"
    if number == EBUSY and step.file == "cgroup.subtree_control":
        return "processes live in this cgroup itself; move them into a child first"
    if number == EPERM and step.file in ("cgroup.subtree_control", "cgroup.procs"):
        # cpuset_can_attach asks security_task_setscheduler
        return "root needs CAP_SYS_NICE too where processes come into another cpuset"
    return _ADVICE.get(number, "")


def _meaning(refused: OSError) -> str:
    if refused.errno == ELOOP and refused.filename is not None:
        return f"{quoted(refused.filename)} is a symbolic link"
    return (refused.strerror or "refused").lower()
