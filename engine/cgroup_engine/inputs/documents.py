"""Reads untrusted YAML and JSON files as plain data, part by part.

A JSON object is read by ``json_parts``. Everything else is YAML, and so is JSON that is wrong: ``yaml_parts`` says
where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from cgroup_engine.errors import InputError
from cgroup_engine.gc_pause import gc_paused
from cgroup_engine.inputs.document_parts import Document, Part
from cgroup_engine.inputs.input_text import InputText, TooLargeError
from cgroup_engine.inputs.json_parts import NotJsonError, json_parts
from cgroup_engine.inputs.standard_input import open_input

T = TypeVar("T")


def read_documents(path: Path, error: type[InputError]) -> list[Any]:
    """The documents of a small YAML or JSON file, without empty ones.

    :raises InputError: an error of the given class: unreadable, too large, not text, not YAML, no document at all.
    """

    def collect(parts: Iterator[Part]) -> list[Any]:
        return [part.value for part in parts if isinstance(part, Document) and part.value is not None]

    return read_parts(path, error, collect, split=False)


def read_parts(path: Path, error: type[InputError], collect: Callable[[Iterator[Part]], T], *, split: bool = True) -> T:
    """What ``collect`` makes of the parts of a file, or of standard input for ``-``.

    It is called a second time, from the beginning, if the text turns out to be no JSON after some parts.

    :raises InputError: an error of the given class: see ``parts_of_file``; it cannot be read.
    """
    where = str(path)
    try:
        with open_input(path) as file:
            return parts_of_file(file, where, error, collect, split=split)
    except OSError as failed:
        raise error(f"{where}: cannot be read: {failed.strerror}", path=where, errno=failed.errno) from None


def parts_of_file(
    file: BinaryIO,
    where: str,
    error: type[InputError],
    collect: Callable[[Iterator[Part]], T],
    *,
    split: bool = True,
    most_nodes: int | None = None,
) -> T:
    """``read_parts`` of an open file that can be read again; ``most_nodes`` bounds the values in YAML.

    :raises InputError: an error of the given class: not text, not YAML, empty, too deep, an object is too large.
    :raises OSError: it cannot be read.
    """
    with gc_paused():
        if _begins_an_object(file):
            try:
                return collect(_told(json_parts(InputText(file), split=split), where, error))
            except NotJsonError:
                pass  # YAML flow style, or a JSON document among others
        from cgroup_engine.inputs.yaml_parts import NotYamlError, yaml_parts  # PyYAML takes long to import

        file.seek(0)
        parts = yaml_parts(InputText(file), split=split, most_nodes=most_nodes)
        try:
            return collect(_told(parts, where, error))
        except NotYamlError as wrong:
            line = f", line {wrong.line}" if wrong.line is not None else ""
            raise error(f"{where}{line}: is not YAML: {wrong}", path=where, todo="correct the file") from None


def _begins_an_object(file: BinaryIO) -> bool:
    text = InputText(file)
    try:
        while (piece := text.read()) and not (piece := piece.lstrip()):
            pass
    except (UnicodeDecodeError, TooLargeError):
        return False
    finally:
        file.seek(0)
    return piece[:1] == "{"


def _told(parts: Iterator[Part], where: str, error: type[InputError]) -> Iterator[Part]:
    """The parts, with every failure as an error of the given class."""
    documents = 0
    try:
        for part in parts:
            documents += isinstance(part, Document) and part.value is not None
            yield part
    except UnicodeDecodeError:
        raise error(f"{where}: is not text in UTF-8", path=where, todo="give a YAML or JSON file") from None
    except TooLargeError as failed:
        spot = f"{where}: {failed.part}" if failed.part else where
        raise error(f"{spot}: {failed}", path=where, todo="split the file") from None
    except RecursionError:
        raise error(f"{where}: is nested too deeply", path=where, todo="give a YAML or JSON file") from None
    if documents == 0:
        raise error(f"{where}: is empty", path=where, todo="give a YAML or JSON file")
