"""Texts that find the edges of a kernel parser, in groups, and the cases made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fakecgroup.conformance.case import Case, bytes_data


def padded(text: str, filler: str, size: int) -> dict[str, Any]:
    """``text`` followed by as much filler as makes ``size`` bytes."""
    return {"join": [text, {"repeat": [filler, size - len(text)]}]}


#: Data by group.  Every group ends where it began, so groups can be read alone.
GROUPS: dict[str, list[Any]] = {
    "nothing": ["", "\n", " ", "\t", "\0", "\n\n", " \n", "\0\0", "\r", "\v", "\f"],
    "white space": [
        "7", " 7", "7 ", "\t7", "7\t", "7\n", "7\n\n", "\n7", " 7\n", "7 \n", "7\r\n", "7\r", "\v7", "7\v", "\f7",
        "7\f",
        "  7  ", "\t 7\t \n", bytes_data(b"\xa07"), bytes_data(b"7\xa0"), "\u00a07",
    ],
    "signs": ["+7", "-0", "+0", "-1", "-7", "--7", "+-7", "-+7", "++7", "+", "-", "+ 7", "- 7", "-1\n", " -1", "-1 ",
    "-2"],
    "bases": [
        "0x10", "0X10", "0x", "0xg", "0x1g", "x10", "0xFF", "0xff", "010", "08", "07", "018", "00", "0007", "0b1",
        "0b101",
        "0o7", "#7", "$7", "+0x10", "-0x10", "+010", "0 x10", "0x 10", "0x-1", "0x+1",
    ],
    "suffixes": [
        "7k", "7K", "7m", "7M", "7g", "7G", "7t", "7T", "7p", "7P", "7e", "7E", "7b", "7B", "7kb", "7KB", "7Ki", "7KiB",
        "7 K", "7k\n", "7K 7", "k", "K", "M", "kK", "7kk", "0x10k", "0x10K", "010k", "4096K", "7%", "7us", "7ms",
        "+7k", "-7k",
        "0k", "1E", "8E", "15E", "16E", "17E", "1P", "16384P", "16383P", "7Z", "7Y",
    ],
    "words": [
        "max", "max\n", " max", "max ", "\tmax\n", "maxx", "0max", "max0", "MAX", "Max", "ma", "m", "max max",
        "max 7", "7 max",
        "max\0", "max\0x", "default", "default 7", "inf", "infinity", "unlimited", "none", "auto", "on", "off",
        "true", "y",
        "abc", "nan", "e", "x",
    ],
    "more than one": [
        "7 8", "7 8\n", "7\t8", "7\n8", "7\n8\n", "7,8", "7;8", "7:8", "7/8", "7-8", "7x", "7abc", "7 abc", "7.0",
        "7.5", "1.5",
        "1e3", "1_000", "1,000", "7\0", "7\0008", "7\0abc", "7\0\n", "\0007", "7\n\0", "7 \0", "7'", '"7"', "'7'",
        "\uff17", "7\u00e9", bytes_data(b"\xff"), bytes_data(b"7\xff"),
    ],
    "big numbers": [
        "100", "101", "127", "128", "255", "256", "1000", "1023", "1024", "4095", "4096", "4097", "8191", "8192",
        "9999", "10000",
        "10001", "32767", "32768", "65535", "65536", "99999", "100000", "262144", "262145", "999999", "1000000",
        "1000001",
        "4194303", "4194304", "4194305", "16777216", "2147483646", "2147483647", "2147483648", "2147483649",
        "4294967294",
        "4294967295", "4294967296", "4294967297", "17592186044415", "17592186044416", "9007199254740993",
        "9223372036854771711", "9223372036854771712", "9223372036854775806", "9223372036854775807",
        "9223372036854775808",
        "9223372036854775809", "18446744073709551614", "18446744073709551615", "18446744073709551616",
        "18446744073709551617", "18446744073709555712", "36893488147419103232", "99999999999999999999",
        "340282366920938463463374607431768211456", {"repeat": ["9", 60]}, {"repeat": ["1", 200]},
        "0x7fffffff", "0x80000000", "0xffffffff", "0x100000000", "0x7fffffffffffffff", "0x8000000000000000",
        "0xffffffffffffffff", "0x10000000000000000", "01777777777777777777777", "02000000000000000000000",
        "-2147483648", "-2147483649", "-4294967296", "-9223372036854775807", "-9223372036854775808",
        "-9223372036854775809",
        "-18446744073709551615", "-18446744073709551616",
        "000000000000000000000000000000000000000000000000007", {"join": [{"repeat": ["0", 100]}, "7"]},
        {"join": ["0x", {"repeat": ["0", 100]}, "7"]},
    ],
    "length": [
        padded("7", " ", 4094), padded("7", " ", 4095), padded("7", " ", 4096), padded("7", " ", 4097),
        padded("7", "\n", 4096), padded("7", "\n", 4097), padded("7", "\0", 4095), padded("7", "\0", 4096),
        padded("7", "\0", 4097),
        padded("7\n", "\0", 4096), padded("7\n", "\0", 8192), {"join": [{"repeat": [" ", 4095]}, "7"]},
        {"join": [{"repeat": ["0", 4094]}, "7"]}, {"join": [{"repeat": ["0", 4095]}, "7"]},
        {"join": [{"repeat": ["0", 4096]}, "7"]},
        {"repeat": ["7", 4096]}, {"repeat": ["7", 4097]}, {"repeat": ["x", 4096]}, {"repeat": ["x", 5000]},
        {"repeat": ["\n", 4096]}, {"repeat": ["\0", 4097]}, {"repeat": ["7\n", 2048]}, {"repeat": ["7\n", 50000]},
    ],
}  # fmt: skip


def each_read_back(path: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Write each value and read the file after it."""
    return [op for value in values for op in (("write", path, value), ("read", path))]


def parser_cases(
    layout: str, path: str, setup: Sequence[tuple[Any, ...]], first: Any, edges: Sequence[Any] = ()
) -> Iterator[Case]:
    """The parser of one file: every group of texts after the valid value ``first``, then the file's own edges."""
    file = path.rpartition("/")[2]
    for group, values in GROUPS.items():
        ops = (*setup, ("read", path), *each_read_back(path, [first, *values]))
        yield Case(f"{file} parses {group}", layout, ops)
    if edges:
        yield Case(f"{file} at its own edges", layout, (*setup, ("read", path), *each_read_back(path, edges)))


def short_parser_cases(
    layout: str, path: str, setup: Sequence[tuple[Any, ...]], values: Sequence[Any] = ()
) -> Iterator[Case]:
    """For files that take anything or nothing: a few texts of every kind."""
    file = path.rpartition("/")[2]
    some = ["", "\n", "0", "1", "7", "-1", "+1", " 1", "1 ", "1\n", "0x1", "01", "2", "max", "abc", "1 1", "4294967296",
            "18446744073709551615", "18446744073709551616", {"repeat": ["1", 4096]},
            {"repeat": ["1", 4097]}]  # fmt: skip
    ops = (*setup, ("read", path), *each_read_back(path, [*some, *values]))
    yield Case(f"{file} takes what is written", layout, ops)
