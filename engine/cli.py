"""The command line: ``cgroup-engine plan | apply | status | explain | down``.

Exit codes: 0 done, 1 it failed (one line per failure on stderr), 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from engine import kubelet_version
from engine.apply import Outcome, execute
from engine.assumed import AssumedTree
from engine.config import NodeConfig, feature_gates, node_config, read_config, static_pod_path
from engine.cpu_weight import Formula, parse_formulas
from engine.difference import difference
from engine.down import down_plan
from engine.errors import EngineError, InputError, QuantityError, RootError
from engine.explain import explanation
from engine.found import FoundTree
from engine.fs import CgroupFs, OsFs
from engine.gc_pause import gc_paused
from engine.hugepages import huge_pages_of_machine
from engine.kubelet_version import NEWEST, OLDEST, KubeletVersion
from engine.layout import detect
from engine.picture import picture
from engine.plan import Plan, Step, make_plan
from engine.pod import Pod
from engine.pod_checks import overflows
from engine.pods import read_pods
from engine.quantity import parse as parse_quantity
from engine.render import Printer, print_difference, print_explanation, print_plan, print_status, step_line
from engine.resize import resize_plan
from engine.static_pods.manifest import Manifests, node_name_of_machine
from engine.status import compare
from engine.system_cgroups import ProcessTable, with_moves
from engine.systemd.bus import THE_MACHINES_OWN, Systemd, connect
from engine.systemd.units import down_over_dbus, over_dbus
from engine.wanted import wanted_tree
from engine.wanted_cgroup import WantedCgroup

_PROGRAM = "cgroup-engine"

_EPILOG = """\
Paths in the output are relative to the root; on cgroup v1 they start with the hierarchy (cpu,cpuacct, memory, ...).
Exit codes: 0 done, 1 it failed, 2 the command line is wrong.
"""

_EXAMPLES = {
    "plan": (
        "With --from the plan resizes pods in place, in the kubelet's order, if an API server and a kubelet would.\n"
        "PODS are the same pods with other CPU and memory. Without --root it is the plan for cgroup v2; with it,\n"
        "values and memory in use are those of the root.\n\n"
        "examples:\n  cgroup-engine plan --root /sys/fs/cgroup --config kubelet.yaml pods/\n"
        "  cgroup-engine plan --from before.yaml after.yaml"
    ),
    "apply": (
        "A second apply writes nothing and says so. Pods and containers that are not in PODS any more are removed\n"
        "once no process lives in them. A missing cgroupRoot is made; enforced reserved cgroups must exist.\n\n"
        "example:\n  cgroup-engine apply --root ./tree --cpus 3 --memory 8Gi pods.yaml"
    ),
    "status": (
        'The exit code is 0 with and without drift; "drift" in the JSON output says which.\n\n'
        "example:\n  cgroup-engine status --root /sys/fs/cgroup -o json pods.yaml"
    ),
    "explain": (
        "A last argument that is no file is the name of one pod, NAME or NAMESPACE/NAME.\n"
        "Each value is followed by the kubelet's function (named as in 1.36), and what goes into it.\n\n"
        "example:\n  cgroup-engine explain --cpus 3 --memory 8Gi pods.yaml pod-burstable-1\n"
        "  cgroup-engine explain --config now.yaml --diff new.yaml --diff-kubelet-version 1.36 pods/\n"
        "  cgroup-engine explain --cpus 3 --memory 8Gi --svg node.svg pods.yaml"
    ),
    "down": (
        "kubepods below cgroupRoot is removed with all pods in it, but not while a process lives there, nor if it\n"
        "holds a cgroup that is someone else's. cgroupRoot is removed if it is empty then. Values written to the\n"
        "reserved cgroups are set to the kernel's defaults. On v2, controllers are disabled again where no child is\n"
        "left.\n\n"
        "example:\n  cgroup-engine down --root /sys/fs/cgroup --config kubelet.yaml"
    ),
}


def main(arguments: Sequence[str] | None = None, *, open_root: Callable[[str], CgroupFs] | None = None) -> int:
    """Runs one command; returns the exit code. `open_root` gives the files behind --root (default: the system's)."""
    try:
        return _run(arguments, open_root or _open_root)
    except BrokenPipeError:
        # the reader is gone; keep the interpreter from complaining when it flushes
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _run(arguments: Sequence[str] | None, open_root: Callable[[str], CgroupFs]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for µ and × in locales without them
    parser = _parser()
    try:
        options = parser.parse_args(arguments)
        if options.command == "plan" and options.root is None and options.resized_from is None:
            parser.error("plan: --root is required, but for --from")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 2
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "plan": _plan,
        "apply": _apply,
        "status": _status,
        "explain": _explain,
        "down": _down,
    }
    options.open_root = open_root
    try:
        with gc_paused():
            return commands[options.command](options)
    except EngineError as error:
        _complain(str(error))
        return 1


def _plan(options: argparse.Namespace) -> int:
    node, pods = _inputs(options, options.pods)
    if options.resized_from is not None:
        return _plan_resize(options, node, pods)
    found = _root(options, node)
    node = _at(options, node, found)
    wanted = wanted_tree(node, pods)
    with _systemd(options, node) as systemd:
        plan = with_moves(_plan_of(wanted, found, node, systemd), node, found)
    scores = {cgroup.owner: cgroup.oom_score_adj for cgroup in wanted if cgroup.oom_score_adj is not None}
    if node.kubelet_cgroups:
        scores["kubelet"] = node.kubelet_oom_score_adj
    print_plan(Printer(sys.stdout), plan, scores, options.output)
    _warn_of(plan.kept)
    return 0


def _plan_resize(options: argparse.Namespace, node: NodeConfig, pods: Sequence[Pod]) -> int:
    old = read_pods([Path(options.resized_from)], node.version)
    if options.root is None:
        found: FoundTree = AssumedTree(wanted_tree(node, old))
    else:
        found = _root(options, node)
        node = replace(node, cgroup_version=found.layout.version)
    print_plan(Printer(sys.stdout), resize_plan(node, old, pods, found), {}, options.output)
    return 0


def _apply(options: argparse.Namespace) -> int:
    node, pods = _inputs(options, options.pods)
    found = _root(options, node)
    node = _at(options, node, found)
    wanted = wanted_tree(node, pods)
    with _systemd(options, node) as systemd:
        plan = with_moves(_plan_of(wanted, found, node, systemd), node, found)
        if node.kubelet_cgroups:
            for pid in ProcessTable().kubelets():
                ProcessTable().set_oom_score_adj(pid, node.kubelet_oom_score_adj)
        count = len(wanted) - len(plan.waiting)
        idle = f"nothing to do: {count} cgroups are as wanted ({found.layout.name})"
        code = _execute(plan, found.fs, idle, systemd)
    if plan.waiting:
        print(f"{len(plan.waiting)} containers wait for their runtime, which makes a scope with its first process")
    return code


def _plan_of(wanted: Sequence[WantedCgroup], found: FoundTree, node: NodeConfig, systemd: Systemd | None) -> Plan:
    plan = make_plan(wanted, found, node.driver)
    return plan if systemd is None else over_dbus(plan, wanted, found, systemd)


def _status(options: argparse.Namespace) -> int:
    node, pods = _inputs(options, options.pods)
    found = _root(options, node)
    node = _at(options, node, found)
    rows = compare(wanted_tree(node, pods), found, node.driver, by_systemd=_by_systemd(options, node))
    print_status(Printer(sys.stdout), rows, found.layout.name, options.output)
    return 0


def _explain(options: argparse.Namespace) -> int:
    paths, name = list(options.pods), None
    if len(paths) > 1 and not os.path.lexists(paths[-1]):
        name = paths.pop()
    node, pods = _inputs(options, paths)
    pod = _named(pods, name) if name is not None else None
    wanted, printer = wanted_tree(node, pods), Printer(sys.stdout)
    if options.diff is not None or options.diff_kubelet_version is not None:
        other = argparse.Namespace(**vars(options))
        other.config = options.diff if options.diff is not None else options.config
        other.kubelet_version = options.diff_kubelet_version or options.kubelet_version
        other_node, other_pods = _inputs(other, paths)
        there = (other_node, wanted_tree(other_node, other_pods))
        print_difference(printer, difference((node, wanted), there, str(pod) if pod else None), options.output)
    elif options.svg is not None:
        _write_picture(options.svg, picture(node, wanted, pod))
    else:
        print_explanation(printer, explanation(node, wanted, pod), options.output)
    return 0


def _write_picture(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as failed:
        raise InputError(f"{path}: cannot be written: {failed.strerror}", path=path, errno=failed.errno) from None


def _down(options: argparse.Namespace) -> int:
    node, _ = _inputs(options, [])
    found = _root(options, node)
    node = _at(options, node, found)
    with _systemd(options, node) as systemd:
        plan = down_plan(wanted_tree(node, []), found, node.driver)
        if systemd is not None:
            plan = down_over_dbus(plan, found, systemd)
        for note in plan.kept:
            print(note)
        return _execute(Plan(plan.layout, plan.steps), found.fs, f"nothing to remove ({found.layout.name})", systemd)


def _execute(plan: Plan, fs: CgroupFs, idle: str, systemd: Systemd | None) -> int:
    def tell(step: Step) -> None:
        print(step_line(step))

    outcome = execute(plan, fs, tell, systemd)
    for failure in outcome.failed:
        _complain(str(failure))
    if outcome.skipped:
        _complain(f"{len(outcome.skipped)} steps that depend on these were not attempted")
    _warn_of(plan.kept)
    if not plan.steps and not plan.kept:
        print(idle)
    elif plan.steps:
        print(_summary(outcome))
    return 1 if outcome.failed or plan.kept else 0


_DONE = {
    "start": "started {} units",
    "set": "set {} units",
    "stop": "stopped {} units",
    "mkdir": "made {} directories",
    "write": "wrote {} values",
    "rmdir": "removed {} directories",
}


def _summary(outcome: Outcome) -> str:
    counts = {action: sum(step.action == action for step in outcome.done) for action in _DONE}
    by_systemd = any(counts[action] for action in ("start", "set", "stop"))
    shown = [action for action in _DONE if (counts[action] if by_systemd else action in ("mkdir", "write", "rmdir"))]
    text = ", ".join(_DONE[action].format(counts[action]) for action in shown)
    return f"{text}; {len(outcome.failed)} failed" if outcome.failed else text


def _inputs(options: argparse.Namespace, pod_paths: Sequence[str]) -> tuple[NodeConfig, list[Pod]]:
    fields, where = read_config(Path(options.config) if options.config is not None else None)
    version = KubeletVersion(options.kubelet_version.minor, feature_gates(fields, where))
    node = node_config(
        fields,
        where,
        version=version,
        cpus=options.cpus or _online_cpus(),
        memory=options.memory or _meminfo("MemTotal"),
        max_pids=options.max_pids or _max_pids(),
        swap=options.swap if options.swap is not None else _meminfo("SwapTotal"),
        huge_pages=options.hugepages if options.hugepages is not None else _huge_pages_at(options),
        driver=options.driver,
        runtime=options.runtime,
        runtime_driver=options.runtime_driver,
    )
    node = replace(node, weight_formulas=options.cpu_weight, sandboxes=options.sandboxes)
    _warn_of(node.warnings)
    manifests = Manifests(options.node_name or node_name_of_machine(), static_pod_path(fields, where))
    pods = read_pods([Path(path) for path in pod_paths], version, manifests)
    _warn_of(
        [f"{pod.source}: no metadata.uid: read as the static pod {pod}, UID {pod.uid}" for pod in pods if pod.hashed]
    )
    _warn_of([line for pod in pods for line in overflows(pod)])
    return node, pods


def _open_root(path: str) -> CgroupFs:
    if not os.path.isdir(path):
        raise RootError(f"{path}: is no directory", path=path, todo="give a cgroup tree's mount point")
    return OsFs(path)


def _root(options: argparse.Namespace, node: NodeConfig) -> FoundTree:
    fs: CgroupFs = options.open_root(options.root)
    layout = detect(fs, options.root)
    if layout.version == 1 and node.fail_cgroup_v1:
        _warn_of([f"a kubelet {node.version} does not start on cgroup v1 unless failCgroupV1 is false"])
    if layout.version == 1 and node.single_process_oom_kill is False:
        _warn_of([f"a kubelet {node.version} does not start on cgroup v1 with singleProcessOOMKill: false"])
    if isinstance(fs, OsFs) and options.command in ("apply", "down"):
        # of a v1 layout the root itself is a tmpfs, which systemd mounts read-only
        for tree in layout.trees:
            path = os.path.join(options.root, tree) if tree else options.root
            if os.statvfs(path).f_flag & os.ST_RDONLY:
                raise RootError(f"{path}: is mounted read-only", path=path, todo="mount it read-write")
    return FoundTree(fs, layout)


def _at(options: argparse.Namespace, node: NodeConfig, found: FoundTree) -> NodeConfig:
    """A node with what its root tells of it."""
    return replace(node, cgroup_version=found.layout.version, cpu_list=found.layout.cpus)


def _by_systemd(options: argparse.Namespace, node: NodeConfig) -> bool:
    """Is this the tree that this machine's systemd manages, and the driver systemd's?"""
    own = os.path.realpath(options.root) == THE_MACHINES_OWN
    return node.driver == "systemd" and own and not options.systemd_names_only


@contextmanager
def _systemd(options: argparse.Namespace, node: NodeConfig) -> Iterator[Systemd | None]:
    """The machine's systemd if the units are its to make, else None."""
    if not _by_systemd(options, node):
        yield None
        return
    with closing(connect(options.root)) as systemd:
        yield systemd


def _named(pods: Sequence[Pod], name: str) -> Pod:
    matching = [pod for pod in pods if name in (pod.name, str(pod))]
    if len(matching) == 1 and matching[0].ended:
        raise InputError(f"{name}: this pod has ended (status.phase), so it has no cgroup", value=name)
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InputError(f"{name}: {len(matching)} pods have this name", value=name, todo="write NAMESPACE/NAME")
    raise InputError(f"{name}: is neither a file nor a pod in the given files", value=name)


def _online_cpus() -> int:
    return os.sysconf("SC_NPROCESSORS_ONLN")


def _meminfo(name: str) -> int:
    """A row of /proc/meminfo in bytes; the kubelet takes the same for the node's capacity."""
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        for line in meminfo:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    raise RootError(f"/proc/meminfo: has no {name}", path="/proc/meminfo", todo="give --memory and --swap")


def _max_pids() -> int:
    """The smaller of pid_max and threads-max, which is what the kubelet takes for the node's capacity of pids."""
    limits = []
    for name in ("pid_max", "threads-max"):
        with open(f"/proc/sys/kernel/{name}", encoding="ascii") as file:
            limits.append(int(file.read()))
    return min(limits)


def _warn_of(notes: Sequence[str]) -> None:
    for note in notes:
        _complain(f"warning: {note}")


def _complain(text: str) -> None:
    print(f"{_PROGRAM}: {text}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="The kubelet's cgroup hierarchy, computed from pods and node configuration, planned, applied and "
        "read back.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in (
        ("plan", "what would be written, in order, and why; changes nothing"),
        ("apply", "make it so and read every write back"),
        ("status", "wanted against found, drift marked"),
        ("explain", "QoS class, every value with its rule, and CPU under load"),
        ("down", "remove the hierarchy and nothing else"),
    ):
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=_EXAMPLES[name],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name != "explain":
            command.add_argument(
                "--root",
                required=name != "plan",
                metavar="DIR",
                help="cgroup root, v1 or v2, such as /sys/fs/cgroup",
            )
        if name == "plan":
            command.add_argument(
                "--from", dest="resized_from", metavar="OLD.yaml", help="resize these pods in place to what PODS says"
            )
        if name != "explain":
            command.add_argument(
                "--systemd-names-only",
                action="store_true",
                help="on /sys/fs/cgroup with the systemd driver: make directories of systemd's names without systemd",
            )
        if name in ("plan", "status", "explain"):
            command.add_argument(
                "-o", dest="output", choices=("table", "json", "yaml"), default="table", help="output (default: table)"
            )
        if name == "explain":
            _explain_options(command)
        _node_options(command)
        if name != "down":
            pods = "PODS" if name != "explain" else "PODS|POD"
            command.add_argument(
                "pods", nargs="+", metavar=pods, help="files or directories with Pod, PodList or List, YAML or JSON"
            )
    return parser


def _explain_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--diff", metavar="OTHER.yaml", help="what this KubeletConfiguration would change instead")
    command.add_argument(
        "--diff-kubelet-version",
        type=_version,
        metavar=f"1.{OLDEST}..1.{NEWEST}",
        help="what this kubelet would change, with the same configuration or the one of --diff",
    )
    command.add_argument(
        "--svg", metavar="FILE", help="write a picture of how CPU and memory are shared out under load instead"
    )


def _node_options(command: argparse.ArgumentParser) -> None:
    node = command.add_argument_group("node")
    node.add_argument("--config", metavar="KUBELET.yaml", help="a KubeletConfiguration, kubelet.config.k8s.io/v1beta1")
    node.add_argument(
        "--kubelet-version",
        type=_version,
        default=KubeletVersion(),
        metavar=f"1.{OLDEST}..1.{NEWEST}",
        help=f"whose rules to use (default: 1.{NEWEST})",
    )
    node.add_argument(
        "--node-name",
        type=_node_name,
        metavar="NAME",
        help="part of the UID of a static pod whose manifest gives none (default: this machine's)",
    )
    node.add_argument("--cpus", type=_count, metavar="N", help="number of CPUs (default: this machine's)")
    node.add_argument("--memory", type=_bytes, metavar="SIZE", help="bytes, or such as 8Gi (default: this machine's)")
    node.add_argument("--swap", type=_bytes_or_none, metavar="SIZE", help="bytes of swap (default: this machine's)")
    node.add_argument(
        "--hugepages",
        type=_huge_pages,
        metavar="SIZE=N,...",
        help="pages of each size, such as 2Mi=64,1Gi=0 (default: this machine's for its own root, else none)",
    )
    node.add_argument("--max-pids", type=_count, metavar="N", help="most tasks there can be (default: this machine's)")
    node.add_argument("--driver", choices=("cgroupfs", "systemd"), help="overrides cgroupDriver (default: cgroupfs)")
    node.add_argument(
        "--runtime",
        choices=("containerd", "crio", "docker"),
        default="containerd",
        help="who names the containers' cgroups (default: containerd)",
    )
    node.add_argument(
        "--runtime-driver",
        choices=("cgroupfs", "systemd"),
        help="the runtime's own (default: the kubelet's, as it should be)",
    )
    node.add_argument(
        "--sandboxes",
        action="store_true",
        help="also the pods' sandboxes, of which a kubelet leaves everything to the runtime",
    )
    node.add_argument(
        "--cpu-weight",
        type=_formulas,
        default={},
        metavar="LEVEL=FORMULA,...",
        help="linear or quadratic, of node, reserved, qos, pod, container (default: by kubelet version and runtime)",
    )


def _version(text: str) -> KubeletVersion:
    try:
        return kubelet_version.parse(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _node_name(text: str) -> str:
    name = text.strip().lower()  # as the kubelet does with --hostname-override
    if re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", name, re.ASCII):
        return name
    raise argparse.ArgumentTypeError(f"{text!r} is not a node name: use a-z, 0-9, - and .")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text[:10]) <= 1 << 22 and len(text) <= 10:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {1 << 22}")


def _huge_pages_at(options: argparse.Namespace) -> dict[int, int]:
    """This machine's huge pages, but none for another root than the machine's: a fake has none unless it is said."""
    root = getattr(options, "root", None)
    of_machine = root is None or Path(os.path.realpath(root)).is_relative_to("/sys/fs/cgroup")
    return huge_pages_of_machine() if of_machine else {}


def _huge_pages(text: str) -> dict[int, int]:
    """Bytes of a page -> bytes of such pages, of ``SIZE=N,...``; "" is no size."""
    pages: dict[int, int] = {}
    for pair in text.split(",") if text else ():
        name, equals, number = pair.partition("=")
        if not equals or not number.isascii() or not number.isdigit() or len(number) > 10:
            raise argparse.ArgumentTypeError(f"{pair!r} is not SIZE=N, such as 2Mi=64")
        size = _bytes(name)
        if size & (size - 1) or size < 1 << 16:
            raise argparse.ArgumentTypeError(f"{name!r} is no size of huge pages, such as 2Mi")
        pages[size] = size * int(number)
    return pages


def _formulas(text: str) -> dict[str, Formula]:
    try:
        return parse_formulas(text)
    except ValueError as refused:
        raise argparse.ArgumentTypeError(str(refused)) from None


def _bytes_or_none(text: str) -> int:
    return 0 if text == "0" else _bytes(text)


def _bytes(text: str) -> int:
    try:
        quantity = parse_quantity(text)
    except QuantityError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if quantity.sign() <= 0 or not quantity.fits():
        raise argparse.ArgumentTypeError(f"{text!r} is not a size from 1 byte to 2^63-1 bytes")
    return quantity.value()
