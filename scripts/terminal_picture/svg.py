"""Terminal output as an SVG that fetches nothing."""

from __future__ import annotations

import io
import re

from rich.console import Console
from rich.text import Text

from .terminal import COLUMNS


def picture_of(printed: str, title: str) -> str:
    """The SVG of what a program printed, with a monospaced font of the reader's machine."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(printed), soft_wrap=True)
    svg = console.export_svg(title=title, unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    return "".join(f"{line.rstrip()}\n" for line in svg.replace("Fira Code, monospace", "monospace").splitlines())
