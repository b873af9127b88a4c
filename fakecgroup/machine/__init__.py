"""Which kernel the model plays, on which machine, and the options that say so."""
