"""Whose code a file is: the user's, torch's, Python's, or ours."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Union

from ..untyped import torch


def _folder(path: Union[str, Path]) -> tuple[str, ...]:
    """A folder as prefixes of the paths in it, as given and with links resolved: code objects may hold either."""
    return tuple({str(Path(path)) + os.sep, str(Path(path).resolve()) + os.sep})


_TORCH = _folder(Path(torch.__file__).parent)
_PROBE = _folder(Path(__file__).parent.parent)
_STDLIB = _folder(sysconfig.get_paths()["stdlib"])


def is_user_file(path: str) -> bool:
    """Whether code of this file was written by somebody other than Python, torch or us."""
    if not path or path.startswith("<"):
        return False
    if path.startswith(_TORCH) or is_ours(path):
        return False
    return not (path.startswith(_STDLIB) and "site-packages" not in path and "dist-packages" not in path)


def is_ours(path: str) -> bool:
    """Whether the file belongs to the probe."""
    return path.startswith(_PROBE)
