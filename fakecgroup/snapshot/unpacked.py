"""What is in a gzip file, piece by piece and within a bound."""

from __future__ import annotations

import gzip
import io
import zlib

from .fields import FieldError

MOST_BYTES = 256 << 20


class Unpacked(io.RawIOBase):
    """The content as a stream. Reads raise FieldError: it is no gzip, it is cut off, it is too much."""

    def __init__(self, data: bytes) -> None:
        self._file = gzip.GzipFile(fileobj=io.BytesIO(data))
        self._size = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            chunk = self._file.read(size if 0 <= size <= MOST_BYTES else MOST_BYTES + 1)
        except EOFError:
            raise FieldError("it is cut off") from None
        except (OSError, zlib.error):
            raise FieldError("it is damaged" if self._size else "it is not gzip") from None
        self._size += len(chunk)
        if self._size > MOST_BYTES:
            raise FieldError(f"it has more than {MOST_BYTES >> 20} MiB unpacked")
        return chunk
