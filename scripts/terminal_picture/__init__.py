"""A picture of a program's output on a terminal."""
