"""From the found tree to the wanted tree: steps, and their order."""
