"""The site's Sphinx configuration. scripts/docs builds it."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))

project = "fakecgroup"
author = "the fakecgroup authors"
release = version = version_of("fakecgroup")

extensions = ["myst_parser", "sphinx.ext.autodoc", "documentation.extension"]
smartquotes = False
default_role = "literal"  # docstrings have `names` between single backticks
myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"

toc_object_entries = False

html_theme = "furo"
html_title = "fakecgroup"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["wide.css"]

man_pages = [
    ("reference/fakecgroup", "fakecgroup", "a file system that answers like the kernel's cgroups", author, 1),
    ("reference/cgroup-engine", "cgroup-engine", "the kubelet's cgroup hierarchy, planned and applied", author, 1),
    ("reference/kubectl-cgroups", "kubectl-cgroups", "a pod's cgroups, by its name in a cluster", author, 1),
]
