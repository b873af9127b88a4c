"""What recorded kernels answered to one case, beside each other.

`explanation` finds the case and the answers, `kernel_functions` which functions of the kernel gave them, `as_table` and
`as_json` print them.
"""
