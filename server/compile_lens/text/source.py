"""Text as Python and the Language Server Protocol see it: decoding and the table of lines.

Lines end at ``\\n``, ``\\r\\n`` or ``\\r`` only, as in LSP and libcst; ``str.splitlines`` would also split at form
feeds and shift every later line of an old GNU-style file.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import shutil
import tokenize
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import UndecodableText, UnreadableFile

_NEWLINE = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class Position:
    """Zero-based line, and column in characters (code points)."""

    line: int
    column: int


@dataclass(frozen=True)
class Range:
    """Half-open range of positions."""

    start: Position
    end: Position


@dataclass(frozen=True)
class Source:
    """The text of one file, and where its lines begin."""

    path: str
    text: str

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset (characters) at which every line begins."""
        return [0] + [match.end() for match in _NEWLINE.finditer(self.text)]

    @cached_property
    def newline(self) -> str:
        """The line ending that the file uses first; ``\\n`` when it has none."""
        match = _NEWLINE.search(self.text)
        return match.group() if match else "\n"

    def line(self, index: int) -> str:
        """Text of one line without its ending."""
        if not 0 <= index < len(self.line_starts):
            return ""
        start = self.line_starts[index]
        end = self.line_starts[index + 1] if index + 1 < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")

    def offset(self, position: Position) -> int:
        """Offset (characters) of a position, clamped to the text."""
        if position.line >= len(self.line_starts):
            return len(self.text)
        return min(self.line_starts[position.line] + position.column, len(self.text))

    def between(self, place: Range) -> str:
        """The text in a range."""
        return self.text[self.offset(place.start) : self.offset(place.end)]

    def position(self, offset: int) -> Position:
        """Position of an offset (characters)."""
        line = bisect_right(self.line_starts, offset) - 1
        return Position(line, offset - self.line_starts[line])


def read(path: Path) -> Source:
    """Read and decode a Python file as CPython would: byte order mark, then coding comment, then UTF-8.

    Raises `UnreadableFile` and `UndecodableText`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"cannot read {path}: {error.strerror or error}") from error
    return Source(str(path), decode(data, str(path)))


def write(path: Path, text: str) -> None:
    """Replace the text of a Python file; its byte order mark and encoding stay. Raises `UndecodableText`, `OSError`.

    The file is never seen half written: a copy takes its place.
    """
    data = path.read_bytes()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)  # ``utf-8-sig`` where there is a mark
        encoded = text.encode(encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise UndecodableText(f"{path} cannot be written in the encoding it declares ({error})") from error
    target = path.resolve()  # a link stays a link
    copy = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        copy.write_bytes(encoded)
        shutil.copymode(target, copy)
        copy.replace(target)
    finally:
        copy.unlink(missing_ok=True)


def decode(data: bytes, name: str) -> str:
    """Decode the bytes of a Python file. Raises `UndecodableText`."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise UndecodableText(
            f"{name} is not text in the encoding it declares ({error}); save it as UTF-8 or correct its coding comment"
        ) from error
    if "\0" in text:
        raise UndecodableText(f"{name} contains null bytes; it is not Python source")
    return text.removeprefix("\ufeff") if data.startswith(codecs.BOM_UTF8) else text
