"""A tree of cgroups as one page to look at.

`node` is what the page shows of a cgroup, `binding` finds whose limit acts on it, `of_files` makes the nodes of what
files say. `page` is the page: its data, and the style and script beside this file.
"""
