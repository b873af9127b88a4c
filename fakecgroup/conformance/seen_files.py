"""What a kernel's answers show of it: its controllers, its interface files, its build options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fakecgroup.conformance.recording import Recording
from fakecgroup.controllers import CONTROLLERS
from fakecgroup.machine.personality import SeenFiles

_MAKING = ("mkdir", "rename", "symlink", "clone_into")
_NO_CONTROLLERS = ("systemd", "unified")
_FILES_OF_V1 = ("tasks", "notify_on_release", "release_agent")
#: Directories of a machine in use, which are no files of a cgroup.
_UNITS = (".slice", ".scope", ".service", ".mount", ".socket", ".swap")
#: CONFIG_NR_CPUS decides how long a text cpuset.cpus of v1 takes; these two are known.
_FEW_CPUS, _MANY_CPUS = "NR_CPUS_256", "NR_CPUS_8192"
#: Of observed options, those that have to do with cgroups.
_ABOUT_CGROUPS = ("CGROUP", "MEMCG", "CPUSETS", "GROUP_", "_GROUP", "PSI", "ZSWAP", "HUGETLB", "SWAP", "CFS_BANDWIDTH",
                  "RT_GROUP", "UCLAMP", "BLK_")  # fmt: skip


def seen_files(answered: Iterable[Recording], *, dfl: bool) -> SeenFiles | None:
    """What the unified hierarchy has (`dfl`), or all v1 hierarchies together. None if it was not asked."""
    controllers: set[str] = set()
    root: set[str] = set()
    child: set[str] = set()
    listed: set[bool] = set()  # a root (True), another cgroup: what is known of some files is no list of them
    for recorded in answered:
        for path, names in _lists(recorded):
            parts = path.split("/")
            if ".." in parts:
                continue
            on_dfl = recorded.layout == "v2" or parts[0] == "unified"
            if on_dfl is not dfl:
                continue
            if parts[-1] == "cgroup.controllers":
                controllers.update(names)
            elif path == "." and not dfl:
                controllers.update(name for name in names if name not in _NO_CONTROLLERS and "," not in name)
            else:
                at_root = path in (".", "unified") if dfl else len(parts) == 1
                listed |= {at_root} if len(names) > 1 else set()
                (root if at_root else child).update(filter(_is_file, names))
                if not dfl:
                    controllers.update(name for name in parts[0].split(",") if name not in _NO_CONTROLLERS)
    if not (controllers or root or child):
        return None
    return SeenFiles(
        frozenset(controllers),
        frozenset(root) if True in listed else None,
        frozenset(child) if False in listed else None,
    )


def _lists(recorded: Recording) -> Iterator[tuple[str, list[str]]]:
    """Each path that was listed with the names there, but those that the case has made; the directory of each file that
    was found with its name; each cgroup.controllers with the names in it."""
    for one in recorded.cases:
        made = {str(path).rpartition("/")[2] for op in one.case.ops if op[0] in _MAKING for path in op[1:3]}
        for op, (error, value) in zip(one.case.ops, one.answers, strict=False):
            if error is not None or op[0] not in ("listdir", "read", "stat"):
                continue
            path = str(op[1]).removeprefix("./").rstrip("/")
            directory, _, name = path.rpartition("/")
            if op[0] == "listdir" and isinstance(value, (list, tuple)):
                yield path, [name for name in value if name not in made]
            elif name == "cgroup.controllers" and isinstance(value, str):
                yield path, value.split()
            elif _is_file(name) and name not in made and "," not in name and not _is_directory(value):
                yield directory or ".", [name]


def _is_directory(value: object) -> bool:
    return isinstance(value, dict) and value.get("type") == "dir"


def _is_file(name: str) -> bool:
    return name in _FILES_OF_V1 or ("." in name.strip(".") and not name.endswith(_UNITS))


def observed_options(text: str) -> frozenset[str]:
    """The options of a kernel's configuration (`/proc/config.gz`, `/boot/config-RELEASE`) that have to do with cgroups
    and are y or m, without CONFIG_."""
    found = set()
    for line in text.splitlines():
        name, equals, value = line.removeprefix("CONFIG_").partition("=")
        if not line.startswith("CONFIG_") or not equals:
            continue
        if name == "NR_CPUS" and value.isdecimal():
            found.add(_FEW_CPUS if int(value) <= 256 else _MANY_CPUS)
        if value in ("y", "m") and any(part in name for part in _ABOUT_CGROUPS):
            found.add(name)
    return frozenset(found)


def options(observed: frozenset[str], sides: Sequence[tuple[bool, SeenFiles | None]]) -> frozenset[str]:
    """The options that are y: what controllers and files show; of what they do not show, what was `observed`."""
    shown: dict[str, bool] = {}
    for dfl, seen in sides:
        if seen is None:
            continue
        names = (seen.root or frozenset()) | (seen.child or frozenset())
        for controller in CONTROLLERS:
            on_side = controller.name if dfl else controller.legacy_name or controller.name
            there = on_side in seen.controllers
            rows = controller.dfl_rows if dfl else controller.legacy_rows
            if dfl and not rows:
                continue
            for option in (controller.config, None if dfl else controller.legacy_config):
                if option is not None:
                    shown[option] = shown.get(option, False) or there
            for row in rows:
                if row.config is not None and row.config not in (_FEW_CPUS, _MANY_CPUS):
                    shown[row.config] = shown.get(row.config, False) or row.name in names
    found = {option for option in observed if shown.get(option, True)}
    found |= {option for option, there in shown.items() if there}
    if not found & {_FEW_CPUS, _MANY_CPUS}:
        found.add(_MANY_CPUS)
    return frozenset(found)
