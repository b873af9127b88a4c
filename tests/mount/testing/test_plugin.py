"""The pytest plugin, in pytest sessions inside a test."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fakecgroup_mount.errors import MountError
from fakecgroup_mount.host.mountinfo import mounts
from fakecgroup_mount.testing.trees import Trees

from ...waiting import wait_until
from ..conftest import needs_fuse, needs_root

PREFIX = "fakecgroup-pytest-"


@pytest.fixture(autouse=True)
def own_temporary_directory(pytester: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Mounts trees below a directory of the test's own, so that it sees only its own leftovers."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")  # which takes longer than the rest
    place = tmp_path / "trees"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.delenv("FAKECGROUP_REQUIRE", raising=False)
    return place


def left_in(place: Path) -> list[str]:
    """The mounts and directories of trees that are still there."""
    mounted = [mount.point for mount in mounts() if mount.point.startswith(str(place))]
    return mounted + [str(path) for path in place.glob(f"{PREFIX}*")]


def assert_nothing_left_soon(place: Path) -> None:
    wait_until(lambda: not left_in(place))


@needs_fuse
def test_each_test_has_an_empty_tree_of_its_own(pytester: pytest.Pytester, own_temporary_directory: Path) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("turn", range(3))
        def test_it(cgroupfs, turn):
            assert [path for path in cgroupfs.iterdir() if path.is_dir()] == []
            (cgroupfs / "a").mkdir()
            (cgroupfs / "cgroup.subtree_control").write_text("+pids")
            with pytest.raises(OSError, match="Invalid argument"):
                (cgroupfs / "a/pids.max").write_text("-1")
            (cgroupfs / "a/pids.max").open()  # never closed by the test
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=3)
    assert left_in(own_temporary_directory) == []


def test_the_marker_that_is_closest_to_the_test_wins(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        pytestmark = pytest.mark.cgroupfs(layout="v1", kernel="5.10", cpus=3)

        @pytest.mark.cgroupfs(kernel="6.1", memory="4Gi")
        class TestIt:
            @pytest.mark.cgroupfs(memory="2Gi", block_devices="259:0,259:1")
            def test_it(self, cgroup_kernel, cgroupfs_options):
                assert (cgroup_kernel.layout, cgroup_kernel.personality.name) == ("v1", "6.1")
                assert (cgroup_kernel.machine.cpus, cgroup_kernel.machine.memory) == (3, 2 << 30)
                assert cgroup_kernel.machine.block_devices == ("259:0", "259:1")
                assert (cgroupfs_options.kernel, cgroupfs_options.memory) == ("6.1", 2 << 30)
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_test_runs_with_each_of_what_is_listed(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_marked="""
        import pytest

        pytestmark = pytest.mark.cgroupfs(layout=["v1", "v2"])

        @pytest.mark.cgroupfs(kernel=["6.1", "7.2"])
        def test_both(cgroup_kernel, request):
            assert request.node.name == f"test_both[{cgroup_kernel.layout}-{cgroup_kernel.personality.name}]"

        @pytest.mark.cgroupfs(layout="v2", cpus=[1, 2])
        def test_cpus(cgroup_kernel, request):
            assert request.node.name == f"test_cpus[cpus={cgroup_kernel.machine.cpus}]"

        @pytest.fixture
        def mine(cgroup_kernel):
            return cgroup_kernel

        def test_through_another_fixture(mine, request):
            assert request.node.name == f"test_through_another_fixture[{mine.layout}]"
        """,
        test_parametrised="""
        import pytest

        @pytest.mark.cgroupfs(cpus=3, kernel="7.2")
        @pytest.mark.parametrize("cgroup_kernel", [{"layout": "v1", "kernel": "6.18"}, {}], indirect=True)
        def test_indirect(cgroup_kernel):
            assert cgroup_kernel.machine.cpus == 3
            assert (cgroup_kernel.layout, cgroup_kernel.personality.name) in [("v1", "6.18"), ("v2", "7.2")]
        """,
    )
    pytester.runpytest_inprocess().assert_outcomes(passed=4 + 2 + 2 + 2)


def test_what_is_wrong_with_a_marker_is_an_error_of_its_test_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import unittest
        import pytest

        @pytest.mark.cgroupfs(kernle="6.1")
        def test_name(cgroup_kernel): pass

        @pytest.mark.cgroupfs(memory="8Q")
        def test_value(cgroup_kernel): pass

        @pytest.mark.cgroupfs(kernel=["6.1", "2.6"])
        def test_kernel(cgroup_kernel): pass

        @pytest.mark.cgroupfs("v1")
        def test_position(cgroup_kernel): pass

        @pytest.mark.cgroupfs(cpus=2.5)
        def test_type(cgroup_kernel): pass

        @pytest.mark.cgroupfs(kernel=6.1)
        def test_version(cgroup_kernel): pass

        @pytest.mark.parametrize("cgroup_kernel", ["v1"], indirect=True)
        def test_parameter(cgroup_kernel): pass

        @pytest.mark.cgroupfs(layout=["v1", "v2"])
        class TestCase(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def kernel(self, cgroup_kernel): pass
            def test_list(self): pass
    """)
    done = pytester.runpytest_inprocess()
    done.assert_outcomes(passed=1, errors=8)
    done.stdout.fnmatch_lines_random(
        [
            "*::test_name: cgroupfs: there is no option 'kernle'; there are layout, kernel, cpus, *",
            "*::test_value: cgroupfs: memory: '8Q' is no size; *",
            "*::test_kernel?2.6?: cgroupfs: no kernel '2.6' for layout v2: *",
            "*::test_position: cgroupfs: options are given by name, such as layout='v1'",
            "*::test_type: cgroupfs: cpus: 2.5 is neither text nor a whole number",
            "*::test_version: cgroupfs: kernel: 6.1 is no text: quote it, kernel='6.1'",
            "*::test_parameter?v1?: cgroupfs: 'v1' is no dictionary of options, such as {'layout': 'v1'}",
            "*::test_list: cgroupfs: layout: ?'v1', 'v2'? is no text*a list of values * is for test functions",
        ]
    )


@needs_fuse
def test_nothing_is_left_of_failures_and_interrupts(pytester: pytest.Pytester, own_temporary_directory: Path) -> None:
    pytester.makepyfile("""
        import os

        def test_fails(cgroupfs, tmp_path):
            os.chdir(cgroupfs)
            assert False

        def test_is_interrupted(cgroupfs):
            raise KeyboardInterrupt
    """)
    done = pytester.runpytest_inprocess(no_reraise_ctrlc=True)
    assert done.ret == pytest.ExitCode.INTERRUPTED
    done.assert_outcomes(failed=1)
    assert left_in(own_temporary_directory) == []


@needs_fuse
def test_nothing_is_left_of_a_killed_session(pytester: pytest.Pytester, own_temporary_directory: Path) -> None:
    pytester.makepyfile("""
        import os, signal

        def test_it(cgroupfs):
            if os.fork() == 0:
                os.execvp("sleep", ["sleep", "3"])
            if os.fork() == 0:
                os.waitpid(0, 0)  # with everything open that the session had open
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=pytester.path, check=False, capture_output=True)
    assert done.returncode == -9
    assert_nothing_left_soon(own_temporary_directory)


@needs_fuse
def test_what_is_left_when_all_was_killed_the_next_session_takes_away(
    pytester: pytest.Pytester, own_temporary_directory: Path
) -> None:
    pytester.makepyfile("""
        import os, signal
        from pathlib import Path
        from fakecgroup_mount.fuse.about import DAEMON_XATTR

        def test_it(cgroupfs):
            left = Path("left")
            if left.exists():
                assert not os.path.lexists(left.read_text())
                return
            left.write_text(str(cgroupfs))
            daemon = int(os.getxattr(cgroupfs, DAEMON_XATTR))
            server = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
            for pid in (daemon, server, os.getpid()):
                os.kill(pid, signal.SIGKILL)
    """)
    command = [sys.executable, "-m", "pytest", "-q"]
    assert subprocess.run(command, cwd=pytester.path, check=False, capture_output=True).returncode == -9
    assert left_in(own_temporary_directory)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
    assert left_in(own_temporary_directory) == []


@needs_fuse
def test_a_tree_that_failed_fails_its_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, own_temporary_directory: Path
) -> None:
    pytester.makepyfile(
        sitecustomize="""
        def fail(*_):
            raise RuntimeError("a bug")

        if "fakecgroup_mount.testing.server" in __import__("sys").orig_argv:
            from fakecgroup_mount.fuse.requests import Requests
            Requests._statfs = fail
        """,
        test_it="""
        import os, signal, pytest
        from fakecgroup_mount.fuse.about import DAEMON_XATTR

        def test_bug(cgroupfs):
            with pytest.raises(OSError, match="Input/output error"):
                os.statvfs(cgroupfs)

        def test_death(cgroupfs):
            os.kill(int(os.getxattr(cgroupfs, DAEMON_XATTR)), signal.SIGKILL)

        def test_neither(cgroupfs):
            pass
        """,
    )
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    done = pytester.runpytest_inprocess()
    done.assert_outcomes(passed=3, errors=2)
    done.stdout.fnmatch_lines(
        ["the daemon of the cgroup tree has failed:", "RuntimeError: a bug", "*cgroup tree was killed by signal 9"]
    )
    assert left_in(own_temporary_directory) == []


@needs_fuse
def test_a_tree_of_the_factory_lasts_until_it_is_unmounted(
    pytester: pytest.Pytester, own_temporary_directory: Path
) -> None:
    pytester.makepyfile("""
        import os, pytest

        @pytest.fixture(scope="module")
        def tree(cgroupfs_factory):
            return cgroupfs_factory.mount(layout="v1", cpus=3)

        def test_one(tree):
            (tree / "cpu/a").mkdir()

        def test_two(tree, cgroupfs_factory):
            (tree / "cpu/a").rmdir()
            other = cgroupfs_factory.mount(kernel="7.2")
            (other / "a").mkdir()
            cgroupfs_factory.umount(other)
            assert not other.exists()
            with pytest.raises(ValueError, match="is none of the mounted trees of cgroupfs_factory"):
                cgroupfs_factory.umount(other)
            (tree / "cpu/b").mkdir()

        def test_wrong(cgroupfs_factory):
            with pytest.raises(ValueError, match="there is no option 'kernle'"):
                cgroupfs_factory.mount(kernle="7.2")
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=3)
    assert left_in(own_temporary_directory) == []


@needs_fuse
def test_processes_that_a_test_leaves_in_its_cgroups_live_on(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import os, resource, subprocess, time
        from pathlib import Path

        LOCKS = 10

        def state(process):
            return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]

        def test_leaves(cgroupfs, request):
            before = resource.getrlimit(LOCKS)
            process = subprocess.Popen(["sleep", "100"])
            request.session.left = process, before
            (cgroupfs / "a").mkdir()
            for pid in (process.pid, os.getpid()):
                (cgroupfs / "a/cgroup.procs").write_text(str(pid))
            (cgroupfs / "b").mkdir()
            (cgroupfs / "b/cgroup.procs").write_text(str(process.pid))
            (cgroupfs / "b/cgroup.freeze").write_text("1")
            while state(process) != "T":
                time.sleep(0.01)

        def test_next(cgroupfs, request):
            process, before = request.session.left
            assert state(process) == "S"
            assert str(process.pid) in (cgroupfs / "cgroup.procs").read_text().split()
            assert resource.getrlimit(LOCKS) == before
            process.kill()
            process.wait()
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


SKIPPING = "def test_it(cgroupfs): pass"


def test_where_nothing_can_be_mounted_a_test_is_skipped_or_fails_if_told(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise MountError("/dev/fuse is missing: some hint")

    monkeypatch.setattr(Trees, "mount", refuse)
    pytester.makepyfile(SKIPPING)
    done = pytester.runpytest_inprocess("-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines("SKIPPED * no cgroup tree here: /dev/fuse is missing: some hint")
    monkeypatch.setenv("FAKECGROUP_REQUIRE", "1")
    done = pytester.runpytest_inprocess()
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines("no cgroup tree here: /dev/fuse is missing: some hint (FAKECGROUP_REQUIRE is set)")


@needs_root
def test_a_missing_device_is_such_a_place(pytester: pytest.Pytester, own_temporary_directory: Path) -> None:
    pytester.makepyfile(SKIPPING)
    script = f"mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && exec {sys.executable} -m pytest -rs -q"
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], cwd=pytester.path, capture_output=True, text=True, check=False
    )
    if "unshare:" in done.stderr or "mknod:" in done.stderr:
        pytest.skip(f"no mount namespaces or device nodes here: {done.stderr}")
    assert done.returncode == 0, done.stdout
    assert "no cgroup tree here: /dev/fuse is missing" in done.stdout
    assert left_in(own_temporary_directory) == []


def test_a_session_that_uses_no_fixture_loads_neither_model_nor_transport(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import sys

        def test_it():
            ours = {name for name in sys.modules if name.partition(".")[0] in ("fakecgroup", "fakecgroup_mount")}
            plugins = {f"fakecgroup_mount.testing.{name}" for name in ("plugin", "conformance_plugin")}
            assert ours == {"fakecgroup_mount", "fakecgroup_mount.testing", *plugins}
    """)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=pytester.path, check=False, capture_output=True)
    assert done.returncode == 0, done.stdout


@needs_fuse
def test_a_unittest_case_takes_the_tree_by_a_fixture_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import unittest
        import pytest

        @pytest.mark.cgroupfs(layout="v1")
        class TestCase(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def take_tree(self, cgroupfs):
                self.tree = cgroupfs

            def test_it(self):
                self.assertTrue((self.tree / "cpu" / "cpu.shares").exists())
    """)
    pytester.runpytest_inprocess().assert_outcomes(passed=1)


def test_a_project_may_have_a_package_of_the_same_name_as_ours(
    pytester: pytest.Pytester, fuse: None, own_temporary_directory: Path
) -> None:
    pytester.mkpydir("mount")
    pytester.makepyfile("def test_it(cgroupfs): (cgroupfs / 'a').mkdir()")
    pytester.runpytest_inprocess().assert_outcomes(passed=1)
