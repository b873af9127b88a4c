"""What limits do to real processes: scenarios played in booted kernels, recorded, and held against the model."""
