"""Every error of this package, as one tree.

::

    EngineError                     every error of this package; str() is one line
    ├── InputError                  the user's input cannot be used; the root was not touched
    │   ├── QuantityError           a text is not a resource quantity
    │   ├── PodError                a pod file, or a pod in it, cannot be used
    │   ├── NodeError               a Node object cannot be used
    │   ├── ConfigError             the kubelet configuration, or a node option, cannot be used
    │   │   └── ConfigRefusedError  a kubelet does not start with it
    │   └── UnsafeNameError         a name must not become a directory (pod UID, container id, cgroup root)
    ├── ResizeRefusedError          an API server or a kubelet would refuse to resize a pod in place
    ├── ApiServerError              an API server cannot be reached, refuses, or its answer cannot be used
    ├── RootError                   the cgroup root is no cgroup tree, is read-only, or lacks a controller
    ├── ReservedCgroupMissingError  kubeReservedCgroup or systemReservedCgroup is enforced but does not exist
    ├── CgroupMissingError          a cgroup is not in every hierarchy, or lacks a controller
    ├── BusyCgroupError             a cgroup cannot be removed: it has processes, or a cgroup of someone else
    ├── LockedError                 another engine is changing the same kubepods
    ├── NotOursError                no record says that this engine made the kubepods there
    ├── RecordError                 the state directory, or the record in it, cannot be used
    ├── SystemdError                systemd cannot be reached over D-Bus, or refused a call
    └── StepFailedError             the kernel or systemd refused one step of a plan, or kept another value

Each carries ``path`` (file or cgroup, or None), ``value`` (what was given or written, or None), ``errno`` (the
kernel's number, or an API server's HTTP status, or None) and ``todo`` (what to do about it, or "").
"""

from __future__ import annotations

import errno as errno_names


def errno_name(number: int) -> str:
    """``EINVAL`` for 22; ``errno 12345`` for a number without a name."""
    return errno_names.errorcode.get(number, f"errno {number}")


def quoted(value: object, limit: int = 80) -> str:
    """An untrusted value in quotes, for a message: control characters escaped, cut after ``limit`` characters."""
    if isinstance(value, (list, dict, set, tuple)):
        return f"a {'mapping' if isinstance(value, dict) else 'list'}"  # its text can be exponentially long
    text = value if isinstance(value, str) else str(value)
    cut = text if len(text) <= limit else text[:limit] + "…"
    return f'"{cut}"' if cut.isprintable() else f'"{cut.encode("unicode_escape").decode("ascii")}"'


class EngineError(Exception):
    """An error of this package; the module's docstring names the attributes."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        value: str | None = None,
        errno: int | None = None,
        todo: str = "",
    ) -> None:
        self.message = message
        self.path = path
        self.value = value
        self.errno = errno
        self.todo = todo
        super().__init__(message)

    def __str__(self) -> str:
        return f"{self.message}; {self.todo}" if self.todo else self.message


class InputError(EngineError):
    """The user's input cannot be used."""


class QuantityError(InputError):
    """A text is not a resource quantity."""


class PodError(InputError):
    """A pod file, or a pod in it, cannot be used."""


class NodeError(InputError):
    """See the module's docstring."""


class ConfigError(InputError):
    """The kubelet configuration or a node option cannot be used."""


class ConfigRefusedError(ConfigError):
    """A kubelet does not start with the configuration."""


class UnsafeNameError(InputError):
    """A name must not become a directory."""


class ResizeRefusedError(EngineError):
    """An API server or a kubelet would refuse to resize a pod in place."""


class ApiServerError(EngineError):
    """An API server cannot be used.

    ``retry_after``: seconds it asks clients to wait. ``token``: continues a list that has become too old.
    """

    retry_after = 0.0
    token = ""


class RootError(EngineError):
    """The cgroup root cannot be used."""


class ReservedCgroupMissingError(EngineError):
    """A reserved cgroup that the configuration enforces does not exist."""


class CgroupMissingError(EngineError):
    """A cgroup does not exist, is not in every hierarchy, or lacks a controller."""


class BusyCgroupError(EngineError):
    """A cgroup cannot be removed: processes live in it, or it holds a cgroup of someone else."""


class LockedError(EngineError):
    """Another engine is changing the same kubepods."""


class NotOursError(EngineError):
    """No record says that the kubepods there was made by this engine."""


class RecordError(EngineError):
    """The state directory, or the record in it, cannot be used."""


class SystemdError(EngineError):
    """systemd cannot be reached, or refused a call; ``value`` is the D-Bus name of the error, if it has one."""


class StepFailedError(EngineError):
    """The kernel or systemd refused a step of a plan, or kept another value."""
