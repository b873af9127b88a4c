"""From the tree that is there to the tree that is wanted: steps, and their order."""
