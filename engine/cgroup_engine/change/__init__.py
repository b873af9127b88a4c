"""The only room that changes a root: it executes plans, moves and kills processes, and keeps lock and record."""
