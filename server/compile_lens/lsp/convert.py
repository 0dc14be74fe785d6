"""Positions between our characters and the encoding that the client chose (UTF-16 in VS Code)."""

from __future__ import annotations

from lsprotocol import types

from ..text.source import Position, Range, Source

UTF8 = types.PositionEncodingKind.Utf8


def to_units(text: str, column: int, encoding: str) -> int:
    """Units of the client's encoding before a column in characters."""
    head = text[:column]
    if head.isascii() or encoding == types.PositionEncodingKind.Utf32:
        return len(head)
    if encoding == UTF8:
        return len(head.encode("utf-8", "surrogatepass"))
    return len(head) + sum(ord(character) > 0xFFFF for character in head)


def from_units(text: str, units: int, encoding: str) -> int:
    """Column in characters after so many units of the client's encoding; clamped to the line."""
    if text.isascii() or encoding == types.PositionEncodingKind.Utf32:
        return min(units, len(text))
    counted = 0
    for column, character in enumerate(text):
        if counted >= units:
            return column
        counted += (
            len(character.encode("utf-8", "surrogatepass")) if encoding == UTF8 else 1 + (ord(character) > 0xFFFF)
        )
    return len(text)


def to_position(source: Source, position: Position, encoding: str) -> types.Position:
    return types.Position(position.line, to_units(source.line(position.line), position.column, encoding))


def to_range(source: Source, place: Range, encoding: str) -> types.Range:
    return types.Range(to_position(source, place.start, encoding), to_position(source, place.end, encoding))


def from_position(source: Source, position: types.Position, encoding: str) -> Position:
    return Position(position.line, from_units(source.line(position.line), position.character, encoding))


def from_range(source: Source, place: types.Range, encoding: str) -> Range:
    return Range(from_position(source, place.start, encoding), from_position(source, place.end, encoding))


def overlap(a: Range, b: Range) -> bool:
    """Do two ranges share a position? Empty ranges touch what they stand at."""
    start, end = max(_key(a.start), _key(b.start)), min(_key(a.end), _key(b.end))
    return start <= end


def _key(position: Position) -> tuple[int, int]:
    return position.line, position.column
