"""Tasks, what they use, and the accounts that charge it to cgroups."""
