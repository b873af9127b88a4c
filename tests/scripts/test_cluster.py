"""scripts/cluster: a node with a real kubelet where the programs are, and what it does without them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fakecgroup_mount.vm.cache import cache_directory
from program_matrix.plain_user import SEARCH_PATH
from program_matrix.release import PYTHON, command_in
from real_cluster import build, churn, churned_pods, kubeconfig, node_commands, start
from real_cluster.certificates import Authority
from real_cluster.errors import ClusterError
from real_cluster.programs import BUILT
from real_cluster.services import Services
from real_cluster.settings import Settings
from real_cluster.state import State
from tests.waiting import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]
PODS = 3


def command(*words: str) -> list[str]:
    return [sys.executable, str(REPOSITORY / "scripts" / "program.py"), "real_cluster", *words]


def cluster(state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    return subprocess.run(command(*words), env=environment, capture_output=True, text=True, check=False)


def release() -> str | None:
    """The release whose programs make a node whose values are all as computed, or None."""
    for suite in ("sid", "trixie"):
        binaries = cache_directory() / "roots" / suite / "usr"
        if all((binaries / name).exists() for name in ("bin/etcd", "bin/containerd", "sbin/runc", "lib/cni/ptp")):
            return suite
    return None


def why_not() -> str:
    if os.geteuid() != 0:
        return "needs root"
    missing = [name for name in BUILT if not (build.directory() / name).exists()]
    if missing:
        return f"no {', '.join(missing)}: scripts/cluster build SOURCE makes them"
    return "" if release() else "no etcd, containerd and runc: scripts/cluster up --release sid --install gets them"


needs_programs = pytest.mark.skipif(bool(why_not()), reason=why_not() or "they are here")


@pytest.fixture
def state() -> Iterator[Path]:
    """Short, as a socket's path may not be long."""
    with tempfile.TemporaryDirectory(prefix="fcg-") as name:
        yield Path(name)
        cluster(Path(name), "down")


def processes_that_know(text: str) -> list[str]:
    """The command lines of processes in whose environment a text is, ours left out."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            pass
    return found


@needs_programs
@pytest.mark.timeout(600)  # 40 s on an idle machine
def test_pods_run_are_resized_and_go_and_their_cgroups_are_as_computed(state: Path) -> None:
    up = cluster(state, "up", "--nodes", "1", "--release", release() or "")
    assert up.returncode == 0, up.stderr

    def kubectl(*words: str) -> str:
        done = cluster(state, "kubectl", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (node,) = json.loads(kubectl("get", "nodes", "-o", "json"))["items"]
    assert node["status"]["capacity"]["cpu"] == "16"
    assert node["status"]["capacity"]["memory"] == "64Gi"

    deployment = (REPOSITORY / "examples" / "cluster" / "deployment.yaml").read_text()
    (state / "few.yaml").write_text(deployment.replace("replicas: 30", f"replicas: {PODS}"))
    kubectl("apply", "-f", str(state / "few.yaml"))
    kubectl("rollout", "status", "deployment/sleepers", "--timeout=300s")
    as_computed(state)
    nothing_to_do(state, kubectl("get", "pods", "-A", "-o", "json"))

    pod = kubectl("get", "pods", "-o", "name").split()[0]
    explained_as_written(state, pod.removeprefix("pod/"))
    assert kubectl("exec", pod, "--", "sh", "-c", "echo $KUBERNETES_SERVICE_HOST").strip() == "198.51.100.1"
    assert kubectl("get", pod, "-o", "jsonpath={.status.podIP}").startswith("10.244.1.")
    resources = {"limits": {"memory": "256Mi"}, "requests": {"memory": "96Mi"}}
    patch = {"spec": {"containers": [{"name": "sleeper", "resources": resources}]}}
    kubectl("patch", pod, "--subresource", "resize", "--patch", json.dumps(patch))
    limits = "cat /sys/fs/cgroup/kubepods/burstable/pod*/*/memory.max"
    wait_until(lambda: str(256 << 20) in cluster(state, "exec", "node-1", "sh", "-c", limits).stdout)
    as_computed(state)

    kubectl("drain", "node-1", "--timeout=300s")
    pods = "ls -d /sys/fs/cgroup/kubepods/burstable/pod*"
    wait_until(lambda: cluster(state, "exec", "node-1", "sh", "-c", pods).returncode != 0)

    links = Path("/proc/net/dev").read_text()
    assert cluster(state, "down").returncode == 0
    assert processes_that_know(str(state)) == []
    assert list((state / "fakecgroup" / "clusters").iterdir()) == []
    assert "node-1" not in links and "node-1" not in Path("/proc/net/dev").read_text()
    assert str(state) not in Path("/proc/mounts").read_text()


NOBODY = 65534  # unshare(1) wants a user that /etc/passwd has
# In the root of a release: /dev/fuse is open to all, and the user has ranges of ids, and Kubernetes' programs.
AS_PLAIN_USER = """
set -e
user=$1
mount --bind "$2" "$3"
shift 3
mount -t tmpfs none /mnt
mknod -m 666 /mnt/fuse c 10 229
mount --bind /mnt/fuse /dev/fuse
echo "$user:100000:65536" >/mnt/ranges
for file in /etc/subuid /etc/subgid; do touch $file; mount --bind /mnt/ranges $file; done
umount -l /mnt
exec setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
"""


@needs_programs
@pytest.mark.timeout(600)  # 20 s on an idle machine
def test_a_plain_user_with_ranges_has_a_cluster_too(state: Path) -> None:
    root = cache_directory() / "roots" / (release() or "")
    packages = next(iter(REPOSITORY.glob(".venv/lib/python*/site-packages")), None)
    if packages is None or not (root / "usr" / "bin" / "newuidmap").exists():
        pytest.skip("takes .venv, and newuidmap in the release's root")
    programs = state / "cache" / "fakecgroup" / "cluster" / "bin"
    programs.mkdir(parents=True)
    os.chown(state, NOBODY, NOBODY)
    paths = [REPOSITORY / "scripts", REPOSITORY, REPOSITORY / "mount", REPOSITORY / "engine", packages]
    variables = {
        "HOME": state,
        "USER": "nobody",
        "PATH": SEARCH_PATH,
        "PYTHONPATH": ":".join(map(str, paths)),
        "XDG_CACHE_HOME": state / "cache",
        "XDG_STATE_HOME": state,
    }
    as_user = ["sh", "-c", AS_PLAIN_USER, "sh", str(NOBODY), str(build.directory()), str(programs)]
    as_user += ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), PYTHON]
    as_user += [str(REPOSITORY / "scripts" / "program.py"), "real_cluster"]

    def run(*words: str, may_fail: bool = False) -> int:
        entered = command_in(root, [REPOSITORY, build.directory(), state], [*as_user, *words])
        done = subprocess.run(entered, capture_output=True, text=True, check=False)
        assert may_fail or done.returncode == 0, done.stderr
        return done.returncode

    run("up", "--nodes", "1")
    process = (state / "fakecgroup" / "clusters" / "cluster" / "pid").read_text()
    assert Path(f"/proc/{process}").stat().st_uid == NOBODY
    deployment = (REPOSITORY / "examples" / "cluster" / "deployment.yaml").read_text()
    (state / "one.yaml").write_text(deployment.replace("replicas: 30", "replicas: 1"))
    run("kubectl", "apply", "-f", str(state / "one.yaml"))
    run("kubectl", "rollout", "status", "deployment/sleepers", "--timeout=300s")
    wait_until(lambda: run("status", may_fail=True) == 0, limit=150)
    run("down")
    assert processes_that_know(str(state)) == []
    assert list((state / "fakecgroup" / "clusters").iterdir()) == []


def as_computed(state: Path) -> None:
    """A kubelet writes the values of its QoS classes within a minute of a change."""

    def status() -> bool:
        done = cluster(state, "status")
        print(done.stdout, done.stderr)
        return done.returncode == 0

    wait_until(status, limit=150)


def nothing_to_do(state: Path, pods: str) -> None:
    """The plan for what the kubelet has made changes no value."""
    options = "--root /sys/fs/cgroup --config /var/lib/kubelet/config.yaml --runtime-version runc-$runc"
    script = f"runc=$(runc --version | sed -n '1s/.* //p'); cgroup-engine plan {options} -o json -"
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    done = subprocess.run(
        command("exec", "node-1", "sh", "-c", script), env=environment, input=pods, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == []


def explained_as_written(state: Path, pod: str) -> None:
    """`kubectl cgroups`, as a plugin of a real kubectl, explains the values that the kubelet has written."""
    programs = Path(sys.executable).parent
    if not (programs / "kubectl-cgroups").exists():
        pytest.skip("kubectl-cgroups is not installed")
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KUBECONFIG": str(state / "fakecgroup" / "clusters" / "cluster" / "kubeconfig"),
    }
    words = [str(build.directory() / "kubectl"), "cgroups", "explain", pod, "-o", "json"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    values = {
        f"/sys/fs/cgroup/{cgroup['cgroup']}/{file}": wanted
        for cgroup in json.loads(done.stdout)["cgroups"]
        for value in cgroup["values"]
        for file, wanted in value["v2"].items()
    }
    found = cluster(state, "exec", "node-1", "cat", *values)
    assert found.returncode == 0, found.stderr
    assert found.stdout.split("\n")[:-1] == list(values.values())


@needs_programs
@pytest.mark.timeout(600)  # 25 s on an idle machine
def test_a_container_over_its_limit_is_oom_killed_where_limits_act(state: Path) -> None:
    shutil.copy(REPOSITORY / "examples" / "cluster" / "kubelet.yaml", state)
    options = ["--release", release() or "", "--enforce", "memory", "--kubelet-config", str(state / "kubelet.yaml")]
    up = cluster(state, "up", "--nodes", "1", *options)
    assert up.returncode == 0, up.stderr
    pod = REPOSITORY / "examples" / "cluster" / "over-its-limit.yaml"
    wait_until(lambda: cluster(state, "kubectl", "apply", "-f", str(pod)).returncode == 0)

    def last_end() -> str:
        path = "jsonpath={.status.containerStatuses[0].lastState.terminated['reason','exitCode']}"
        return cluster(state, "kubectl", "get", "pod", "over-its-limit", "-o", path).stdout

    assert wait_until(last_end, limit=200) == "OOMKilled 137"


@needs_programs
@pytest.mark.timeout(900)  # 90 s on an idle machine
def test_nothing_is_left_of_pods_that_come_and_go_while_the_cluster_has_its_troubles(state: Path) -> None:
    up = cluster(state, "up", "--nodes", "1", "--release", release() or "")
    assert up.returncode == 0, up.stderr
    cluster(state, "kubectl", "create", "namespace", "churn")
    refused = cluster(state, "churn")
    assert refused.returncode == 1
    assert refused.stderr == "cluster: there is a namespace churn that no churn has made; it is left alone\n"
    cluster(state, "kubectl", "delete", "namespace", "churn")

    churned = cluster(state, "churn", "--pods", "6", "--at-once", "3")
    assert churned.returncode == 0, churned.stderr
    for line in ("node-1 was drained", "the API server was killed", "new certificates", "6 pods made, 2 resized"):
        assert line in churned.stderr
    assert cluster(state, "kubectl", "get", "pods", "-A", "-o", "name").stdout == ""
    cgroups = ["find", "/sys/fs/cgroup/kubepods", "-name", "pod*"]
    assert cluster(state, "exec", "node-1", *cgroups).stdout == ""


@needs_programs
@pytest.mark.timeout(600)  # 35 s on an idle machine
def test_new_certificates_reach_all_and_prometheus_finds_pods_that_ask_for_it(state: Path) -> None:
    suite = release() or ""
    has_prometheus = (cache_directory() / "roots" / suite / "usr" / "bin" / "prometheus").exists()
    up = cluster(state, "up", "--nodes", "1", "--release", suite, *["--prometheus"] * has_prometheus)
    assert up.returncode == 0, up.stderr
    directory = state / "fakecgroup" / "clusters" / "cluster"
    old = (directory / "kubeconfig").read_text()

    renewed = cluster(state, "renew", "--authority")
    assert renewed.returncode == 0, renewed.stderr
    (directory / "old").write_text(old)
    refused = cluster(state, "kubectl", "--kubeconfig", str(directory / "old"), "get", "nodes")
    assert "certificate signed by unknown authority" in refused.stderr

    serving = "mkdir /www && echo told 7 >/www/metrics.txt && exec httpd -f -p 8080 -h /www"
    asking = {"scrape": "true", "port": "8080", "path": "/metrics.txt"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "told", "annotations": {f"prometheus.io/{key}": value for key, value in asking.items()}},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "told", "image": "localhost/busybox:1", "command": ["sh", "-c", serving]}],
        },
    }
    (state / "pod.json").write_text(json.dumps(pod))
    wait_until(lambda: cluster(state, "kubectl", "apply", "-f", str(state / "pod.json")).returncode == 0)
    ready = cluster(state, "kubectl", "wait", "--for=condition=Ready", "pod/told", "--timeout=200s")
    assert ready.returncode == 0, ready.stderr
    inside = cluster(state, "exec", "control-plane", "kubectl", "get", "pods", "-o", "name")
    assert (inside.stdout, inside.stderr) == ("pod/told\n", "")
    if has_prometheus:
        query = ["promtool", "query", "instant", "http://127.0.0.1:9090", "told"]
        wait_until(lambda: "} => 7 @" in cluster(state, "exec", "control-plane", *query).stdout, limit=60)


@needs_programs
@pytest.mark.timeout(300)
@pytest.mark.hostile("a starting cluster's command is killed")
def test_a_cluster_ends_with_the_command_that_starts_it(state: Path) -> None:
    words = command("up", "--nodes", "1", "--release", release() or "")
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    up = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    assert up.stderr is not None and up.stdout is not None
    assert b"starting the control plane" in up.stderr.readline()
    up.send_signal(signal.SIGKILL)
    up.wait()
    up.stderr.close()
    up.stdout.close()
    wait_until(lambda: not processes_that_know(str(state)))
    assert cluster(state, "down").returncode == 0
    assert list((state / "fakecgroup" / "clusters").iterdir()) == []


@needs_programs
@pytest.mark.timeout(300)
def test_an_interrupted_up_leaves_nothing(state: Path) -> None:
    words = command("up", "--nodes", "1", "--release", release() or "")
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE) as up:
        assert up.stderr is not None
        assert b"starting the control plane" in up.stderr.readline()
        up.send_signal(signal.SIGINT)
        assert up.wait() == 130
    assert processes_that_know(str(state)) == []
    assert list((state / "fakecgroup" / "clusters").iterdir()) == []


def test_without_a_cluster_there_is_nothing_to_ask(tmp_path: Path) -> None:
    for words in (
        ["status"],
        ["exec", "node-1", "true"],
        ["exec", "control-plane", "true"],
        ["renew"],
        ["churn"],
        ["kubectl", "-n", "a", "get", "pods"],
        ["load", "/dev/null"],
    ):
        done = cluster(tmp_path, *words)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "cluster: no cluster runs; start one with: scripts/cluster up\n"


def test_down_without_a_cluster_says_so(tmp_path: Path) -> None:
    done = cluster(tmp_path, "down")
    assert (done.returncode, done.stderr) == (0, "cluster: there was no cluster\n")


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "A", "x" * 40])
@pytest.mark.hostile("a name leads elsewhere", times=6)
def test_a_name_does_not_lead_out_of_the_directory(name: str) -> None:
    with pytest.raises(ClusterError, match="is no name for a cluster"):
        State(name)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["up", "--nodes", "0"], "'0' is not a whole number from 1 to 100"),
        (["up", "--nodes", "101"], "'101' is not a whole number from 1 to 100"),
        (["up", "--nodes", "x"], "'x' is not a whole number from 1 to 100"),
        (["up", "--layout", "v3"], "invalid choice: 'v3'"),
        (["up", "--cpus", "0"], "'0' is not a whole number from 1 to "),
        (["up", "--memory", "lots"], "'lots'"),
        (["up", "--enforce", "io"], "'io' cannot be enforced: all, none, or of memory, cpu, cpuset"),
        (["up", "--port", "x"], "invalid int value: 'x'"),
        (["up", "--fast"], "unrecognized arguments: --fast"),
        (["churn", "--pods", "0"], "'0' is not a whole number from 1 to "),
        (["churn", "--at-once", "-1"], "'-1' is not a whole number from 1 to "),
        (["upp"], "invalid choice: 'upp'"),
        ([], "COMMAND"),
    ],
)
def test_a_wrong_command_line_is_one_line(words: list[str], why: str, tmp_path: Path) -> None:
    done = cluster(tmp_path, *words)
    assert done.returncode == 2
    assert why in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[State]:
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # none of these tests gets as far as a namespace
    with tempfile.TemporaryDirectory(prefix="fcg-") as name:  # short, as a socket's path may not be long
        monkeypatch.setenv("XDG_STATE_HOME", name)
        yield State("test")


SETTINGS = Settings(
    nodes=1, layout="v2", cpus="16", memory="64Gi", enforce="none", release="", kubelet_config="", prometheus=False
)


def test_there_is_no_second_cluster_of_a_name(here: State) -> None:
    lock = here.make()
    with pytest.raises(ClusterError, match="there is a cluster already"):
        start.start(here, SETTINGS, 0, install=False, say=print)
    assert here.directory.exists()
    os.close(lock)


def test_a_port_that_is_taken_is_named_and_nothing_is_left(here: State) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ClusterError, match=f"port {port} of 127.0.0.1 cannot be had"):
            start.start(here, SETTINGS, port, install=False, say=print)
    assert not here.directory.exists()


def plain_user(monkeypatch: pytest.MonkeyPatch, *, lacks: tuple[str, ...] = (), ranges: bool = True) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(start, "has_many_users", lambda: ranges)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if name in lacks else f"/usr/bin/{name}")


@pytest.mark.parametrize("install", [False, True])
def test_a_plain_user_is_told_all_that_root_must_install(
    here: State, monkeypatch: pytest.MonkeyPatch, install: bool
) -> None:
    plain_user(monkeypatch, lacks=("newuidmap", "containerd", "ctr"))
    with pytest.raises(
        ClusterError, match=r"no newuidmap, containerd, ctr here; as root: apt-get install uidmap containerd$"
    ):
        start.start(here, SETTINGS, 0, install=install, say=print)
    assert not here.directory.exists()


def test_a_plain_user_without_ranges_is_told_how_to_get_them(here: State, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_user(monkeypatch, ranges=False)
    with pytest.raises(ClusterError, match=r"you have no ranges of ids in .*; as root: usermod --add-subuids "):
        start.start(here, SETTINGS, 0, install=False, say=print)
    assert not here.directory.exists()


def test_a_plain_user_has_the_programs_of_no_other_release(here: State, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_user(monkeypatch)
    with pytest.raises(ClusterError, match="--release needs root"):
        start.start(here, replace(SETTINGS, release="sid"), 0, install=False, say=print)
    assert not here.directory.exists()


def test_what_a_killed_cluster_left_is_removed(here: State) -> None:
    os.close(here.make())
    (here.directory / "nodes" / "node-1").mkdir(parents=True)
    assert not here.is_running()
    assert here.remove()
    assert not here.directory.exists()


def test_a_disk_that_is_full_is_named_and_nothing_is_left(here: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=3 << 20))
    with pytest.raises(ClusterError, match=r"clusters: 3 MiB are free, and it takes 256 MiB"):
        start.start(here, SETTINGS, 0, install=False, say=print)
    assert not here.directory.exists()


def test_a_directory_too_deep_for_sockets_is_named(
    here: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ("x" * 100)))
    with pytest.raises(ClusterError, match=r"too long for sockets in it; set XDG_STATE_HOME"):
        start.start(State("test"), SETTINGS, 0, install=False, say=print)
    assert not (tmp_path / ("x" * 100)).exists()


def test_of_a_go_program_that_panics_the_panic_is_told_and_no_stack(tmp_path: Path) -> None:
    services = Services(tmp_path)
    services.start("broken", ["sh", "-c", "printf 'begins\npanic: no space\n\ngoroutine 1:\n\tmain.go:31\n'; exit 2"])

    def complaint() -> str:
        try:
            services.check("broken")
        except ClusterError as error:
            return str(error)
        return ""

    assert wait_until(complaint) == "broken ended with status 2: panic: no space"


def test_a_new_cluster_takes_the_place_of_one_that_was_killed(here: State) -> None:
    os.close(here.make())
    (here.directory / "nodes" / "node-1").mkdir(parents=True)
    os.close(here.make())
    assert [file.name for file in here.directory.iterdir()] == ["lock"]


def test_what_is_just_being_made_is_not_taken_for_what_was_left(here: State) -> None:
    def up() -> None:
        try:
            locks.append(here.make())
        except ClusterError as error:
            refused.append(str(error))

    locks: list[int] = []
    refused: list[str] = []
    several = [threading.Thread(target=up) for _ in range(8)]
    for one in several:
        one.start()
    for one in several:
        one.join()
    assert (len(locks), len(refused)) == (1, 7)
    os.close(locks[0])


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_only_its_owner_may_read_a_kubeconfig_and_it_holds_what_it_needs(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki")
    authority.begin()
    file = tmp_path / "kubeconfig"
    kubeconfig.write(file, "https://192.0.2.1", authority.certificate, *authority.issue("a", "someone", "some"))
    assert file.stat().st_mode & 0o777 == 0o600
    assert str(tmp_path) not in file.read_text()
    verified = subprocess.run(
        ["openssl", "verify", "-CAfile", authority.certificate, tmp_path / "pki" / "a.crt"], capture_output=True
    )
    assert verified.returncode == 0, verified.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_certificate_is_replaced_as_a_whole_and_is_of_the_authority_of_then(tmp_path: Path) -> None:
    def verified(certificate: Path) -> bool:
        command = ["openssl", "verify", "-CAfile", str(tmp_path / "pki" / "ca.crt"), str(certificate)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    authority = Authority(tmp_path / "pki")
    authority.begin()
    certificate, _ = authority.issue("a", "someone")
    first = certificate.read_bytes()
    authority.issue("a", "someone")
    assert certificate.read_bytes() != first
    assert verified(certificate)
    authority.begin()
    assert not verified(certificate)
    authority.issue("a", "someone")
    assert verified(certificate)
    assert not list((tmp_path / "pki").glob("*.new"))


def test_without_openssl_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="no openssl here; as root: apt-get install openssl"):
        Authority(tmp_path / "pki").begin()


def test_the_cgroup_of_a_pod_that_is_gone_is_found() -> None:
    names = {"0a-1": "guaranteed-0", "0b-2": "besteffort-2"}
    cgroups = ["/sys/fs/cgroup/kubepods/pod0c-3", "/sys/fs/cgroup/kubepods/besteffort/pod0b-2"]
    assert churn.cgroups_of(names, cgroups) == ["/sys/fs/cgroup/kubepods/besteffort/pod0b-2 of besteffort-2"]


def told(number: int, **container: object) -> dict[str, object]:
    """A pod of the churn whose containers tell that."""
    pod = churned_pods.manifest(number, batch=0)
    statuses = [{"name": one["name"], **container} for one in pod["spec"]["containers"]]
    return {**pod, "status": {"phase": "Running", "containerStatuses": statuses}}


@pytest.mark.parametrize("number", range(len(churned_pods.KINDS)))
def test_a_pod_of_the_churn_is_up_when_it_runs_or_has_ended(number: int) -> None:
    ends = churned_pods.kind(number).ends
    assert not churned_pods.is_up({**told(number), "status": {}}, number)
    assert not churned_pods.is_up(told(number, ready=False), number)
    assert churned_pods.is_up(told(number, ready=True), number) is not ends
    assert churned_pods.is_up({**told(number), "status": {"phase": "Succeeded"}}, number) is ends


@pytest.mark.parametrize("number", range(len(churned_pods.KINDS)))
def test_a_pod_is_resized_when_its_runtime_tells_so(number: int) -> None:
    of = churned_pods.kind(number)
    assert churned_pods.is_resized(told(number, resources=of.resources[0]), number) is (of.larger is None)
    assert churned_pods.is_resized(told(number, resources=of.larger), number)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """The socket of a node's commands."""
    path = tmp_path / "commands"
    threading.Thread(target=node_commands.serve, args=[str(path)], daemon=True).start()
    return wait_until(lambda: path if path.exists() else None)  # type: ignore[return-value]


def test_a_node_runs_a_command_with_the_streams_of_who_asks(node: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("said\n")
    with (tmp_path / "in").open() as given, (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        streams = [given.fileno(), out.fileno(), err.fileno()]
        code = node_commands.ask(node, ["sh", "-c", "cat; echo no >&2; exit 7"], streams)
    assert (code, (tmp_path / "out").read_text(), (tmp_path / "err").read_text()) == (7, "said\n", "no\n")


def test_a_node_tells_of_a_signal_and_of_what_is_not_there(node: Path) -> None:
    assert node_commands.ask(node, ["sh", "-c", "kill -9 $$"]) == 128 + signal.SIGKILL
    assert node_commands.ask(node, ["/no/such/program"]) == 127
    assert node_commands.ask(node, ["/"]) == 126


def test_a_command_in_a_node_ends_with_who_asked_for_it(node: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = f"from real_cluster import node_commands; from pathlib import Path; \
node_commands.ask(Path({str(node)!r}), ['sh', '-c', 'echo $$ >{told}; exec sleep 1000'])"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY / "scripts"), *sys.path])}
    asking = subprocess.Popen([sys.executable, "-c", program], env=environment)
    process = wait_until(lambda: told.exists() and told.read_text().strip())
    asking.kill()
    asking.wait()
    wait_until(lambda: not Path(f"/proc/{process}").exists())


def source(directory: Path, go: str = "go 1.26.0", version: str = "1.36") -> Path:
    for part in ("cmd/kube-apiserver", "vendor", "staging/src/k8s.io/component-base/version", "CHANGELOG"):
        (directory / part).mkdir(parents=True)
    (directory / "vendor/modules.txt").touch()
    (directory / "go.mod").write_text(f"module k8s.io/kubernetes\n\n{go}\n")
    (directory / "staging/src/k8s.io/component-base/version/base.go").write_text(
        f'\tDefaultKubeBinaryVersion = "{version}"\n'
    )
    return directory


def test_what_is_no_source_of_kubernetes_is_not_built(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="is no source of Kubernetes"):
        build.build(tmp_path, "", print)


def test_a_version_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"'1\.36' is no version of Kubernetes"):
        build.build(source(tmp_path), "1.36", print)


def test_it_is_built_by_the_go_that_the_source_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    go = programs / "go"
    go.write_text(
        f'#!/bin/sh\n[ "$1" != version ] || exec echo go version go1.26.4 linux/amd64\necho "$*" >>{tmp_path}/built\n'
    )
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (source(tmp_path / "source") / "CHANGELOG" / "CHANGELOG-1.36.md").write_text("- [v1.36.7](#v1367)\n\n# v1.36.7\n")
    said: list[str] = []
    build.build(tmp_path / "source", "", said.append)
    assert "building kube-apiserver v1.36.7" in said
    assert [line.split("/")[-1] for line in (tmp_path / "built").read_text().splitlines()] == list(BUILT)
