"""containerd and podman, with the OCI runtimes below them; LXC and systemd-nspawn."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Program, Step
from ..release import this_release
from .cgroup_commands import by_layout, find_cgroups, read_files
from .oci_runtimes import bundle

_CGROUP = "demo/c1"


def _containerd(layout: str) -> Sequence[Step]:
    limits = read_files(
        layout,
        _CGROUP,
        "memory.max cpu.max pids.max",
        "memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us pids/pids.max",
    )
    frozen = by_layout(
        layout,
        f"grep frozen /sys/fs/cgroup/{_CGROUP}/cgroup.events",
        f"cat /sys/fs/cgroup/freezer/{_CGROUP}/freezer.state",
    )
    mine = by_layout(layout, "^0:", ":memory:")
    return [
        Step(
            "containerd",
            "answers",
            """mkdir -p /run/state /run/cni
            cat >config.toml <<END
version = 2
root = "/run/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
END
            containerd --config config.toml >containerd.log 2>&1 &
            for i in $(seq 200); do ctr version >/dev/null 2>&1 && break; sleep 0.05; done
            ctr version | grep -c Version""",
            "2",
        ),
        Step(
            "ctr run --detach --config config.json c1",
            "the files hold the limits",
            f"""{bundle()}
            sed -i 's#"path": "rootfs"#"path": "/run/bundle/rootfs"#' config.json
            ctr run --detach --config config.json c1; {limits}""",
            by_layout(layout, "134217728 50000 100000 64", "134217728 50000 64"),
        ),
        Step(
            "ctr task ls, ctr task metrics c1",
            "running, with its limits",
            "ctr task ls | grep -o RUNNING; ctr task metrics c1 | grep -E 'usage_limit|limit_in_bytes|pids' | "
            "awk '{print $1, $2}'",
            by_layout(
                layout,
                "RUNNING\npids.current 1\npids.limit 64\nmemory.usage_limit 134217728",
                "RUNNING\nmemory.limit_in_bytes 134217728\npids.current 1\npids.limit 64",
            ),
        ),
        Step(
            "ctr task exec",
            "in the cgroup namespace the cgroup is /",
            f"ctr task exec --exec-id one c1 /bin/grep {mine} /proc/self/cgroup",
            by_layout(layout, "0::/", "3:memory:/"),
        ),
        Step(
            "ctr task pause, ctr task resume",
            "frozen, and not",
            f"ctr task pause c1; {frozen}; ctr task resume c1; {frozen}",
            by_layout(layout, "frozen 1\nfrozen 0", "FROZEN\nTHAWED"),
        ),
        Step(
            "ctr task kill, ctr task rm, ctr container rm",
            "no cgroup is left",
            f"""ctr task kill --signal KILL c1
            for i in $(seq 100); do ctr task ls | grep -q STOPPED && break; sleep 0.05; done
            ctr task rm c1 2>/dev/null; ctr container rm c1; {find_cgroups("c1")}""",
            "",
        ),
    ]


def _docker(layout: str) -> Sequence[Step]:
    limits = read_files(
        layout,
        "docker/$id",
        "memory.max memory.swap.max cpu.max pids.max",
        "memory/memory.limit_in_bytes memory/memory.memsw.limit_in_bytes cpu/cpu.cfs_quota_us pids/pids.max",
    )
    frozen = by_layout(
        layout,
        "grep frozen /sys/fs/cgroup/docker/$id/cgroup.events",
        "cat /sys/fs/cgroup/freezer/docker/$id/freezer.state",
    )
    mine = by_layout(layout, "^0:", ":memory:")
    own = "cd /sys/fs/cgroup && mkdir service && echo 0 >service/cgroup.procs && echo +memory >cgroup.subtree_control"
    enter = by_layout(
        layout, f"{own} && cd /run", "true"
    )  # v2's root has no limit on swap, for which it looks in its own cgroup
    return [
        Step(
            "dockerd",
            "its driver, the version of cgroups, and that swap can be limited",
            f"""{enter}
            mkdir upper work && mount -t overlay -o lowerdir=/etc,upperdir=upper,workdir=work overlay /etc || exit
            export DOCKER_HOST=unix:///run/docker.sock
            dockerd --host $DOCKER_HOST --pidfile /run/docker.pid --data-root /run/data --exec-root /run/exec \
                --storage-driver vfs --bridge none --iptables=false --ip-forward=false >dockerd.log 2>&1 &
            for i in $(seq 200); do docker version >/dev/null 2>&1 && break; sleep 0.05; done
            docker info --format '{{{{.CgroupDriver}}}} {{{{.CgroupVersion}}}} {{{{.SwapLimit}}}}'""",
            by_layout(layout, "cgroupfs 2 true", "cgroupfs 1 true"),
        ),
        Step(
            "docker run --rm",
            by_layout(layout, "in the cgroup namespace the cgroup is /", "the command sees its cgroup"),
            f"""{bundle()}
            tar c -C rootfs . | docker import - one >/dev/null
            docker run --rm --network none one grep {mine} /proc/self/cgroup | sed 's#docker/[0-9a-f]*$#docker/ID#'""",
            by_layout(layout, "0::/", "3:memory:/docker/ID"),
        ),
        Step(
            "docker run --detach",
            "the files hold the limits on memory, swap, CPU and pids",
            f"""id=$(docker run --detach --name c1 --network none --memory 64m --cpus 0.5 --pids-limit 50 one sleep 60)
            {limits}""",
            by_layout(layout, "67108864 67108864 50000 100000 50", "67108864 134217728 50000 50"),
        ),
        Step(
            "docker stats",
            "the limit, and the one process",
            "docker stats --no-stream --format '{{.MemUsage}} {{.PIDs}}' c1 | sed 's#.*/ ##'",
            "64MiB 1",
        ),
        Step(
            "docker exec",
            "is in the same cgroup",
            f"[ $(docker exec c1 grep {mine} /proc/self/cgroup) = $(docker exec c1 grep {mine} /proc/1/cgroup) ]",
            "",
        ),
        Step(
            "docker update --memory 80m",
            "the files hold the new limits",
            f"docker update --memory 80m --memory-swap 80m --pids-limit 51 c1 >/dev/null 2>&1; {limits}",
            by_layout(layout, "83886080 0 50000 100000 51", "83886080 83886080 50000 51"),
        ),
        Step(
            "docker pause, docker unpause",
            "frozen, and not",
            f"for what in pause unpause; do docker $what c1; {frozen}; done",
            by_layout(layout, "c1\nfrozen 1\nc1\nfrozen 0", "c1\nFROZEN\nc1\nTHAWED"),
        ),
        Step("docker rm --force", "no cgroup is left", 'docker rm --force c1; find /sys/fs/cgroup -name "$id"', "c1"),
    ]


def _podman(layout: str) -> Sequence[Step]:
    path = "/sys/fs/cgroup$(podman inspect --format '{{.State.CgroupPath}}' c1)"
    limits = "(cd $cgroup; cat memory.max cpu.max pids.max) | paste -sd' '"
    found = [
        Step(
            "podman import",
            "an image of busybox",
            f"""{bundle()}
            for name in /var/lib /var/cache /var/tmp; do mount -t tmpfs tmpfs $name || exit; done
            # what podman sets when it makes a user namespace itself, which it need not here
            export _CONTAINERS_USERNS_CONFIGURED=done _CONTAINERS_ROOTLESS_UID=1 XDG_RUNTIME_DIR=/run STORAGE_DRIVER=vfs
            export PODMAN_IGNORE_CGROUPSV1_WARNING=1
            echo '{{"default": [{{"type": "insecureAcceptAnything"}}]}}' >policy.json
            podman() {{ command podman --cgroup-manager cgroupfs --runtime crun --events-backend file "$@"; }}
            tar c -C rootfs . | podman import --quiet --signature-policy policy.json - localhost/one >/dev/null
            podman images --quiet | wc -l""",
            "1",
        ),
        Step(
            "podman info",
            "the version of cgroups, and the controllers",
            "podman info --format '{{.Host.CgroupsVersion}} {{.Host.CgroupControllers}}'",
            by_layout(layout, "v2 [cpuset cpu io memory hugetlb pids rdma misc]", "v1 []"),
        ),
        Step(
            "podman run --rm",
            "the command sees its cgroup",
            "podman run --rm --network none --ulimit host localhost/one cat /proc/self/cgroup | "
            f"grep -c {by_layout(layout, '^0::/$', ':memory:/[0-9a-f]*$')}",
            "1",
        ),
        Step(
            "podman exec",
            "works in the container",
            """podman run --detach --name c1 --network none --ulimit host --memory 64m --cpus 0.5 --pids-limit 50 \
                localhost/one sleep 60 >/dev/null 2>&1
            podman exec c1 cat /proc/self/cgroup | wc -l""",
            by_layout(layout, "1", "13"),
        ),
        Step(
            "podman rm --force", "no container is left", "podman rm --force --time 0 c1; podman ps --all --quiet", "c1"
        ),
    ]
    if layout == "v2":  # without root podman refuses the rest on v1, and sets no limits there
        found[-1:-1] = [
            Step(
                "podman run --detach",
                "the files hold memory, CPU and pids",
                f"cgroup={path}; {limits}",
                "67108864 50000 100000 50",
            ),
            Step(
                "podman stats",
                "the limit",
                "podman stats --no-stream --format '{{.MemLimit}} {{.PIDs}}' c1",
                "67108864 1",
            ),
            Step(
                "podman update --memory 80m",
                "the file holds the limit",
                f"podman update --memory 80m c1 >/dev/null; {limits}",
                "83886080 50000 100000 50",
            ),
            Step(
                "podman pause, podman unpause",
                "frozen, and not",
                "for what in pause unpause; do podman $what c1; grep frozen $cgroup/cgroup.events; done",
                "c1\nfrozen 1\nc1\nfrozen 0",
            ),
        ]
    return found


def _lxc(layout: str) -> Sequence[Step]:
    cgroup = "lxc.payload.c1"
    limits = read_files(layout, cgroup, "memory.max pids.max", "memory/memory.limit_in_bytes pids/pids.max")
    memory, pids = (
        by_layout(layout, "cgroup2.memory.max", "cgroup.memory.limit_in_bytes"),
        by_layout(layout, "cgroup2", "cgroup"),
    )
    frozen = by_layout(
        layout,
        f"grep frozen /sys/fs/cgroup/{cgroup}/cgroup.events",
        f"cat /sys/fs/cgroup/freezer/{cgroup}/freezer.state",
    )
    return [
        Step(
            "lxc-start",
            "the files hold the limits",
            f"""{bundle()}
            for name in /var/lib /var/cache /var/log; do mount -t tmpfs tmpfs $name || exit; done
            : >rootfs/dev/null; mkdir -p /var/lib/lxc/c1
            cat >/var/lib/lxc/c1/config <<END
lxc.uts.name = c1
lxc.rootfs.path = dir:/run/bundle/rootfs
lxc.net.0.type = none
lxc.autodev = 0
lxc.mount.entry = proc proc proc rw 0 0
lxc.mount.entry = /sys sys none rbind 0 0
lxc.mount.entry = /dev/null dev/null none bind 0 0
lxc.{memory} = 64M
lxc.{pids}.pids.max = 30
END
            lxc-start --name c1 -- /bin/sleep 60; {limits}""",
            "67108864 30",
        ),
        Step(
            "lxc-cgroup",
            "reads and writes the files",
            "lxc-cgroup --name c1 pids.max 31; lxc-cgroup --name c1 pids.max",
            "31",
        ),
        Step(
            "lxc-freeze, lxc-unfreeze",
            "frozen, and not",
            f"lxc-freeze --name c1; lxc-info --name c1 --state --no-humanize; {frozen}\n"
            f"lxc-unfreeze --name c1; lxc-info --name c1 --state --no-humanize; {frozen}",
            "FROZEN\n" + by_layout(layout, "frozen 1\nRUNNING\nfrozen 0", "FROZEN\nRUNNING\nTHAWED"),
        ),
        Step("lxc-stop", "its cgroup is gone", f"lxc-stop --kill --name c1; {find_cgroups('lxc.payload*')}", ""),
        Step(
            "lxc-start, with lxc.mount.auto = cgroup",
            "the container starts",
            f"""echo 'lxc.mount.auto = cgroup' >>/var/lib/lxc/c1/config
            lxc-start --name c1 -- /bin/sleep 60 >log 2>&1; lxc-info --name c1 --state --no-humanize
            lxc-stop --kill --name c1 2>/dev/null; {find_cgroups("lxc.payload*")}""",
            "RUNNING",
        ),
    ]


def _nspawn(layout: str) -> Sequence[Step]:
    mine, unified = by_layout(layout, "^0:", ":memory:"), by_layout(layout, "1", "0")
    return [
        Step(
            "systemd-nspawn --private-network",
            "in its cgroup namespace the cgroup is /",
            f"""{bundle()}
            mkdir -p rootfs/etc rootfs/usr/bin rootfs/seen/proc rootfs/seen/sys && : >rootfs/etc/os-release
            # without these a user namespace lets it mount neither, from 257 on (mount_namespaces(7))
            mount -t proc proc rootfs/seen/proc && mount -t sysfs sysfs rootfs/seen/sys
            SYSTEMD_NSPAWN_UNIFIED_HIERARCHY={unified} systemd-nspawn --quiet --register=no --keep-unit \\
                --private-network --directory rootfs --pipe /bin/grep {mine} /proc/self/cgroup 2>&1 |
                tail -1""",
            by_layout(layout, "0::/", "3:memory:/"),
        )
    ]


PROGRAMS = (
    Program(
        "containerd",
        "containerd",
        ("containerd", "ctr", "runc", "busybox"),
        _containerd,
        also=("runc", "busybox-static"),
    ),
    Program(
        "Docker",
        "docker.io",
        ("dockerd", "docker", "containerd", "runc", "busybox"),
        _docker,
        also=("busybox-static", *(() if this_release() == "Debian 12" else ("docker-cli",))),
        inside=("unshare", "--net"),
        many_users=True,
    ),
    Program(
        "podman",
        "podman",
        ("podman", "conmon", "crun", "busybox"),
        _podman,
        also=("conmon", "crun", "busybox-static"),
    ),
    Program("LXC", "lxc", ("lxc-start", "busybox"), _lxc, also=("busybox-static",), many_users=True),
    Program(
        "systemd-nspawn",
        "systemd-container",
        ("systemd-nspawn", "busybox"),
        _nspawn,
        also=("busybox-static",),
        inside=("unshare", "--fork", "--pid", "--net", "--mount-proc"),
        many_users=True,
    ),
)
