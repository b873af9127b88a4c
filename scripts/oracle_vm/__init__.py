"""The oracle: real kernels answer the cases of the conformance suite."""
