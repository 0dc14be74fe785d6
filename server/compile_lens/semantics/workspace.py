"""The files that the analysed code consists of: found, read, parsed once; an editor's texts count before the disk's."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from pathlib import Path
from typing import Optional

import libcst as cst

from ..text.errors import SourceError
from ..text.parse import parse
from ..text.source import Source, read
from .code import Code
from .finder import Finder, Found

MAX_CHARACTERS = 6_000_000
"""Text of all parsed files that are kept; a tree takes about 150 bytes for each character of it."""


class Workspace:
    """Reads and parses files on demand. One serves any number of entry files."""

    def __init__(self, finder: Finder, limit: int = MAX_CHARACTERS) -> None:
        self.finder = finder
        self.limit = limit
        self._overlay: dict[str, Source] = {}
        self._codes: OrderedDict[str, tuple[Source, Optional[Code]]] = OrderedDict()
        self._size = 0
        self._texts: dict[str, tuple[object, Optional[Source]]] = {}

    # --- texts -----------------------------------------------------------------------------------------------------

    def hold(self, source: Source) -> None:
        """An editor holds a text for this file: it counts, not what is on disk."""
        self._overlay[os.path.abspath(source.path)] = source

    def release(self, path: str) -> None:
        self._overlay.pop(os.path.abspath(path), None)

    def source(self, path: str) -> Optional[Source]:
        """The text of a file; ``None`` when it cannot be read."""
        held = self._overlay.get(path)
        if held is not None:
            return held
        stamp = _stamp(path)
        known = self._texts.get(path)
        if known is None or known[0] != stamp:
            try:
                known = stamp, read(Path(path))
            except SourceError:
                known = stamp, None
            self._texts[path] = known
        return known[1]

    def code(self, path: str) -> Optional[Code]:
        """A file and its tree; ``None`` when it cannot be read or parsed."""
        source = self.source(path)
        if source is None:
            return None
        known = self._codes.get(path)
        if known is not None and known[0] is source:
            self._codes.move_to_end(path)
            return known[1]
        try:
            tree: Optional[cst.Module] = parse(source)
        except SourceError:
            tree = None
        return self.keep(source, tree)

    def parsed(self, source: Source) -> Optional[cst.Module]:
        """The tree of this very text, if it is known."""
        known = self._codes.get(source.path)
        return known[1].tree if known is not None and known[1] is not None and known[0].text == source.text else None

    def keep(self, source: Source, tree: Optional[cst.Module]) -> Optional[Code]:
        """Remember what a text parses to; the files not looked at for longest are forgotten when there are too many."""
        code = Code(source, tree) if tree is not None else None
        old = self._codes.pop(source.path, None)
        if old is not None:
            self._size -= len(old[0].text)
        self._codes[source.path] = source, code
        self._size += len(source.text)
        while self._size > self.limit and len(self._codes) > 1:
            gone, (dropped, _) = self._codes.popitem(last=False)
            self._texts.pop(gone, None)
            self._size -= len(dropped.text)
        return code

    # --- modules ---------------------------------------------------------------------------------------------------

    def find(self, importer: str, name: str) -> Optional[Found]:
        """The module that a dotted name with leading dots for relative imports means in a file."""
        stripped = name.lstrip(".")
        level = len(name) - len(stripped)
        if level:
            return self.finder.relative(importer, level, stripped)
        return self.finder.absolute(importer, stripped)


def _stamp(path: str) -> object:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def digest(source: Source) -> str:
    """What identifies a text."""
    return hashlib.blake2b(source.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
