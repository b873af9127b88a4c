"""The kernel and the machine that the model plays, and the options that choose them."""
