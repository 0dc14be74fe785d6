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
MAX_CHAIN = 1_000
"""Links of one expression (calls, attributes, operators) without a comma between them. The native parser takes time
by their square, seconds at this number, and trees become as deep as there are links."""

_TOKEN = re.compile(
    r"""(?sx)
      \#[^\r\n]*
    | [rbfut]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''
        |\"(?:\\.|[^\\"\r\n])*\"|'(?:\\.|[^\\'\r\n])*')
    | \\(?:\r\n|\r|\n)
    | (?P<word>\b(?:not|and|or|if|else|lambda|await|for|in|is)\b)
    | \.?\d[\w.]*(?:(?<=[eE])[-+]\d\w*)?
    | \w+
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<comma>,)
    | (?P<end>[\r\n;])
    | (?P<operator>\*\*|//|<<|>>|[<>=!]=|[-+*/%@&|^~<>.:])
    """,
    re.IGNORECASE,
)


def check_nesting(source: Source) -> None:
    """Refuse text whose nesting would crash or hang the native parser. Raises `TooDeeplyNested`."""
    links = [0]
    """Links of the expressions in progress, one for every open bracket."""
    for match in _TOKEN.finditer(source.text):
        kind = match.lastgroup
        if kind is None:
            continue
        if kind == "comma":
            links[-1] = 0
        elif kind == "close":
            if len(links) > 1:
                links.pop()
        elif kind == "end":
            if len(links) == 1:
                links[0] = 0
        else:
            links[-1] += 1
            if links[-1] > MAX_CHAIN:
                _too_deep(source, match.start(), f"one expression chains more than {MAX_CHAIN:,} operations")
            if kind == "open":
                links.append(0)
                if len(links) > MAX_NESTING + 1:
                    _too_deep(source, match.start(), f"brackets are nested deeper than {MAX_NESTING}")


def _too_deep(source: Source, offset: int, what: str) -> None:
    position = source.position(offset)
    raise TooDeeplyNested(
        f"{source.path}:{position.line + 1}: {what}, which is not analysed", position.line, position.column
    )


def _check_lines(source: Source) -> None:
    """Refuse a line that is data. Raises `UnparsableText`."""
    ends = [*source.line_starts[1:], len(source.text)]
    for line, (start, end) in enumerate(zip(source.line_starts, ends)):
        if end - start > MAX_LINE:
            raise UnparsableText(
                f"{source.path}:{line + 1}: a line of {end - start:,} characters; it looks like data, not code", line, 0
            )


def parse(source: Source) -> cst.Module:
    """Parse a whole file. Raises `UnparsableText` with the place of the error."""
    _check_lines(source)
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
