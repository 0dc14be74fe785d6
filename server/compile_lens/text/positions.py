"""Where nodes stand in the text, computed only for the nodes that are asked for.

libcst keeps no positions in its trees; its ``PositionProvider`` records every node and costs twice the parse. One
code generation that watches a handful of nodes costs a fraction of it, and nothing where there are no findings.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Optional

import libcst as cst
from libcst._nodes.internal import CodegenState

from .source import Position, Range, Source


class _Recorder(CodegenState):
    """Writes the module again while counting lines, noting where wanted nodes begin and end."""

    def __init__(self, module: cst.Module, wanted: set[int]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.wanted = wanted
        self.ranges: dict[int, Range] = {}
        self.line = 0
        self.column = 0
        self._starts: list[Position] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.column += len(token)

    def add_token(self, value: str) -> None:
        newlines = value.count("\n")
        if newlines or "\r" in value:
            newlines += value.count("\r") - value.count("\r\n")
            self.line += newlines
            self.column = len(value) - 1 - max(value.rfind("\n"), value.rfind("\r"))
        else:
            self.column += len(value)

    def pop_trailing_newline(self) -> None:
        """The text itself is not kept, so there is nothing to take back."""

    def before_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            self._starts.append(Position(self.line, self.column))

    def after_codegen(self, node: cst.CSTNode) -> None:
        if id(node) in self.wanted:
            start = self._starts.pop()
            # Set already where the node has leading lines or parentheses that are no part of its syntax.
            self.ranges.setdefault(id(node), Range(start, Position(self.line, self.column)))

    @contextmanager
    def record_syntactic_position(
        self,
        node: cst.CSTNode,
        *,
        start_node: Optional[cst.CSTNode] = None,
        end_node: Optional[cst.CSTNode] = None,
    ) -> Generator[None]:
        if id(node) not in self.wanted:
            yield
            return
        start = Position(self.line, self.column)
        extra = [id(n) for n in (start_node, end_node) if n is not None and id(n) not in self.wanted]
        self.wanted.update(extra)
        yield
        self.wanted.difference_update(extra)
        end = Position(self.line, self.column)
        if start_node is not None and id(start_node) in self.ranges:
            start = self.ranges[id(start_node)].start
        if end_node is not None and id(end_node) in self.ranges:
            end = self.ranges[id(end_node)].end
        self.ranges[id(node)] = Range(start, end)


def locate(module: cst.Module, nodes: Iterable[cst.CSTNode], source: Source) -> dict[int, Range]:
    """Ranges of the given nodes of one module, keyed by ``id(node)``; decorators and comments are left out."""
    wanted = {id(node) for node in nodes}
    if not wanted:
        return {}
    recorder = _Recorder(module, wanted)
    codegen: Any = module._codegen  # pyright: ignore[reportPrivateUsage]  # libcst's own providers call it so
    codegen(recorder)
    lost = _lost_columns(module, source)
    if not lost:
        return recorder.ranges
    return {key: Range(_shifted(r.start, lost), _shifted(r.end, lost)) for key, r in recorder.ranges.items()}


def _lost_columns(module: cst.Module, source: Source) -> dict[int, int]:
    """Characters at the start of lines that the tree does not keep: libcst drops a form feed in an indentation."""
    if "\x0c" not in source.text:
        return {}
    generated = Source("", module.code)
    lost: dict[int, int] = {}
    for line in range(len(source.line_starts)):
        text, kept = source.line(line), generated.line(line)
        if len(text) > len(kept) and text.endswith(kept):
            lost[line] = len(text) - len(kept)
    return lost


def _shifted(position: Position, lost: dict[int, int]) -> Position:
    return Position(position.line, position.column + lost.get(position.line, 0))


class Locator:
    """Finds the ranges of nodes of one module, and remembers them: each look through the module costs as a parse does.

    Fixes ask for the parts of the statements that they mend; with the first of them all are found.
    """

    def __init__(self, module: cst.Module, source: Source, parts_of: Iterable[cst.CSTNode] = ()) -> None:
        self._module = module
        self._source = source
        self._whole = list(parts_of)
        self._ranges: dict[int, Range] = {}

    def __call__(self, nodes: Sequence[cst.CSTNode]) -> dict[int, Range]:
        """Ranges by ``id``, of these nodes and of all that were asked for before."""
        missing = [node for node in nodes if id(node) not in self._ranges]
        if missing:
            if self._ranges:
                missing += [part for node in self._whole for part in _parts(node)]
                self._whole.clear()
            self._ranges.update(locate(self._module, missing, self._source))
        return self._ranges


def _parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in node.children:
        yield child
        yield from _parts(child)
