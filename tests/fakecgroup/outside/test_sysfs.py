"""/sys/devices/system/cpu and node of a machine of another size than the one below."""

from __future__ import annotations

from fakecgroup import Kernel
from fakecgroup.machine.online_cpus import OnlineCpus
from fakecgroup.outside.sysfs import (
    Directory,
    File,
    Link,
    bus_directory,
    cpu_directory,
    huge_page_directory,
    node_directory,
)

CPU: Directory = {
    "online": File("0-1\n"),
    "possible": File("0-1\n"),
    "offline": File("\n"),
    "kernel_max": File("255\n"),
    "vulnerabilities/mds": File("Not affected\n"),
    "cpu0/topology/core_id": File("0\n"),
    "cpu0/topology/core_siblings": File("3\n"),
    "cpu0/topology/core_siblings_list": File("0-1\n"),
    "cpu0/cache/index0/shared_cpu_list": File("0\n"),
    "cpu0/cache/index0/size": File("48K\n"),
    "cpu0/cache/index3/shared_cpu_list": File("0-1\n"),
    "cpu0/node0": Link("../../node/node0"),
}
NODE: Directory = {
    "online": File("0\n"),
    "node0/numastat": File("numa_hit 275\nlocal_node 3\n"),
    "node0/compact": File("", 0o200),
    "node0/memory7": Link("../../memory/memory7"),
}
KERNEL = Kernel(cpus=6, numa_nodes=2, memory="8Gi")


def text(directory: Directory, path: str) -> str:
    """What a file says."""
    file = directory[path]
    assert isinstance(file, File)
    return file.text.removesuffix("\n")


def test_the_lists_of_cpus_are_those_of_the_stated_machine() -> None:
    made = cpu_directory(CPU, KERNEL.machine, KERNEL.personality, KERNEL.cpus)
    names = ("online", "possible", "present", "offline", "kernel_max", "vulnerabilities/mds")
    assert [text(made, name) for name in names] == ["0-5", "0-5", "0-5", "", "8191", "Not affected"]


def test_each_node_is_a_package_whose_cores_have_one_thread() -> None:
    made = cpu_directory(CPU, KERNEL.machine, KERNEL.personality, KERNEL.cpus)
    assert text(made, "cpu4/topology/core_id") == "1"
    assert text(made, "cpu4/topology/physical_package_id") == "1"
    assert text(made, "cpu4/topology/core_siblings") == "38"
    assert text(made, "cpu4/topology/core_siblings_list") == "3-5"
    assert made["cpu4/node1"] == Link("../../node/node1")


def test_a_cache_that_cpus_share_is_shared_in_a_package() -> None:
    made = cpu_directory(CPU, KERNEL.machine, KERNEL.personality, KERNEL.cpus)
    assert text(made, "cpu4/cache/index0/shared_cpu_list") == "4"
    assert text(made, "cpu4/cache/index3/shared_cpu_list") == "3-5"
    assert text(made, "cpu4/cache/index0/size") == "48K"


def test_all_cpus_but_the_first_have_the_file_that_takes_them_offline() -> None:
    made = cpu_directory(CPU, KERNEL.machine, KERNEL.personality, KERNEL.cpus)
    assert [number for number in range(7) if f"cpu{number}/online" in made] == [1, 2, 3, 4, 5]


def test_nodes_have_their_cpus_and_their_share_of_the_memory() -> None:
    made = node_directory(NODE, KERNEL.machine, KERNEL.personality, KERNEL.cpus)
    assert [text(made, f"node1/{name}") for name in ("cpulist", "cpumap", "distance")] == ["3-5", "38", "20 10"]
    assert text(made, "node1/meminfo").splitlines()[:2] == [
        *("Node 1 MemTotal:        4194304 kB", "Node 1 MemFree:         4194304 kB"),
    ]
    assert text(made, "node1/numastat") == "numa_hit 0\nlocal_node 0"
    assert made["node1/cpu5"] == Link("../../cpu/cpu5")
    assert "node0/memory7" not in made


def test_a_machine_without_nodes_gets_the_files_that_programs_read() -> None:
    made = node_directory({}, KERNEL.machine, KERNEL.personality, KERNEL.cpus)
    assert text(made, "online") == "0-1"
    assert text(made, "node0/meminfo").splitlines()[0] == "Node 0 MemTotal:        4194304 kB"


def test_huge_pages_are_taken_from_each_node_in_turn() -> None:
    machine = Kernel(numa_nodes=2, memory="8Gi", hugepages="2Mi=5,1Gi=1").machine
    made = node_directory(NODE, machine, KERNEL.personality, OnlineCpus(4))
    pages = [text(made, f"node{node}/hugepages/hugepages-2048kB/free_hugepages") for node in range(2)]
    assert (pages, text(made, "node1/hugepages/hugepages-1048576kB/nr_hugepages")) == (["3", "2"], "0")
    assert text(made, "node1/meminfo").splitlines()[1] == "Node 1 MemFree:         4190208 kB"


def test_all_huge_pages_are_free() -> None:
    made = huge_page_directory(Kernel(hugepages="2Mi=5").machine)
    names = ("nr_hugepages", "free_hugepages", "nr_overcommit_hugepages", "resv_hugepages", "surplus_hugepages")
    assert [text(made, f"hugepages-2048kB/{name}") for name in names] == ["5", "5", "0", "0", "0"]


def test_the_bus_links_to_each_device() -> None:
    assert bus_directory("node", 2)["node1"] == Link("../../../devices/system/node/node1")


def test_a_cpu_that_is_offline_keeps_its_directory_but_no_topology_and_no_cache() -> None:
    kernel = Kernel(cpus=6, numa_nodes=2, memory="8Gi")
    kernel.set_cpu_online(4, False)
    made = cpu_directory(CPU, kernel.machine, kernel.personality, kernel.cpus)
    assert [text(made, name) for name in ("online", "offline", "present", "cpu4/online")] == ["0-3,5", "4", "0-5", "0"]
    assert not [path for path in made if path.startswith(("cpu4/topology", "cpu4/cache"))]
    assert text(made, "cpu3/topology/core_siblings_list") == "3,5"
    nodes = node_directory(NODE, kernel.machine, kernel.personality, kernel.cpus)
    assert (text(nodes, "node1/cpulist"), nodes["node1/cpu4"]) == ("3,5", Link("../../cpu/cpu4"))
