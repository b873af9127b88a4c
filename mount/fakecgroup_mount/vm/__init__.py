"""Boots kernel images under QEMU and has them answer cases.

`image` tells what a file is, `kernels` finds those that `scripts/oracle` has fetched. `guest_build` builds what the
machine boots into. `asking` boots it and brings the answers back. `survey` says what the kernel has.
"""
