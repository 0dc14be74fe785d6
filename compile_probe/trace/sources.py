"""Finds the files that a trace speaks of among those at hand, by what they say.

A trace names files as the traced process saw them: in a container, on another host, in last week's version. It also
quotes lines. A file is taken for the traced one only where the quoted lines agree; where it changed since, single lines
are found again by their text if it is unique in the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Optional

_IGNORED = {".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", "site-packages"}
_MOST = 50_000
_LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True)
class Place:
    """Where a traced file was found.

    ``state``: ``same`` (all quoted lines agree), ``changed`` (some do), ``unquoted`` (it stands at its path and the
    trace quotes none of it), ``other`` (a file of that name is there and says something else), ``missing``.
    ``lines`` maps lines that moved; None stands for one that is gone.
    """

    path: Optional[str]
    state: str
    agreeing: int = 0
    quoted: int = 0
    lines: tuple[tuple[int, Optional[int]], ...] = ()

    def line(self, traced: int) -> Optional[int]:
        """The line here of a traced line; one that is quoted nowhere moves with the quoted line above it."""
        if self.path is None:
            return None
        if self.state in ("same", "unquoted"):
            return traced
        moved = dict(self.lines)
        if traced in moved:
            return moved[traced]
        above = [line for line, here in self.lines if line < traced and here is not None]
        below = [line for line, here in self.lines if line > traced and here is not None]
        if not above or not below:
            return None
        first, last = max(above), min(below)
        shift = (moved[first] or 0) - first
        return traced + shift if (moved[last] or 0) - last == shift else None


class Sources:
    """Looks in ``roots`` for files that are not at the path that the trace names."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = roots
        self._by_name: Optional[dict[str, list[str]]] = None
        self._texts: dict[str, Optional[list[str]]] = {}

    def find(self, file: str, quoted: Mapping[int, str]) -> Place:
        """Find one file by its name and its quoted lines."""
        if file.startswith("<"):
            return Place(None, "missing")
        here = self._judge(file, quoted) if Path(file).is_absolute() else None
        if here is not None and here.state in ("same", "unquoted"):
            return here
        found = [judged for path in self._named(file) if (judged := self._judge(path, quoted)) is not None]
        same = [place for place in found if place.state == "same"]
        if same:
            return max(same, key=lambda place: _common(file, place.path or ""))
        best = max(
            (place for place in [*([here] if here else []), *found] if place.state == "changed"),
            key=lambda place: (place.agreeing, _common(file, place.path or "")),
            default=None,
        )
        if best is not None:
            return best
        if here is not None or found:
            return Place(None, "other", 0, len(quoted))
        return Place(None, "missing", 0, len(quoted))

    def _judge(self, path: str, quoted: Mapping[int, str]) -> Optional[Place]:
        text = self._text(path)
        if text is None:
            return None
        if not quoted:
            return Place(path, "unquoted")
        lines: list[tuple[int, Optional[int]]] = []
        agreeing = 0
        for line, said in sorted(quoted.items()):
            if 0 < line <= len(text) and _agrees(text[line - 1], said):
                lines.append((line, line))
                agreeing += 1
            else:
                known = [index for index, there in enumerate(text, 1) if _agrees(there, said)]
                lines.append((line, known[0] if len(known) == 1 else None))
        if agreeing == len(quoted):
            return Place(path, "same", agreeing, len(quoted))
        there = sum(moved is not None for _, moved in lines)
        state = "changed" if 2 * there >= len(quoted) else "other"
        return Place(path, state, there, len(quoted), tuple(lines))

    def _named(self, file: str) -> list[str]:
        name = _parts(file)[-1]
        if self._by_name is None:
            self._by_name = {}
            left = _MOST
            for root in self._roots:
                for folder, folders, names in os.walk(root):
                    folders[:] = [one for one in folders if one not in _IGNORED and not one.startswith(".")]
                    left -= len(names)
                    if left < 0:
                        break
                    for one in names:
                        if one.endswith(".py"):
                            self._by_name.setdefault(one, []).append(str(Path(folder, one)))
        return [path for path in self._by_name.get(name, ()) if path != file]

    def _text(self, path: str) -> Optional[list[str]]:
        if path not in self._texts:
            try:
                with Path(path).open("rb") as stream:
                    self._texts[path] = stream.read(_LARGEST).decode("utf-8", "replace").splitlines()
            except (OSError, ValueError):
                self._texts[path] = None
        return self._texts[path]


def _agrees(line: str, said: str) -> bool:
    """A quotation is a line without its margins; of a long statement it may be the first line or several joined."""
    line, said = " ".join(line.split()), " ".join(said.split())
    return bool(line) and (line == said or (len(line) > 8 and said.startswith(line)))


def _parts(file: str) -> tuple[str, ...]:
    windows = "\\" in file and "/" not in file
    return (PureWindowsPath(file) if windows else PurePosixPath(file)).parts or ("",)


def _common(left: str, right: str) -> int:
    """How many names two paths share at their ends."""
    count = 0
    for one, other in zip(reversed(_parts(left)), reversed(_parts(right))):
        if one != other:
            break
        count += 1
    return count
