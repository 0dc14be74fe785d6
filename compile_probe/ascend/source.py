"""Parsing Python that is somebody else's, of any version: its faults are no news to our user."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Optional


def parsed(path: Path, holding: str = "") -> Optional[ast.Module]:
    """Syntax tree of a file; ``None`` if it cannot be read or parsed, or does not hold the text ``holding``."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return parsed_text(text) if holding in text else None


def parsed_text(text: str) -> Optional[ast.Module]:
    """Syntax tree of a text, or ``None``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and the like
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            return None
