"""The Sphinx extension: fills the generated parts of a page as it is read; no controller may be left out."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from .interface_files import controllers
from .parts import filled


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", _check_controllers)
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _check_controllers(app: Sphinx) -> None:
    pages = {page.stem for page in Path(app.srcdir, "reference", "controllers").glob("*.md")} - {"index"}
    if missing := {*controllers()} ^ pages:
        raise ExtensionError(f"reference/controllers: pages and controllers differ: {', '.join(sorted(missing))}")
    for controller in controllers():
        filled(f"<!-- generated: controller {controller} -->")  # here, once, and not in each process that reads pages


def _fill(app: Sphinx, page: str, source: list[str]) -> None:
    try:
        source[0] = filled(source[0])
    except ValueError as error:
        raise ExtensionError(f"{page}: {error}") from error
