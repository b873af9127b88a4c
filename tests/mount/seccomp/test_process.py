"""What a process has run, and whether it has one thread."""

from __future__ import annotations

import os
import subprocess
import threading

from fakecgroup_mount.seccomp.process import is_single_threaded, process_ran

from ...waiting import wait_until

BUSY = "while :; do :; done"


def test_what_a_process_has_run_grows_while_it_computes() -> None:
    with subprocess.Popen(["sh", "-c", BUSY]) as busy:
        before = process_ran(busy.pid)
        assert before is not None
        wait_until(lambda: (process_ran(busy.pid) or 0) > before)
        busy.kill()
    assert process_ran(busy.pid) is None


def test_a_thread_that_leads_no_process_has_no_such_time() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    assert process_ran(thread.native_id or 0) is None
    assert not is_single_threaded(os.getpid())
    over.set()
    thread.join()


def test_a_program_without_threads_has_one() -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        alone = is_single_threaded(process.pid)
        process.kill()
    assert alone
    assert not is_single_threaded(process.pid)
