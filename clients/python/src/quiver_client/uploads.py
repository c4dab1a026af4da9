"""A file on its way to the service, as a multipart form."""

from __future__ import annotations

import io
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias, Union

__all__ = ["UploadProgress", "UploadSource"]

UploadSource: TypeAlias = Union[str, "os.PathLike[str]", bytes, IO[bytes]]
"""A path, the bytes themselves, or an open binary file."""

CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class UploadProgress:
    """How much of a file was sent; ``total_bytes`` is None where its size is not known."""

    sent_bytes: int
    total_bytes: int | None


class UploadForm:
    """The form around one file. ``open`` begins it anew, for each attempt."""

    def __init__(self, source: UploadSource, *, filename: str | None, fields: dict[str, str]) -> None:
        self._source = source
        boundary = secrets.token_hex(16)
        self.content_type = f"multipart/form-data; boundary={boundary}"
        name = filename or _name_of(source)
        if name is None:
            raise ValueError("a file without a name needs filename=")
        parts = [f'--{boundary}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n' for key, value in fields.items()]
        parts.append(
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{_quoted(name)}"\r\nContent-Type: text/plain\r\n\r\n'
        )
        self.head = "".join(parts).encode()
        self.tail = f"\r\n--{boundary}--\r\n".encode()
        self._start = source.tell() if not isinstance(source, (str, os.PathLike, bytes)) and source.seekable() else None

    @property
    def is_repeatable(self) -> bool:
        """Whether the file can be read again."""
        return isinstance(self._source, (str, os.PathLike, bytes)) or self._start is not None

    def open(self) -> tuple[IO[bytes], int | None, bool]:
        """The file at its beginning, its size if that is known, and whether it is ours to close."""
        source = self._source
        if isinstance(source, bytes):
            return io.BytesIO(source), len(source), True
        if isinstance(source, (str, os.PathLike)):
            file = Path(source).open("rb")  # noqa: SIM115
            return file, os.fstat(file.fileno()).st_size, True
        if self._start is None:
            return source, None, False
        size = source.seek(0, os.SEEK_END) - self._start
        source.seek(self._start)
        return source, size, False


def _name_of(source: UploadSource) -> str | None:
    if isinstance(source, (str, os.PathLike)):
        return Path(source).name
    name = getattr(source, "name", None)
    return Path(name).name if isinstance(name, str) else None


def _quoted(name: str) -> str:
    # As browsers do it.
    return name.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
