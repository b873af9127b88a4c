"""bpf(2) for device programs of cgroups: its arguments and descriptors (kernel/bpf/syscall.c).

The rules are in `fakecgroup.outside.device_programs`. The root of a user namespace may load no program. So a memory
file stands in for each: its name has the program's id.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from errno import EBADF, EINVAL, ENOENT, ENOSPC
from struct import Struct, unpack_from

from fakecgroup.core.cgroup import Cgroup
from fakecgroup.credentials.capability import Capability
from fakecgroup.outside.device_programs import ALLOW_MULTI, REPLACE, DevicePrograms, check_flags, check_size
from fakecgroup.refuse import refuse
from fakecgroup_mount.calls.mounted_tree import MountedTree
from fakecgroup_mount.calls.path_lookup import fd_path
from fakecgroup_mount.seccomp.listener import CONTINUE, Answer, Call, Descriptor
from fakecgroup_mount.seccomp.process import credentials
from fakecgroup_mount.seccomp.user_namespaces import namespace_of

_PROG_LOAD, _ATTACH, _DETACH, _GET_FD_BY_ID, _GET_INFO, _QUERY = 5, 8, 9, 13, 15, 16  # enum bpf_cmd
_OF_DEVICES = 15  # BPF_PROG_TYPE_CGROUP_DEVICE
_DEVICE = 6  # BPF_CGROUP_DEVICE, of enum bpf_attach_type
_OTHERS = frozenset((0, 1, 2, 3, *range(8, 16), *range(18, 23), *range(29, 33), 34))  # other types for cgroups
_EFFECTIVE = 1  # BPF_F_QUERY_EFFECTIVE
_ATTRIBUTES = 144  # bytes of union bpf_attr that are read
_LOADED = Struct("=IIQ")  # prog_type insn_cnt insns
_ATTACHED = Struct("=IIIII")  # target_fd attach_bpf_fd attach_type attach_flags replace_bpf_fd
_QUERIED = Struct("=IIIIQI")  # target_fd attach_type query_flags attach_flags prog_ids prog_cnt
_INFO = Struct("=IIQ")  # bpf_fd info_len info
_INSTRUCTION = 8  # bytes
_EXIT = 0x95
_NAME = re.compile(r"/memfd:bpf-prog-([0-9]+) ")
_SHOWN = 232  # bytes of a struct bpf_prog_info


class BpfCall:
    """Answers callers with CAP_SYS_ADMIN in the sandbox's user namespace, that of process `first`.

    The kernel itself refuses the others.
    """

    def __init__(self, tree: MountedTree, first: int) -> None:
        self._tree = tree
        self._namespace = namespace_of(first)
        self._lock = threading.Lock()  # not the tree's, as the mount is asked under it
        self._programs = DevicePrograms()
        self._commands: dict[int, Callable[[Call, bytes], Answer]] = {
            _PROG_LOAD: self._load,
            _ATTACH: self._attach,
            _DETACH: self._detach,
            _GET_FD_BY_ID: self._by_id,
            _GET_INFO: self._info,
            _QUERY: self._query,
        }

    def bpf(self, call: Call) -> Answer:
        """Raises what the kernel's own checks do, in their order."""
        number, address, size = call.arguments[:3]
        command = self._commands.get(number)
        if command is None:
            return CONTINUE
        attributes = call.memory.read(call.tid, address, min(size, _ATTRIBUTES)).ljust(_ATTRIBUTES, b"\0")
        if not (number == _GET_INFO or self._may(call.tid)) or not call.waits():
            return CONTINUE
        with self._lock:
            return command(call, attributes)

    def _may(self, tid: int) -> bool:
        own = namespace_of(tid) == self._namespace
        return own and bool(credentials(tid).capabilities & Capability.SYS_ADMIN)

    def _load(self, call: Call, attributes: bytes) -> Answer:
        """BPF_PROG_LOAD. Checks the number of instructions and that the last one is an exit; there is no verifier."""
        kind, instructions, address = _LOADED.unpack_from(attributes)
        if kind != _OF_DEVICES:
            return CONTINUE
        check_size(instructions)
        last = call.memory.read(call.tid, address + (instructions - 1) * _INSTRUCTION, 1)
        if last[0] != _EXIT:
            raise refuse(EINVAL)
        return _stand_in(self._programs.load())

    def _attach(self, call: Call, attributes: bytes) -> Answer:
        """BPF_PROG_ATTACH (cgroup_bpf_prog_attach)."""
        target, fd, kind, flags, replaced_fd = _ATTACHED.unpack_from(attributes)
        if kind in _OTHERS and self._is_ours(call.tid, fd):
            raise refuse(EINVAL)
        if kind != _DEVICE:
            return CONTINUE
        check_flags(flags)
        program = _program(call.tid, fd)
        cgroup = self._cgroup(call.tid, target)
        replaces = flags & ALLOW_MULTI and flags & REPLACE
        self._programs.attach(cgroup, program, flags, _program(call.tid, replaced_fd) if replaces else None)
        return 0

    def _detach(self, call: Call, attributes: bytes) -> Answer:
        """BPF_PROG_DETACH (cgroup_bpf_prog_detach)."""
        target, fd, kind, _, _ = _ATTACHED.unpack_from(attributes)
        if kind != _DEVICE:
            if kind not in _OTHERS:
                return CONTINUE
            self._cgroup(call.tid, target)
            raise refuse(ENOENT)
        cgroup = self._cgroup(call.tid, target)
        try:
            program = _program(call.tid, fd)
        except OSError:
            program = None
        self._programs.detach(cgroup, program)
        return 0

    def _query(self, call: Call, attributes: bytes) -> Answer:
        """BPF_PROG_QUERY (cgroup_bpf_prog_query)."""
        target, kind, wanted, _, ids, room = _QUERIED.unpack_from(attributes)
        if kind != _DEVICE and kind not in _OTHERS:
            return CONTINUE
        if wanted & ~_EFFECTIVE:
            raise refuse(EINVAL)
        cgroup = self._cgroup(call.tid, target)
        found: list[int] = []
        flags = 0
        if kind == _DEVICE and wanted & _EFFECTIVE:
            found = self._programs.effective(cgroup)
        elif kind == _DEVICE:
            found, flags = self._programs.attached(cgroup)
        address = call.arguments[1]
        call.memory.write(call.tid, address + 12, flags.to_bytes(4, "little"))
        call.memory.write(call.tid, address + 24, len(found).to_bytes(4, "little"))
        if not (room and ids and found):
            return 0
        call.memory.write(call.tid, ids, b"".join(program.to_bytes(4, "little") for program in found[:room]))
        return -ENOSPC if room < len(found) else 0

    def _by_id(self, call: Call, attributes: bytes) -> Answer:
        """BPF_PROG_GET_FD_BY_ID."""
        (program,) = unpack_from("=I", attributes)
        self._programs.require(program)
        return _stand_in(program)

    def _info(self, call: Call, attributes: bytes) -> Answer:
        """BPF_OBJ_GET_INFO_BY_FD: the type and the id, the rest is 0."""
        fd, size, address = _INFO.unpack_from(attributes)
        if not self._is_ours(call.tid, fd):
            return CONTINUE
        size = min(size, _SHOWN)
        shown = _OF_DEVICES.to_bytes(4, "little") + _program(call.tid, fd).to_bytes(4, "little") + bytes(_SHOWN)
        call.memory.write(call.tid, address, shown[:size])
        call.memory.write(call.tid, call.arguments[1] + 4, size.to_bytes(4, "little"))
        return 0

    def _is_ours(self, tid: int, fd: int) -> bool:
        try:
            return _program(tid, fd) != 0
        except OSError:
            return False

    def _cgroup(self, tid: int, fd: int) -> Cgroup:
        """The cgroup of a descriptor.

        Raises EBADF for anything but a directory of the unified hierarchy, ENOENT for a cgroup that was removed.
        """
        try:
            found = self._tree.inode(fd_path(tid, fd))
        except OSError:
            found = None
        if not isinstance(found, Cgroup) or not found.hierarchy.dfl:
            raise refuse(EBADF)
        if found.dead:
            raise refuse(ENOENT)
        return found


def _stand_in(program: int) -> Descriptor:
    return Descriptor(os.memfd_create(f"bpf-prog-{program}", os.MFD_CLOEXEC), os.O_CLOEXEC)


def _program(tid: int, fd: int) -> int:
    """The id of the program that a descriptor stands for (bpf_prog_get).

    Raises EBADF for no descriptor, EINVAL for one of another file.
    """
    try:
        found = _NAME.match(os.readlink(fd_path(tid, fd)))
    except OSError:
        raise refuse(EBADF) from None
    if found is None:
        raise refuse(EINVAL)
    return int(found[1])
