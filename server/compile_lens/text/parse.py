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
    | \d[\w.]*
    | (?P<bracket>[()\[\]{}])
    | (?P<comma>,)
    | (?P<end>[\r\n;])
    | (?P<operator>\.|\bnot\b|[-+~]|\*\*|\bif\b|\blambda\b|\bawait\b)
    """,
    re.IGNORECASE,
)


def check_nesting(source: Source) -> None:
    """Refuse text whose nesting would crash or hang the native parser. Raises `TooDeeplyNested`."""
    chains = [0]  # operations so far in the expression at every bracket depth
    for match in _TOKEN.finditer(source.text):
        kind = match.lastgroup
        if kind == "bracket" and match.group() in "([{":
            chains[-1] += 1  # a call or subscript continues the chain that it stands in
            chains.append(0)
            if len(chains) - 1 > MAX_NESTING:
                _too_deep(source, match.start(), f"brackets are nested deeper than {MAX_NESTING}")
        elif kind == "bracket":
            if len(chains) > 1:
                chains.pop()
        elif kind == "operator":
            chains[-1] += 1
        elif kind == "comma" or (kind == "end" and len(chains) == 1):
            chains[-1] = 0
        if chains[-1] > MAX_CHAIN:
            _too_deep(source, match.start(), f"one expression chains more than {MAX_CHAIN} operations")


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
