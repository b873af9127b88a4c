"""What real kernels answered, and the means to ask anything else the same questions."""
