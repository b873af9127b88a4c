"""Callers, their capabilities, and what they may do to an inode."""
