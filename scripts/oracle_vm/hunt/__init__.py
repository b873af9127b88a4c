"""What programs ask of cgroups and do not get: findings, with what booted kernels answered."""
