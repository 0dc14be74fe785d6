"""What can go wrong with a file before anything is known about its code.

::

    SourceError
    ├── UnreadableFile       it cannot be opened, or is no file
    ├── UndecodableText      its bytes are not text in the encoding it declares
    └── UnparsableText       it is no valid Python (``line`` and ``column`` say where)
        └── TooDeeplyNested  brackets nested deeper than CPython accepts
"""

from __future__ import annotations

from typing import Optional


class SourceError(Exception):
    """A file that cannot be analysed; the message is one sentence for the user."""

    def __init__(self, message: str, line: Optional[int] = None, column: Optional[int] = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        """Zero-based line, where there is one."""
        self.column = column
        """Zero-based column in characters, where there is one."""


class UnreadableFile(SourceError):
    """The file cannot be opened."""


class UndecodableText(SourceError):
    """The bytes of the file are not text in the encoding that it declares."""


class UnparsableText(SourceError):
    """The text is not valid Python."""


class TooDeeplyNested(UnparsableText):
    """Brackets are nested deeper than CPython accepts; libcst's native parser could crash on them."""
