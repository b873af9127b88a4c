"""What changes a root: the steps carried out, under a lock, with a record of what was made."""
