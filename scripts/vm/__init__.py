"""Virtual machines under QEMU: Debian's kernels, the roots that they boot with, and the boots themselves."""
