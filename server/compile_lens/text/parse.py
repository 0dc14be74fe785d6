"""Parsing with libcst, behind guards against what its native parser does not survive."""

from __future__ import annotations

import re

import libcst as cst

from .errors import TooDeeplyNested, UnparsableText
from .source import Source

MAX_NESTING = 200
"""CPython's own limit for nested brackets (``MAXSTACK`` and ``too many nested parentheses``)."""
MAX_LINE = 1_000_000
"""Characters in one line beyond which a file is data, not code."""
MAX_CHAIN = 2_000
"""Links of one attribute or call chain; libcst's native parser recurses on each."""

_TOKEN = re.compile(
    r"""(?sx)
      \#[^\r\n]*
    | (?:[rbfut]{0,2})(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?''')
    | (?:[rbfut]{0,2})(?:\"(?:\\.|[^\\"\r\n])*\"|'(?:\\.|[^\\'\r\n])*')
    | (?P<bracket>[()\[\]{}])
    | (?P<end>[\r\n;])
    | (?P<operator>\.|\bnot\b|[-+~]|\*\*|\bif\b|\blambda\b|\bawait\b)
    """,
    re.IGNORECASE,
)


def check_nesting(source: Source) -> None:
    """Refuse text whose nesting would crash or hang the native parser. Raises `TooDeeplyNested`."""
    depth = chain = 0
    for match in _TOKEN.finditer(source.text):
        kind = match.lastgroup
        if kind == "bracket":
            if match.group() in "([{":
                depth += 1
                if depth > MAX_NESTING:
                    _too_deep(source, match.start(), f"brackets are nested deeper than {MAX_NESTING}")
            else:
                depth = max(0, depth - 1)
        elif kind == "operator":
            chain += 1
            if chain > MAX_CHAIN:
                _too_deep(source, match.start(), f"one statement chains more than {MAX_CHAIN} operations")
        elif kind == "end" and depth == 0:
            chain = 0


def _too_deep(source: Source, offset: int, what: str) -> None:
    position = source.position(offset)
    raise TooDeeplyNested(
        f"{source.path}:{position.line + 1}: {what}, which is not analysed", position.line, position.column
    )


def parse(source: Source) -> cst.Module:
    """Parse a whole file. Raises `UnparsableText` with the place of the error."""
    longest = max((b - a for a, b in zip(source.line_starts, source.line_starts[1:])), default=len(source.text))
    if longest > MAX_LINE:
        raise UnparsableText(f"{source.path} has a line of {longest} characters; it looks like data, not code")
    check_nesting(source)
    try:
        return cst.parse_module(source.text)
    except cst.ParserSyntaxError as error:
        line, column = max(error.raw_line - 1, 0), max(error.raw_column, 0)
        raise UnparsableText(
            f"{source.path}:{line + 1}: invalid Python syntax; findings return when the file parses", line, column
        ) from error
    except (ValueError, RecursionError) as error:
        raise UnparsableText(f"{source.path} cannot be parsed: {error}") from error
