"""The engine on real kernels, from apply to down, with processes that use and exceed what their pods may use."""
